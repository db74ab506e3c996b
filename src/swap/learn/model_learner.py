"""Trains the world model on sequences from the replay: eq. 9, by Adam with clipped gradients.

Nothing waits for the device. Gradients are clipped by the size of the weights they change (adaptive
gradient clipping), and a step that is not finite changes nothing and is counted.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn.adam import GuardedAdam
from swap.learn.gradient_step import Gradients, finite, gradient_step, scaled
from swap.learn.metrics import MetricAccumulator
from swap.learn.replay import ReplayBuffer
from swap.state_dict import join_states
from swap.validate import check_numbers
from swap.world_model import Sequences, WorldModel, WorldModelCfg

CHECKED = ("loss", "grad_norm")
SMALLEST = 1e-3
"""Smallest norm of weights in the clipping; otherwise weights of zero could never grow."""


@dataclass(frozen=True)
class ModelCfg:
    """The world model and how it learns."""

    net: WorldModelCfg = field(default_factory=WorldModelCfg)
    batch: int = 64
    """Sequences per gradient step."""
    ticks: int = 32
    """Ticks of a sequence. They are computed one after the other, so a gradient step takes time in
    proportion."""
    updates: int = 10
    """Gradient steps per iteration."""
    memory: int = 96
    """Ticks of each world that the replay holds."""
    lr: float = 1e-4
    """Learning rate after the warm-up."""
    warm_up: int = 1000
    """Gradient steps over which the learning rate grows from zero."""
    agc: float = 0.3
    """Gradients are clipped to this fraction of the norm of their weights."""
    overlap: bool = True
    """On a GPU, learn beside PPO and AMP, on a stream of its own: the same bits, sooner."""

    def __post_init__(self) -> None:
        counts = ("batch", "ticks", "updates", "warm_up")
        check_numbers(self, "model.", at_least_1=counts, positive=("lr", "agc"))
        if self.memory <= self.ticks:
            raise UserError(
                f"model.memory={self.memory} holds no sequence of {self.ticks} ticks and one "
                f"before; use {self.ticks + 1} or more"
            )


class ModelLearner:
    """Updates `model` from `replay`."""

    def __init__(
        self,
        cfg: ModelCfg,
        model: WorldModel,
        replay: ReplayBuffer,
        metrics: MetricAccumulator,
        *,
        capture: bool,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self.cfg, self.model, self.replay = cfg, model, replay
        self.parameters: list[Tensor] = list(model.parameters())
        device = self.parameters[0].device
        self.means = metrics.means(*(f"model/{name}" for name in (*model.figures, "grad_norm")))
        names = "model/updates", "guard/model_skipped", *(f"guard/model_{x}" for x in CHECKED)
        self.faults = metrics.counts(*names, shared=True)
        self.sizes = torch.tensor([p.numel() for p in self.parameters], device=device)
        self.lr, self.count = torch.zeros((), device=device), torch.zeros((), device=device)
        self.step = gradient_step(
            self._compute_gradients, self._apply_gradients, processes, device, capture=capture
        )
        self.adam = GuardedAdam([(self.parameters, 0.0)], self.lr)

    def update(self, generator: torch.Generator) -> None:
        """Takes the gradient steps of an iteration, once there are sequences to learn from."""
        if not self.replay.starts(self.cfg.ticks):
            return
        for _ in range(self.cfg.updates):
            self.step(*self.draw(generator))

    def draw(self, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Draws the worlds and starts [B] of the next step's sequences, and noise [B, T, z]."""
        device, batch, ticks = self.lr.device, self.cfg.batch, self.cfg.ticks
        worlds = torch.randint(self.replay.n, (batch,), generator=generator, device=device)
        chance = torch.rand(batch, generator=generator, device=device)
        noise = self.model.noise(batch, ticks, like=self.lr, generator=generator)
        return worlds, self.replay.pick(chance, ticks), noise

    def _sequences(self, worlds: Tensor, starts: Tensor) -> Sequences:
        return self.replay.take(worlds, starts, self.cfg.ticks)

    def _compute_gradients(self, worlds: Tensor, starts: Tensor, noise: Tensor) -> Gradients:
        """Computes the gradients for the sequences that were drawn."""
        batch = self._sequences(worlds, starts)
        loss, figures = self.model.loss(batch, noise)
        return Gradients(torch.autograd.grad(loss, self.parameters), figures, batch.valid)

    def _apply_gradients(self, found: Gradients) -> None:
        """Takes one gradient step."""
        gradients, figures, _ = found
        with torch.no_grad():
            lengths = torch.stack(torch._foreach_norm(gradients))
            weights = torch.stack(torch._foreach_norm(self.parameters)).clamp_(min=SMALLEST)
            allowed = self.cfg.agc * weights
            shares = torch.where(lengths > allowed, allowed / lengths, 1.0)
            clipped = scaled(gradients, shares, self.sizes)
            good = torch.stack((finite(figures["loss"]), finite(lengths).all()))
            sound = good.all()
            self.count.add_(1)
            self.lr.copy_(self.cfg.lr * (self.count / self.cfg.warm_up).clamp(max=1.0))
        self.adam.descend(clipped, sound)
        with torch.no_grad():
            means = [*(figures[name] for name in self.model.figures), lengths.square().sum().sqrt()]
            self.means.add(means, weight=sound)
            self.faults.add([torch.ones_like(sound), ~sound, *~good])

    # --- for a resume ---------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """The optimiser's own tensors, not copies of them."""
        moments = self.adam.named_state(self.model.named_parameters())
        return {"count": self.count, **join_states(adam=moments)}
