"""Improves the policy on a rollout with advantages, by clipped surrogate steps (PPO).

Nothing here waits for the device. The learning rate is a tensor, adapted where it lives; a step
whose loss or gradient is not finite is taken back by the optimiser's own kernel and counted.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from swap.device.threads import SideBySide
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn import fused_ppo
from swap.learn.adam import GuardedAdam
from swap.learn.gradient_step import Gradients, finite, gradient_step
from swap.learn.metrics import MetricAccumulator
from swap.learn.rollout import Batch, Rollout
from swap.nn import Gaussian
from swap.policy import ActorCritic
from swap.state_dict import join_states
from swap.validate import check_numbers

MEANS = ("policy_loss", "value_loss", "entropy", "kl", "clipped", "grad_norm", "lr")
CHECKED = ("policy_loss", "value_loss", "loss", "grad_norm")
"""Figures that must be finite; each that is not is counted under `guard/`."""


@dataclass(frozen=True)
class PPOCfg:
    """PPO. Samples are cheap and gradient steps are not: tune these for progress per minute."""

    steps: int = 24
    """Control steps each world takes between updates."""
    epochs: int = 5
    """Times each sample is used."""
    minibatches: int = 4
    """Gradient steps per epoch."""
    gamma: float = 0.99
    """Discount factor per control step."""
    lam: float = 0.95
    """Lambda of the advantage estimator (GAE)."""
    clip: float = 0.2
    """Clip range of the probability ratio and of the value in one update."""
    value_coef: float = 1.0
    """Weight of the value loss."""
    entropy_coef: float = 0.01
    """Weight of the entropy bonus."""
    final_max_std: float | None = None
    """The upper bound of the std of actions falls from policy.max_std to this; None: it stays. A
    policy that will act without noise must train with little of it in the end."""
    std_decay: tuple[float, float] = (0.6, 0.85)
    """Start and end of this linear fall, as fractions of the run's planned steps. Late is best,
    since exploration needs noise. A run without an end keeps its noise."""
    std_decay_steps: tuple[float, float] | None = None
    """The same in control steps of all worlds together; overrides the fractions."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    lr: float = 1e-3
    """Learning rate at the start."""
    desired_kl: float | None = 0.01
    """Target KL of a gradient step; the learning rate adapts to it. None keeps the rate."""
    lr_range: tuple[float, float] = (1e-5, 1e-2)
    """Bounds of the adapted learning rate."""
    std_rate: float = 1.0
    """Learning rate of the std of actions, as a multiple of that of all other weights."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "ppo.",
            at_least_1=("steps", "epochs", "minibatches"),
            fractions=("gamma", "lam"),
            positive=("clip", "max_grad_norm", "desired_kl", "final_max_std", "std_rate"),
            not_negative=("value_coef", "entropy_coef"),
        )
        if not 0 <= self.std_decay[0] <= self.std_decay[1] <= 1:
            raise UserError(
                f"std_decay={self.std_decay} must be a first and a later fraction, 0 to 1"
            )
        if (
            self.std_decay_steps is not None
            and not 0 <= self.std_decay_steps[0] <= self.std_decay_steps[1]
        ):
            raise UserError(
                f"std_decay_steps={self.std_decay_steps} must be a first and a later step"
            )
        low, high = self.lr_range
        if not 0 < low <= self.lr <= high:
            raise UserError(f"lr={self.lr} must lie in lr_range={self.lr_range}, above 0")

    def decay_span(self, planned: float | None) -> tuple[float, float]:
        """The control steps between which the noise falls, in a run of `planned` steps in all
        (None: not known, or without end)."""
        if self.std_decay_steps is not None:
            return self.std_decay_steps
        first, last = self.std_decay
        return (math.inf, math.inf) if planned is None else (first * planned, last * planned)

    def max_std_at(self, max_std: float, steps: int, planned: float | None = None) -> float:
        """The upper bound of the std after `steps` of the `planned` control steps."""
        first, last = self.decay_span(planned)
        if self.final_max_std is None or steps < first:
            return max_std
        fraction = (steps - first) / (last - first) if steps < last else 1.0
        return max_std + fraction * (self.final_max_std - max_std)


class PPO:
    """Updates `policy` from `rollout`, which it reads in place."""

    metric_names: tuple[str, ...] = MEANS
    """The names of its figures."""

    def __init__(
        self,
        cfg: PPOCfg,
        policy: ActorCritic,
        rollout: Rollout,
        metrics: MetricAccumulator,
        *,
        capture: bool,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        size, rest = divmod(len(rollout), cfg.minibatches)
        if rest or not size:
            raise UserError(
                f"{rollout.n} worlds x {rollout.steps} steps do not divide into "
                f"minibatches={cfg.minibatches}; use a divisor of {len(rollout)}"
            )
        self.cfg, self.policy, self.rollout = cfg, policy, rollout
        self.means = metrics.means(*(f"ppo/{name}" for name in self.metric_names))
        names = "ppo/updates", "guard/skipped_updates", *(f"guard/{x}" for x in CHECKED)
        self.faults = metrics.counts(*names, shared=True)
        self.parameters = [*policy.actor.parameters(), *policy.critic.parameters()]
        device = self.parameters[0].device
        self.side_by_side = SideBySide(device)
        self.size, self.lr = size, torch.tensor(cfg.lr, device=device)
        self.step = gradient_step(
            self._compute_gradients, self._apply_gradients, processes, device, capture=capture
        )
        self._clip_divisor = torch.ones((), device=device)
        self.adam = GuardedAdam(
            [(self.parameters, 0.0)],
            self.lr,
            divisor=self._clip_divisor,
            rates={policy.actor.head.raw_std: cfg.std_rate},
        )

    def update(self, generator: torch.Generator) -> None:
        """Runs all epochs over the rollout, whose advantages must be filled in."""
        with self.side_by_side.open():
            for _ in range(self.cfg.epochs):
                order = torch.randperm(
                    len(self.rollout), generator=generator, device=self.lr.device
                )
                for rows in order.split(self.size):
                    self.step(rows)

    def _compute_gradients(self, rows: Tensor) -> Gradients:
        """Computes the gradients for the samples in `rows` [M]."""
        batch = self.rollout.take(rows)
        losses = self._losses(batch)
        loss = self._total(losses)
        return Gradients(self._differentiate(loss), {**losses, "loss": loss}, batch.weight)

    def _differentiate(self, loss: Tensor) -> tuple[Tensor, ...]:
        if not self.side_by_side.active:
            return torch.autograd.grad(loss, self.parameters)
        actor, critic = [*self.policy.actor.parameters()], [*self.policy.critic.parameters()]
        of_actor, of_critic = self.side_by_side(
            # Both go through the losses, so neither may free the graph.
            lambda: torch.autograd.grad(loss, actor, retain_graph=True),
            lambda: torch.autograd.grad(loss, critic, retain_graph=True),
        )
        return *of_actor, *of_critic

    def _apply_gradients(self, found: Gradients) -> None:
        """Takes one gradient step."""
        gradients, losses, _ = found
        with torch.no_grad():
            norm = torch.nn.utils.get_total_norm(gradients)
            figures = {**losses, "grad_norm": norm, "lr": self.lr}
            good = finite(torch.stack([figures[name] for name in CHECKED]))
            sound = good[CHECKED.index("loss")] & good[CHECKED.index("grad_norm")]
            self._clip_divisor.copy_((norm / self.cfg.max_grad_norm).clamp(min=1.0))
            self._adapt(losses["kl"], sound)
        self.adam.descend(gradients, sound)
        with torch.no_grad():
            self.means.add([figures[name] for name in self.metric_names], weight=sound)
            self.faults.add([torch.ones_like(sound), ~sound, *~good])

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        return self._ppo_losses(batch, *self._evaluate(batch))

    def _evaluate(self, batch: Batch) -> tuple[Gaussian, Tensor]:
        """The policy's distribution and value for each sample."""
        return self.side_by_side(
            lambda: self.policy.actor(batch.actor), lambda: self.policy.critic(batch.critic)
        )

    def _ppo_losses(self, batch: Batch, now: Gaussian, value: Tensor) -> dict[str, Tensor]:
        """Compares the present distribution and value with the stored ones; means over the valid
        samples."""
        if fused_ppo.usable(now.mean, value):
            return self._fused(batch, now, value)
        cfg, share = self.cfg, batch.mean_weight
        ratio = (now.log_prob(batch.action) - batch.log_prob).exp()
        near = ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
        surrogate = torch.minimum(ratio * batch.advantage, near * batch.advantage)

        slow = batch.value + (value - batch.value).clamp(-cfg.clip, cfg.clip)
        error = torch.maximum((value - batch.returns).square(), (slow - batch.returns).square())
        with torch.no_grad():
            kl = self.policy.actor.rebuild(batch.mean, self.rollout.std).kl(now)
            clipped = (ratio != near).to(ratio.dtype)
        return {
            "policy_loss": -(share * surrogate).sum(),
            "value_loss": (share * error).sum(),
            "entropy": now.entropy(),
            "kl": (share * kl).sum(),
            "clipped": (share * clipped).sum(),
        }

    def _fused(self, batch: Batch, now: Gaussian, value: Tensor) -> dict[str, Tensor]:
        """The same with a Triton kernel."""
        stored = fused_ppo.RolloutSamples(
            action=batch.action,
            mean=batch.mean,
            std=self.rollout.std,
            log_prob=batch.log_prob,
            value=batch.value,
            advantage=batch.advantage,
            returns=batch.returns,
            weight=batch.weight,
        )
        return fused_ppo.ppo_losses(now, value, stored, self.cfg.clip)._asdict()

    def _total(self, losses: dict[str, Tensor]) -> Tensor:
        return (
            losses["policy_loss"]
            + self.cfg.value_coef * losses["value_loss"]
            - self.cfg.entropy_coef * losses["entropy"]
        )

    def _adapt(self, kl: Tensor, sound: Tensor) -> None:
        """Lowers the learning rate if the policy has moved too far from the one that acted, and
        raises it if it has hardly moved."""
        if self.cfg.desired_kl is None:
            return
        slower = sound & (kl > 2 * self.cfg.desired_kl)
        faster = sound & (kl < self.cfg.desired_kl / 2) & (kl > 0)
        rate = torch.where(slower, self.lr / 1.5, torch.where(faster, self.lr * 1.5, self.lr))
        self.lr.copy_(rate.clamp(*self.cfg.lr_range))

    # --- for a resume ---------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """The optimiser's own tensors, not copies of them."""
        moments = self.adam.named_state(self.policy.named_parameters())
        return {"lr": self.lr, **join_states(adam=moments)}
