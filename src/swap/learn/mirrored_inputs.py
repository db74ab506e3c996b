"""Mirrors the observations of worlds, and tracks the latent state of the mirrored worlds.

The latent of a plain world model has no mirror map, so the latent of the mirrored world must be
computed by running the model there: `MirroredLatent` is a second latent of the same model, which
gets mirrored observations and actions. Its noise has no mirror image either. Mirrored samples
(`augment`) draw noise of their own, or have none. A penalty on the difference between here and
there must not see noise at all, or it would punish a perfectly symmetric policy for reading its
latent: it compares what is read with the most likely z, in both worlds.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.policy import LATENT, ActorCritic, LatentState, TickClock
from swap.symmetry import Layout, Rep
from swap.world_model import WorldModel

MIRRORED_LATENT = "mirrored_latent"
"""The name under which a policy reads h of the mirrored world."""
NOISELESS_LATENT = "noiseless_latent"
"""The name of h of this world without noise, where every z is its mode. Penalties, and mirrored
samples if they are to have no noise, compare it with the mirrored one."""


class DeviceRep:
    """A Rep that keeps its tensors on the device: a CUDA graph cannot create them, and they must
    not be freed."""

    def __init__(self, rep: Rep, device: str | torch.device) -> None:
        self.index = torch.tensor(rep.perm, dtype=torch.long, device=device)
        self.sign = torch.tensor(rep.sign, dtype=torch.float32, device=device)

    def __call__(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.index) * self.sign


class MirroredLatent(LatentState):
    """The latents of the mirrored worlds, from what the worlds themselves observe and do."""

    def __init__(
        self, model: WorldModel, n: int, device: str | torch.device, clock: TickClock | None = None
    ) -> None:
        super().__init__(model, n, device, clock)
        self._prop, self._action = (DeviceRep(x.rep, device) for x in (model.prop, model.action))

    def tick(self, depth: Tensor, prop: Tensor, noise: Tensor | None) -> None:
        """Updates the latents; for the noise see above."""
        super().tick(depth.flip(-1), self._prop(prop), noise)

    def write(self, action: Tensor, place: int) -> None:
        super().write(self._action(action), place)


class MirroredInputs:
    """Turns what a policy reads of N worlds into what its networks read in the mirrored worlds, and
    into what they read here without noise, if that is tracked."""

    def __init__(
        self, policy: ActorCritic, groups: Mapping[str, Layout], device: torch.device, learn: bool
    ) -> None:
        """`learn`: the mirror images are samples like any other, so normalisers learn from them."""
        self.policy, self.learn = policy, learn
        reads = [name for name in policy.reads if name in groups]
        self._reflect = {name: DeviceRep(groups[name].rep, device) for name in reads}

    def __call__(self, obs: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """Actor's and critic's inputs in the mirrored worlds, then those here without noise."""
        there = self.policy.inputs(self._mirrored(obs))
        if NOISELESS_LATENT not in obs:
            return tuple(there)
        return *there, *self.policy.inputs({**obs, LATENT: obs[NOISELESS_LATENT]})

    def update_normalizers(self, obs: Mapping[str, Tensor], valid: Tensor | None) -> None:
        """Updates the normalisers with the mirror images, if `learn` was set."""
        if self.learn:
            self.policy.update_normalizers(self._mirrored(obs), valid)

    def _mirrored(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        mirrored = {name: reflect(obs[name]) for name, reflect in self._reflect.items()}
        if MIRRORED_LATENT in obs:
            mirrored[LATENT] = obs[MIRRORED_LATENT]
        return mirrored
