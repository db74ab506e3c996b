"""A policy and worlds in; a rollout with advantages out, without waiting for the device."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from swap.capture import Captured
from swap.learn.eyes import Eyes
from swap.learn.gae import gae
from swap.learn.rollout import Rollout
from swap.learn.style import Style
from swap.learn.tally import Tally
from swap.learn.twin import Glass
from swap.learn.world import World
from swap.policy import ActorCritic
from swap.team import ALONE, Team

FIGURES = ("reward", "value", "std", "explained_variance")
HUGE = 1e15
"""As good as infinite: squares of larger numbers do not fit into single precision, and learning
squares rewards and values."""
STUDY_EVERY = 4
"""Normalisers learn from the first of so many steps: the next ones look much like it, and their
sums in double precision are, on a CPU, a third of what a policy's step costs."""


class Collector:
    """Steps the worlds with noisy actions and writes down what is needed to learn from them."""

    def __init__(
        self,
        policy: ActorCritic,
        env: World,
        rollout: Rollout,
        tally: Tally,
        noise: Callable[[], Tensor],
        *,
        eyes: Eyes | None = None,
        style: Style | None = None,
        glass: Glass | None = None,
        capture: bool,
        team: Team = ALONE,
    ) -> None:
        """`eyes` hold the latent that the policy reads; `style` adds to the reward; in `glass` is
        seen what the rollout keeps of the mirror."""
        self.policy, self.env, self.rollout = policy, env, rollout
        self.eyes, self.style, self.glass, self.team = eyes, style, glass, team
        self.means = tally.means(*(f"rollout/{name}" for name in FIGURES))
        self.bad_action, self.bad_reward, self.bad_value, self.bad_advantage = (
            tally.counts(f"guard/{name}") for name in ("action", "reward", "value", "advantage")
        )
        self.draw_noise, device = noise, env.device
        # Where a recording looks for its input.
        self.obs = {
            name: torch.zeros(env.n, env.groups[name].dim, device=device)
            for name in policy.reads
            if name in env.groups
        }
        # What the policy reads: more than the worlds give, if there is a latent.
        self._read = self.obs if eyes is None else {**self.obs, **eyes.latents}
        self.bad_obs = tally.counts(*(f"guard/obs.{name}" for name in self._read))
        self.noise = torch.zeros(env.n, policy.action.dim, device=device)
        self.begun = torch.zeros(env.n, dtype=torch.bool, device=device)
        """Worlds whose next step is one: the others have ended and are about to be reset."""
        self.running = False
        self.study = Captured(self._study, device, enabled=capture)
        self.decide = Captured(self._decide, device, enabled=capture)
        self.judge = Captured(self._judge, device, enabled=capture)

    @torch.no_grad()
    def collect(self, gamma: float, lam: float) -> None:
        roll = self.rollout
        if not self.running:
            self.begun.fill_(False)
            self._look(self.env.reset())
            self.begun.fill_(True)
            self.running = True
        roll.std.copy_(self.policy.actor.head.std_per_orbit)
        for t in range(roll.steps):
            self.noise.copy_(self.draw_noise())
            if t % STUDY_EVERY == 0:
                self.study()
            inputs, action, mean, log_prob, value, sound = self.decide()
            for kept, x in zip((*roll.inputs, *roll.mirrored), inputs, strict=True):
                kept[t].copy_(x)
            roll.action[t].copy_(action)
            roll.mean[t].copy_(mean)
            roll.log_prob[t].copy_(log_prob)
            roll.value[t].copy_(value)
            if self.eyes is not None:
                self.eyes.act(roll.action[t])
            step = self.env.step(roll.action[t])
            finite = bounded(step.reward)
            self.bad_reward.add([(~finite).sum()])
            torch.logical_and(step.valid & sound, finite, out=roll.valid[t])
            roll.reward[t].copy_(torch.where(finite, step.reward, 0.0))
            if self.style is not None:
                roll.reward[t].add_(self.style.reward(step))
            roll.terminated[t].copy_(step.terminated)
            roll.truncated[t].copy_(step.truncated)
            self._look(step.obs)
            self.begun.copy_(~(step.terminated | step.truncated))
        roll.value[roll.steps].copy_(self.judge())
        self._estimate(gamma, lam)

    def _look(self, obs: Mapping[str, Tensor]) -> None:
        """Worlds that had not `begun` were just reset: this is the first they see."""
        for name, x in self.obs.items():
            x.copy_(obs[name])
        if self.eyes is not None:
            self.eyes.look(obs, ~self.begun)
        if self.style is not None:
            self.style.remember(obs)

    def _study(self) -> None:
        """What is observed now, for the normalisers to learn from."""
        with torch.no_grad():
            obs, sound = self._cleaned(count=False)
            # An episode's last observation may be that of a world that broke: not learned from.
            self.policy.observe(obs, sound & self.begun)
            if self.glass is not None:
                self.glass.study(obs, sound & self.begun)

    def _decide(self) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Observation -> input, action, its mean and density, value, and which rows are sound."""
        with torch.no_grad():
            obs, sound = self._cleaned(count=True)
            mirrored = () if self.glass is None else self.glass(obs)
            inputs = self.policy.inputs(obs)
            pi = self.policy.actor(inputs.actor)
            action = pi.sample(self.noise)
            self.bad_action.add([(~torch.isfinite(action.sum(-1))).sum()])
            return (
                (*inputs, *mirrored),
                action,
                pi.mean,
                pi.log_prob(action),
                self.policy.critic(inputs.critic),
                sound,
            )

    def _judge(self) -> Tensor:
        """The value of what came last."""
        with torch.no_grad():
            return self.policy.critic(self.policy.inputs(self._cleaned(count=False)[0]).critic)

    def _cleaned(self, *, count: bool) -> tuple[dict[str, Tensor], Tensor]:
        """Observations with zeros in every row that is not finite, and which rows are [N]."""
        # A sum is finite only if all it adds up is.
        finite = torch.isfinite(torch.stack([x.sum(-1) for x in self._read.values()]))
        if count:
            self.bad_obs.add((~finite).sum(-1).unbind())
        sound = finite.all(0)
        return {name: torch.where(sound[:, None], x, 0.0) for name, x in self._read.items()}, sound

    def _estimate(self, gamma: float, lam: float) -> None:
        """Advantages, normalised over valid steps of all processes, and returns."""
        roll = self.rollout
        advantage, returns = gae(
            *(roll.reward, roll.value, roll.terminated, roll.truncated, roll.valid),
            gamma=gamma,
            lam=lam,
        )
        known, finite = bounded(roll.value[:-1]), bounded(advantage)
        self.bad_value.add([(~known & roll.valid).sum()])
        self.bad_advantage.add([(~finite & roll.valid).sum()])
        roll.valid &= finite
        mean, std = self._moments(advantage)
        roll.advantage.copy_(torch.where(roll.valid, (advantage - mean) / (std + 1e-8), 0.0))
        roll.returns.copy_(torch.where(roll.valid, returns, 0.0))
        roll.weight.copy_(roll.valid)

        value = roll.value[:-1]
        error, spread = self._moments(returns - value)[1], self._moments(returns)[1]
        explained = 1 - (error / spread.clamp(min=1e-8)).square()
        reward, worth = (self._moments(x)[0] for x in (roll.reward, value))
        self.means.add([reward, worth, roll.std.mean(), explained], weight=roll.valid.any())

    def _moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation over the valid entries."""
        valid = self.rollout.valid
        n, total = self.team.total(valid.sum(), torch.where(valid, x, 0.0).sum())
        mean = total / n.clamp(min=1)
        (square,) = self.team.total(torch.where(valid, x - mean, 0.0).square().sum())
        return mean, (square / (n - 1).clamp(min=1)).sqrt()


def bounded(x: Tensor) -> Tensor:
    """Where a number is finite, and small enough to be squared."""
    return x.abs() < HUGE
