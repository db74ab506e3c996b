"""Collects a rollout with advantages, without waiting for the device."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext

import torch
from torch import Tensor

from swap.device.cuda_graph import GraphedCallable
from swap.device.threads import Cores
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.learn.gae import gae
from swap.learn.latent_tracker import LatentTracker
from swap.learn.metrics import MetricAccumulator
from swap.learn.mirrored_inputs import MirroredInputs
from swap.learn.rollout import Rollout
from swap.learn.style_reward import StyleReward
from swap.learn.vec_env import VecEnv
from swap.nn.weight_cache import frozen
from swap.policy import ActorCritic
from swap.state_dict import join_states

FIGURES = ("reward", "value", "std", "explained_variance")
HUGE = 1e15
"""Numbers above this count as infinite: learning squares rewards and values, and larger squares may
not fit into single precision."""
NORMALIZE_EVERY = 4
"""Normalisers learn from every 4th step: the steps between look much like it, and the sums in
double precision would take, on a CPU, a third of the time of a policy's step."""


class Collector:
    """Steps the worlds with noisy actions and stores what is needed to learn from them."""

    def __init__(
        self,
        policy: ActorCritic,
        env: VecEnv,
        rollout: Rollout,
        metrics: MetricAccumulator,
        noise: Callable[[], Tensor],
        *,
        latent_tracker: LatentTracker | None = None,
        style: StyleReward | None = None,
        mirrored_inputs: MirroredInputs | None = None,
        capture: bool,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        """`latent_tracker` holds the latent that the policy reads; `style` adds to the reward;
        `mirrored_inputs` computes what the rollout stores of the mirrored worlds."""
        self.policy, self.env, self.rollout = policy, env, rollout
        self.latent_tracker, self.style, self.mirrored_inputs, self.processes = (
            latent_tracker,
            style,
            mirrored_inputs,
            processes,
        )
        self.means = metrics.means(*(f"rollout/{name}" for name in FIGURES))
        self.bad_action, self.bad_reward, self.bad_value, self.bad_advantage = (
            metrics.counts(f"guard/{name}") for name in ("action", "reward", "value", "advantage")
        )
        self.draw_noise, device = noise, env.device
        # CUDA graphs read these tensors, and a resumed run begins with them.
        self.obs = {
            name: torch.zeros(env.n, env.spec.groups[name].dim, device=device)
            for name in policy.reads
            if name in env.spec.groups
        }
        # What the policy reads: the observations and, if there is one, the latent.
        self._read = self.obs if latent_tracker is None else {**self.obs, **latent_tracker.latents}
        self.bad_obs = metrics.counts(*(f"guard/obs.{name}" for name in self._read))
        self.begun = torch.zeros(env.n, dtype=torch.bool, device=device)
        """Worlds whose next step is a transition; the others have ended and are about to be
        reset."""
        self.running = False
        self._cores = Cores(len(rollout), device)
        self.update_normalizers = GraphedCallable(self._update_normalizers, device, enabled=capture)
        self.decide = GraphedCallable(self._decide, device, enabled=capture)
        self.bootstrap_value = GraphedCallable(self._bootstrap_value, device, enabled=capture)
        self._recorded = self.decide.enabled

    @torch.no_grad()
    def collect(self, gamma: float, lam: float) -> None:
        # A recording would keep what was derived from the weights when it was made.
        with nullcontext() if self._recorded else frozen(self.policy):
            self._collect(gamma, lam)

    def _collect(self, gamma: float, lam: float) -> None:
        roll = self.rollout
        if not self.running:
            self.begun.fill_(False)
            self._look(self.env.reset(), ~self.begun)
            self.begun.fill_(True)
            self.running = True
        roll.std.copy_(self.policy.actor.head.std_per_orbit)
        for t in range(roll.steps):
            noise = self.draw_noise()
            if t % NORMALIZE_EVERY == 0:
                self.update_normalizers()
            inputs, action, mean, sound = self.decide(noise)
            for kept, x in zip(roll.all_inputs, inputs, strict=True):
                kept[t].copy_(x)
            roll.action[t].copy_(action)
            roll.mean[t].copy_(mean)
            if self.latent_tracker is not None:
                self.latent_tracker.record(roll.action[t])
            step = self.env.step(roll.action[t])
            finite = bounded(step.reward)
            if not self._known_true(finite):
                self.bad_reward.add([(~finite).sum()])
            torch.logical_and(step.valid & sound, finite, out=roll.valid[t])
            roll.reward[t].copy_(torch.where(finite, step.reward, 0.0))
            if self.style is not None:
                roll.reward[t].add_(self.style.reward(step))
            roll.terminated[t].copy_(step.terminated)
            roll.truncated[t].copy_(step.truncated)
            # The step that resets a world is not valid either, but its observation is good.
            self._look(step.obs, step.valid | ~self.begun)
            self.begun.copy_(~(step.terminated | step.truncated))
        roll.value[roll.steps].copy_(self.bootstrap_value())
        self.evaluate_rollout()
        self._estimate(gamma, lam)

    def _look(self, obs: Mapping[str, Tensor], valid: Tensor) -> None:
        """Takes a new observation; worlds that had not `begun` were just reset, and it is their
        first. In worlds that are not `valid` [N] the physics diverged on the way there."""
        for name, x in self.obs.items():
            x.copy_(obs[name])
        if self.latent_tracker is not None:
            self.latent_tracker.observe(obs, ~self.begun, valid)
        if self.style is not None:
            self.style.remember(obs)

    def _update_normalizers(self) -> None:
        """Updates the normalisers with the present observations."""
        with torch.no_grad():
            obs, sound = self._cleaned(count=False)
            # The last observation of an episode is left out: it may come from a world that
            # diverged.
            here = sound & self.begun
            valid = None if self._known_true(here) else here
            self.policy.update_normalizers(obs, valid)
            if self.mirrored_inputs is not None:
                self.mirrored_inputs.update_normalizers(obs, valid)

    def _decide(self, noise: Tensor) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor]:
        """Returns the networks' inputs, the action, its mean, and which rows are finite."""
        with torch.no_grad():
            obs, sound = self._cleaned(count=True)
            mirrored = () if self.mirrored_inputs is None else self.mirrored_inputs(obs)
            inputs = self.policy.inputs(obs)
            pi = self.policy.actor(inputs.actor)
            action = pi.sample(noise)
            return (*inputs, *mirrored), action, pi.mean, sound

    def evaluate_rollout(self) -> None:
        """Fills in the densities of the actions and the values of the observations, for all steps
        at once: they are not needed earlier."""
        roll = self.rollout
        self.bad_action.add([(~torch.isfinite(roll.action.sum(-1))).sum()])
        roll.log_prob.copy_(self.policy.actor.rebuild(roll.mean, roll.std).log_prob(roll.action))
        if roll.noiseless is not None and roll.noiseless_log_prob is not None:
            pi = self.policy.actor.rebuild(self.policy.actor.mlp(roll.noiseless.actor), roll.std)
            roll.noiseless_log_prob.copy_(pi.log_prob(roll.action))
        read, value = roll.inputs.critic.flatten(0, 1), roll.value[:-1].view(-1)

        def evaluate(first: int, last: int) -> None:
            with torch.no_grad():  # other threads have a mode of their own
                value[first:last].copy_(self.policy.critic(read[first:last]))

        if self.policy.critic.mlp.divisible:
            self._cores(evaluate)
        else:
            evaluate(0, len(roll))

    def _bootstrap_value(self) -> Tensor:
        """The value of the last observation."""
        with torch.no_grad():
            return self.policy.critic(self.policy.inputs(self._cleaned(count=False)[0]).critic)

    def _cleaned(self, *, count: bool) -> tuple[dict[str, Tensor], Tensor]:
        """Returns observations with zeros in every row that is not finite, and which rows are
        finite [N]."""
        # A sum is finite only if all its terms are.
        finite = torch.isfinite(torch.stack([x.sum(-1) for x in self._read.values()]))
        if self._known_true(finite):
            return dict(self._read), finite[0]
        if count:
            self.bad_obs.add((~finite).sum(-1).unbind())
        sound = finite.all(0)
        return {name: torch.where(sound[:, None], x, 0.0) for name, x in self._read.items()}, sound

    def _known_true(self, x: Tensor) -> bool:
        """True if all entries are true and this can be known without waiting for the device."""
        return not self._recorded and x.is_cpu and bool(x.all())

    def _estimate(self, gamma: float, lam: float) -> None:
        """Fills in advantages, normalised over the valid steps of all processes, and returns."""
        roll = self.rollout
        advantage, returns = gae(
            roll.reward,
            roll.value,
            terminated=roll.terminated,
            truncated=roll.truncated,
            valid=roll.valid,
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
        n, total = self.processes.all_reduce(valid.sum(), torch.where(valid, x, 0.0).sum())
        mean = total / n.clamp(min=1)
        (square,) = self.processes.all_reduce(torch.where(valid, x - mean, 0.0).square().sum())
        return mean, (square / (n - 1).clamp(min=1)).sqrt()

    # --- for a resume ---------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """The last observations of the worlds, not copies of them."""
        state = {**join_states(obs=self.obs), "begun": self.begun}
        if self.latent_tracker is not None:
            state |= self.latent_tracker.state_dict()
        if self.style is not None:
            state |= join_states(style=self.style.state_dict())
        return state


def bounded(x: Tensor) -> Tensor:
    """Where a number is finite, and small enough to be squared."""
    return x.abs() < HUGE
