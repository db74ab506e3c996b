"""Teaches plain networks the mirror without a constraint: by a loss, or by mirrored samples.

Equivariant networks would gain nothing. `loss` (Yu et al. 2018) adds the actor's mirror error to
PPO's loss, as a mean over the d joints,

    w E |μ(F o) - F μ(o)|² / d,

with gradients through both, and without noise in a latent. `augment` (Mittal et al. 2024) learns
from every sample and its mirror image: PPO from both, the world model and the discriminator from
batches of which half is mirrored.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from swap.errors import UserError, unknown
from swap.learn.amp import AMP, AMPCfg
from swap.learn.mirrored_inputs import DeviceRep
from swap.learn.model_learner import ModelCfg, ModelLearner
from swap.learn.ppo import PPO
from swap.learn.rollout import Batch
from swap.symmetry import Rep
from swap.validate import check_numbers
from swap.world_model import Latent, Sequences, WorldModel

Kind = Literal["none", "loss", "augment"]
Noise = Literal["sampled", "none"]


@dataclass(frozen=True)
class SymmetryCfg:
    """How plain networks learn that left and right are alike."""

    kind: Kind = "none"
    """none; loss: a penalty on mirror errors; augment: every sample and its mirror image."""
    actor: float = 4.0
    """w, with `loss`: weight of the squared mirror error of mean actions, a mean over joints."""
    critic: float = 0.0
    """With `loss`: weight of the squared difference between the values of a state and its mirror
    image."""
    noise: Noise = "sampled"
    """With `augment` and a world model: the noise in the latent of mirrored samples, which has no
    mirror image. sampled: noise of its own; none: every z is its mode, and a mirrored action is
    compared with that of a robot whose latent has no noise either."""

    def __post_init__(self) -> None:
        for name, kinds in (("kind", Kind), ("noise", Noise)):
            if getattr(self, name) not in get_args(kinds):
                raise unknown(f"symmetry.{name}", getattr(self, name), get_args(kinds))
        check_numbers(self, "symmetry.", not_negative=("actor", "critic"))
        if self.noise != "sampled" and self.kind != "augment":
            raise UserError(f"symmetry.noise={self.noise} needs symmetry.kind=augment")
        if self.kind == "loss" and self.actor == self.critic == 0:
            raise UserError("symmetry.kind=loss without weights does nothing; set symmetry.actor")


class PenalisedPPO(PPO):
    """PPO with a penalty on the mirror errors of actor and critic."""

    def __init__(self, *args: Any, symmetry: SymmetryCfg, **more: Any) -> None:
        self.symmetry = symmetry
        extra = "asymmetry", *["value_asymmetry"] * (symmetry.critic > 0)
        self.metric_names = (*self.metric_names, *extra)
        super().__init__(*args, **more)
        self.reflect = DeviceRep(self.policy.action, self.lr.device)

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        actor, critic = self.policy.actor.mlp, self.policy.critic
        now, value = self._evaluate(batch)
        losses = self._ppo_losses(batch, now, value)
        here = now.mean if batch.noiseless_actor is None else actor(batch.noiseless_actor)
        apart = actor(batch.mirrored_actor) - self.reflect(here)
        losses["asymmetry"] = (batch.mean_weight * apart.square().mean(-1)).sum()
        if self.symmetry.critic:
            here = value if batch.noiseless_critic is None else critic(batch.noiseless_critic)
            apart = critic(batch.mirrored_critic) - here
            losses["value_asymmetry"] = (batch.mean_weight * apart.square()).sum()
        return losses

    def _total(self, losses: dict[str, Tensor]) -> Tensor:
        total = super()._total(losses) + self.symmetry.actor * losses["asymmetry"]
        if self.symmetry.critic:
            total = total + self.symmetry.critic * losses["value_asymmetry"]
        return total


class AugmentedPPO(PPO):
    """PPO on every sample and its mirror image; the learning rate follows the KL of the samples
    alone."""

    metric_names = (*PPO.metric_names, "mirrored_clipped")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.reflect = DeviceRep(self.policy.action, self.lr.device)

    def mirrored(self, batch: Batch) -> Batch:
        """Returns the mirror images of these samples.

        Advantage, return and old value are those of the sample itself. So is the density of the
        action: a mirrored robot would have drawn F a from the mirrored policy, whose density of F a
        at F o is that of a at o. If F o has a latent without noise, so has the o of
        the density; the old value is what the critic read, noise included.
        """
        assert batch.mirrored_actor is not None
        assert batch.mirrored_critic is not None
        old = batch.noiseless_log_prob
        return batch._replace(
            actor=batch.mirrored_actor,
            critic=batch.mirrored_critic,
            action=self.reflect(batch.action),
            mean=self.reflect(batch.mean),
            log_prob=batch.log_prob if old is None else old,
        )

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        here, there = super()._losses(batch), super()._losses(self.mirrored(batch))
        both = {name: (here[name] + there[name]) / 2 for name in ("policy_loss", "value_loss")}
        return {**here, **both, "mirrored_clipped": there["clipped"]}


# The learners below mirror one half of a batch. The batch is drawn at random, so any half will do.
class AugmentedModelLearner(ModelLearner):
    """Trains the world model on batches of which half is mirrored."""

    def __init__(self, cfg: ModelCfg, model: WorldModel, *args: Any, **more: Any) -> None:
        _needs_even("model.batch", cfg.batch)
        super().__init__(cfg, model, *args, **more)
        layouts = model.prop, model.action, model.body, model.foot
        self._prop, self._action, self._body, self._foot = (
            DeviceRep(layout.rep, self.lr.device) for layout in layouts
        )

    def _sequences(self, worlds: Tensor, starts: Tensor) -> Sequences:
        ticks, half = self.cfg.ticks, self.cfg.batch // 2
        here = self.replay.take(worlds[:half], starts[:half], ticks)
        there = self.replay.take(worlds[half:], starts[half:], ticks, mirrored=True)
        return _end_to_end(here, self.mirrored(there))

    def mirrored(self, batch: Sequences) -> Sequences:
        """Mirrors all but the context, which is the latent of the mirrored world already."""
        return batch._replace(
            depth_noisy=batch.depth_noisy.flip(-1),
            depth_clean=batch.depth_clean.flip(-1),
            prop=self._prop(batch.prop),
            actions=self._action(batch.actions),
            body=self._body(batch.body),
            foot=self._foot(batch.foot),
        )


class AugmentedAMP(AMP):
    """Trains the discriminator on batches of which half is mirrored."""

    def __init__(self, cfg: AMPCfg, expert: Tensor, rep: Rep, *args: Any, **more: Any) -> None:
        _needs_even("amp.batch", cfg.batch)
        self.reflect = DeviceRep(rep * 2, expert.device)
        super().__init__(cfg, expert, rep, *args, **more)

    def _samples(self, theirs: Tensor, ours: Tensor) -> tuple[Tensor, Tensor]:
        expert, policy = super()._samples(theirs, ours)
        return self._half_mirrored(expert), self._half_mirrored(policy)

    def _half_mirrored(self, x: Tensor) -> Tensor:
        here, there = x.chunk(2)
        return torch.cat((here, self.reflect(there)))


def _end_to_end(a: Sequences, b: Sequences) -> Sequences:
    fields: dict[str, Any] = {
        name: torch.cat((x, getattr(b, name)))
        for name, x in a._asdict().items()
        if name != "context"
    }
    context = Latent(
        h=torch.cat((a.context.h, b.context.h)), z=torch.cat((a.context.z, b.context.z))
    )
    return Sequences(**fields, context=context)


def _needs_even(name: str, batch: int) -> None:
    if batch % 2:
        raise UserError(f"{name}={batch} is odd; augment mirrors half of it, use {batch + 1}")
