"""Mirrors the observations of worlds, and keeps the latent state of the mirrored worlds.

The latent of a plain world model has no mirror map. What it would have been in the mirror is known
only by living there: `MirroredLatent` is a second latent of the same model, which sees and does
everything the other way round.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.policy import LATENT, ActorCritic, Inputs, LatentState, TickClock
from swap.symmetry import Layout, Rep
from swap.world_model import WorldModel

MIRRORED_LATENT = "mirrored_latent"
"""The name of h in the mirror."""


class DeviceRep:
    """A Rep with its tensors at hand: a recording can neither make them nor lose them."""

    def __init__(self, rep: Rep, device: str | torch.device) -> None:
        self.index = torch.tensor(rep.perm, dtype=torch.long, device=device)
        self.sign = torch.tensor(rep.sign, dtype=torch.float32, device=device)

    def __call__(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.index) * self.sign


class MirroredLatent(LatentState):
    """Given what the worlds see and do, the latents of their mirror images."""

    def __init__(
        self, model: WorldModel, n: int, device: str | torch.device, clock: TickClock | None = None
    ) -> None:
        super().__init__(model, n, device, clock)
        self._prop, self._action = (DeviceRep(x.rep, device) for x in (model.prop, model.action))

    def tick(self, depth: Tensor, prop: Tensor, noise: Tensor | None) -> None:
        """The noise is its own: that of the other latent has no mirror image either."""
        super().tick(depth.flip(-1), self._prop(prop), noise)

    def write(self, action: Tensor, place: int) -> None:
        super().write(self._action(action), place)


class MirroredInputs:
    """What a policy reads of N worlds -> what its networks read in the mirror."""

    def __init__(
        self, policy: ActorCritic, groups: Mapping[str, Layout], device: torch.device, learn: bool
    ) -> None:
        """`learn`: the mirror images are samples like any other, so normalisers learn from them."""
        self.policy, self.learn = policy, learn
        reads = [name for name in policy.reads if name in groups]
        self._reflect = {name: DeviceRep(groups[name].rep, device) for name in reads}

    def __call__(self, obs: Mapping[str, Tensor]) -> Inputs:
        return self.policy.inputs(self._mirrored(obs))

    def update_normalizers(self, obs: Mapping[str, Tensor], valid: Tensor) -> None:
        """Let the normalisers learn from the mirror images, if they are to."""
        if self.learn:
            self.policy.update_normalizers(self._mirrored(obs), valid)

    def _mirrored(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        mirrored = {name: reflect(obs[name]) for name, reflect in self._reflect.items()}
        if MIRRORED_LATENT in obs:
            mirrored[LATENT] = obs[MIRRORED_LATENT]
        return mirrored
