"""Trains a discriminator to tell reference motion from the policy's, and rewards motion that looks
like the reference (adversarial motion prior).

The discriminator is fitted by least squares to +1 for the expert and -1 for the policy; a penalty
on the gradient at the expert's samples keeps it smooth. This gradient is with respect to the
normalised input. Nothing here waits for the device; a step that is not finite, or has no data,
changes nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from swap.device.cuda_graph import GraphedCallable
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn.adam import GuardedAdam
from swap.learn.gradient_step import Gradients, PooledNorms, finite, gradient_step
from swap.learn.metrics import MetricAccumulator
from swap.learn.ring_buffer import RingBuffer
from swap.nn import MLP
from swap.policy.discriminator import Discriminator, style_reward
from swap.state_dict import join_states
from swap.symmetry import Rep
from swap.validate import check_numbers

MEANS = ("loss", "penalty", "expert", "policy", "grad_norm")
CHECKED = ("loss", "grad_norm")


@dataclass(frozen=True)
class AMPCfg:
    """Adversarial motion prior. The defaults follow WMP except for the sizes."""

    weight: float = 0.01
    """Largest style reward of a control step (0.01 is 0.5 per second at 50 Hz)."""
    hidden: tuple[int, ...] = (256, 128)
    """Hidden widths of the discriminator; each counts both views."""
    act: str = "relu"
    """Non-linearity."""
    equivariant: bool = True
    """A motion and its mirror image get the same score; False is the plain twin."""
    lr: float = 1e-4
    """Learning rate."""
    batch: int = 1024
    """Samples of the expert, and as many of the policy, per gradient step."""
    updates: int = 10
    """Gradient steps per iteration."""
    penalty: float = 10.0
    """Weight of the squared gradient at the expert's samples."""
    decay: float = 1e-3
    """Weight decay of the hidden layers."""
    head_decay: float = 0.1
    """Weight decay of the last layer; it keeps the scores from saturating."""
    replay: int = 32768
    """Transitions of the policy to keep (checkpoints hold them, 240 bytes each)."""
    span: int = 4
    """Number of rollouts that the kept transitions span."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "amp.",
            at_least_1=("batch", "updates", "replay", "span", "hidden"),
            not_negative=("weight", "penalty", "decay", "head_decay"),
            positive=("lr",),
            filled=("hidden",),
        )


def build_discriminator(cfg: AMPCfg, rep: Rep, seed: int) -> Discriminator:
    """Builds a discriminator with initial weights; `rep` mirrors one frame."""
    with torch.random.fork_rng(devices=[]):  # the same first weights on every device
        torch.manual_seed(seed)
        return Discriminator(rep, cfg.hidden, act=cfg.act, equivariant=cfg.equivariant)


class AMP:
    """Call `reward` and `store` at every step of `n` worlds, and `update` when a rollout is
    full."""

    def __init__(
        self,
        cfg: AMPCfg,
        expert: Tensor,
        rep: Rep,
        n: int,
        steps: int,
        metrics: MetricAccumulator,
        *,
        capture: bool,
        seed: int = 0,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        """`expert` [M, 2, d] is on the device of the worlds; `rep` mirrors one frame [d]; `steps`
        is the length of a rollout."""
        if expert.ndim != 3 or tuple(expert.shape[1:]) != (2, rep.dim) or not len(expert):
            raise UserError(
                f"expert transitions are {list(expert.shape)}; give [M, 2, {rep.dim}], M > 0"
            )
        device = expert.device
        self.cfg, self.expert, self.processes = cfg, expert, processes
        self.net = build_discriminator(cfg, rep, seed).to(device)
        per_step = min(n, max(1, cfg.replay // (cfg.span * steps)), cfg.replay)
        self.ring = RingBuffer(cfg.replay, 2 * rep.dim, n, per_step, device)
        self.means = metrics.means(*(f"amp/{name}" for name in MEANS))
        self.style = metrics.means("amp/style")
        self.counted = metrics.means("amp/counted")
        names = "amp/updates", "guard/amp_skipped", *(f"guard/amp_{x}" for x in CHECKED)
        self.faults = metrics.counts(*names, shared=True)
        self.reward = GraphedCallable(self._reward, device, enabled=capture)
        self.store = GraphedCallable(self._store, device, enabled=capture)
        self.statistics = PooledNorms(processes, self.net.mlp.norm)
        self._look = GraphedCallable(self._observe_picked, device, enabled=capture)
        self.step = gradient_step(
            self._compute_gradients,
            self._apply_gradients,
            processes,
            device,
            capture=capture,
            before=self._update_normalizers,
        )
        self._make_adam(device)

    def _make_adam(self, device: torch.device) -> None:
        net = self.net.mlp.net
        assert isinstance(net, MLP)
        assert net.out is not None
        head = list(net.out.parameters())
        trunk = [p for p in self.net.parameters() if all(p is not q for q in head)]
        self.parameters = [*trunk, *head]
        groups = [(trunk, self.cfg.decay), (head, self.cfg.head_decay)]
        self.adam = GuardedAdam(groups, torch.tensor(self.cfg.lr, device=device))

    # --- while the worlds are stepped -----------------------------------------------------------
    @torch.no_grad()
    def _reward(self, pair: Tensor, mask: Tensor) -> Tensor:
        """Returns what to add to the reward [N] of transitions [N, 2, d]: 0 where `mask` [N] is
        False. The next call overwrites it."""
        mask, flat = _sound(pair, mask)
        style = torch.where(mask, style_reward(self.net(self.net.coordinates(flat))), 0.0)
        several = mask.sum()
        self.style.add([style.sum() / several.clamp(min=1)], weight=several)
        self.counted.add([several / len(mask)])
        return self.cfg.weight * style

    @torch.no_grad()
    def _store(self, pair: Tensor, mask: Tensor) -> None:
        """Stores transitions to learn from where `mask` is True: those that are valid and far from
        obstacles, which the reference does not contain."""
        mask, flat = _sound(pair, mask)
        self.ring.store(flat, mask)

    # --- after a rollout ------------------------------------------------------------------------
    def update(self, generator: torch.Generator) -> None:
        """Takes the gradient steps of an iteration, on samples drawn with the generator."""
        device, many = self.expert.device, (self.cfg.updates, self.cfg.batch)
        picks = torch.randint(len(self.expert), many, generator=generator, device=device)
        chances = torch.rand(many, generator=generator, device=device)
        for pick, chance in zip(picks, chances, strict=True):
            self.step(pick, self.ring.pick(chance))

    def _samples(self, theirs: Tensor, ours: Tensor) -> tuple[Tensor, Tensor]:
        """Rows `theirs` [B] of the expert and `ours` [B] of the ring, [B, 2 d] each."""
        expert = self.expert.index_select(0, theirs).flatten(1)
        return expert, self.ring.rows.index_select(0, ours)

    def _update_normalizers(self, theirs: Tensor, ours: Tensor) -> None:
        """Updates the normalisers of all processes with the samples that all have picked."""
        self._look(theirs, ours)
        self.statistics.pool()

    def _observe_picked(self, theirs: Tensor, ours: Tensor) -> None:
        self._observe(*self._samples(theirs, ours), self.ring.count > 0)

    def _observe(self, expert: Tensor, policy: Tensor, filled: Tensor) -> None:
        norm = self.net.mlp.norm
        norm.update(expert, filled.expand(len(expert)))
        norm.update(policy, filled.expand(len(policy)))

    def _compute_gradients(self, theirs: Tensor, ours: Tensor) -> Gradients:
        """Computes the gradients for the samples that were picked."""
        expert, policy = self._samples(theirs, ours)
        filled = self.ring.count > 0
        if self.processes.alone:  # otherwise `_update_normalizers` has done it
            self._observe(expert, policy, filled)
        losses = self.losses(self.net.coordinates(expert), self.net.coordinates(policy))
        gradients = torch.autograd.grad(losses["loss"], self.parameters)
        return Gradients(gradients, losses, filled)

    def _apply_gradients(self, found: Gradients) -> None:
        """Takes one gradient step."""
        gradients, losses, weight = found
        with torch.no_grad():
            figures = {**losses, "grad_norm": torch.nn.utils.get_total_norm(gradients)}
            good = finite(torch.stack([figures[name] for name in CHECKED]))
            sound = good.all()
            wanted = sound & weight.bool()
        self.adam.descend(gradients, wanted)
        with torch.no_grad():
            self.means.add([figures[name] for name in MEANS], weight=wanted)
            self.faults.add([torch.ones_like(sound), ~sound, *~good])

    def losses(self, expert: Tensor, policy: Tensor) -> dict[str, Tensor]:
        """The losses, as scalars, for coordinates [B, 2 d] of expert and policy."""
        # The gradient is taken in even and odd coordinates, where a mirrored sample has the same
        # squares in the same order.
        expert = expert.detach().requires_grad_(True)
        theirs, ours = self.net(expert), self.net(policy)
        (slope,) = torch.autograd.grad(theirs.sum(), expert, create_graph=True)
        penalty = slope.square().sum(-1).mean()
        apart = ((theirs - 1).square().mean() + (ours + 1).square().mean()) / 2
        return {
            "loss": apart + self.cfg.penalty * penalty,
            "penalty": penalty,
            "expert": theirs.mean(),
            "policy": ours.mean(),
        }

    # --- for a resume ---------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """The tensors that change, not copies of them."""
        return join_states(
            net=self.net.state_dict(),
            adam=self.adam.named_state(self.net.named_parameters()),
            ring=self.ring.state_dict(),
        )


def _sound(pair: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows count [N], and the rows [N, 2 d] with zeros in those that do not."""
    flat = pair.flatten(1)
    mask = mask & torch.isfinite(flat.sum(1))
    return mask, torch.where(mask[:, None], flat, 0.0)
