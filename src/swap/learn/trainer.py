"""Worlds in, a trained policy out: the loop, and all it takes to go on tomorrow as if today."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.kept import named, put_back, under
from swap.learn.amp import AMP, AMPCfg
from swap.learn.collect import Collector
from swap.learn.eyes import Eyes
from swap.learn.mirrored import (
    AugmentedAMP,
    AugmentedModelLearner,
    AugmentedPPO,
    PenalisedPPO,
    SymmetryCfg,
)
from swap.learn.model import ModelCfg, ModelLearner
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.replay import Replay
from swap.learn.rollout import Rollout
from swap.learn.stopwatch import Stopwatch
from swap.learn.style import GROUP, Style, frame_of
from swap.learn.tally import Tally
from swap.learn.together import Pooled
from swap.learn.twin import Glass
from swap.learn.world import World
from swap.policy import LATENT, PolicyCfg, networks
from swap.team import ALONE, Team
from swap.threads import one_thread
from swap.validate import check_numbers

NETWORKS = ("policy/", "model/", "amp/net/")
OPTIMISERS = ("ppo/", "learner/", "amp/adam/")
"""How the names of what was learned begin, in a checkpoint."""
FEW = 512
"""Worlds up to which a CPU acts for them on one thread."""


@dataclass(frozen=True)
class TrainerCfg:
    ppo: PPOCfg = field(default_factory=PPOCfg)
    policy: PolicyCfg = field(default_factory=PolicyCfg)
    model: ModelCfg | None = None
    """A world model, whose latent the policy reads as `latent`; None for a policy without."""
    amp: AMPCfg | None = None
    """A reward for style; None for none."""
    symmetry: SymmetryCfg = field(default_factory=SymmetryCfg)
    """What plain networks are told of the mirror."""
    seed: int = 0
    """Of the first weights, the exploration and the order of samples."""
    capture: bool = True
    """On a GPU, record inference and gradient steps and replay them in one launch each."""
    tf32: bool = True
    """On a GPU, multiply matrices in TF32. The mirror stays exact."""

    def __post_init__(self) -> None:
        check_numbers(self)
        calm, low, high = self.ppo.calm_std, self.policy.min_std, self.policy.max_std
        if calm is not None and not low < calm < high:
            raise UserError(
                f"calm_std={calm:g} must lie between the policy's min_std={low:g} and "
                f"max_std={high:g}"
            )


class Trainer:
    """`iterate()` collects and learns once; everything stays on the device of `env`."""

    def __init__(
        self,
        cfg: TrainerCfg,
        env: World,
        reference: Tensor | None = None,
        team: Team = ALONE,
    ) -> None:
        """`reference` [M, 2, d]: transitions of motion that AMP takes for the ideal. In a `team`,
        `env` is this process's share of the worlds; batches and memories are shared out likewise.
        """
        self.cfg, self.env, self.team = cfg, env, team
        self.device = device = env.device
        if device.type == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = cfg.tf32
            torch.backends.cudnn.allow_tf32 = cfg.tf32
        self.generator = torch.Generator(device).manual_seed(cfg.seed + team.rank)
        self.tally, self.stopwatch = Tally(device, team), Stopwatch(device)
        self.iteration = 0
        self.planned: float | None = None
        """Control steps that the run will have in all, as far as is known."""
        self.mirrors, self.augments = cfg.symmetry.kind != "none", cfg.symmetry.kind == "augment"

        net = None if cfg.model is None else cfg.model.net
        policy, model = networks(cfg.policy, net, env.groups, env.spaces.action, cfg.seed)
        self.policy = policy.to(device)
        if model is not None:
            self.model = model.to(device)
        orbits, steps = policy.actor.head.orbits.size, cfg.ppo.steps
        self.rollout = Rollout(
            *(steps, env.n, policy.widths, policy.action.dim, orbits, device), mirrored=self.mirrors
        )
        self.ppo = self._make_ppo()
        self.learner = None if cfg.model is None else self._make_learner(cfg.model)
        self.amp = None if cfg.amp is None else self._make_amp(cfg.amp, reference)
        self.collector = Collector(
            *(self.policy, env, self.rollout, self.tally, self.noise),
            eyes=None if self.learner is None else self._make_eyes(self.learner.replay),
            style=None if self.amp is None else Style(self.amp, env.groups[GROUP]),
            glass=Glass(self.policy, env.groups, device, self.augments) if self.mirrors else None,
            capture=cfg.capture,
            team=team,
        )
        self.statistics = Pooled(team, policy.actor.reader.norm, policy.critic.reader.norm)
        if not team.alone:
            team.follow(self._copies())
            self.apart = self.tally.counts("guard/apart")

    def iterate(self) -> dict[str, float]:
        """Collect, estimate, update; then, and only then, wait for the device and read figures."""
        watch = self.stopwatch
        watch.start()
        ceiling = self.cfg.ppo.ceiling(self.cfg.policy.max_std, self.steps, self.planned)
        self.policy.actor.head.limit(ceiling)
        with one_thread(self.device.type == "cpu" and self.env.n <= FEW):
            self.collector.collect(self.cfg.ppo.gamma, self.cfg.ppo.lam)
        self.statistics.pool()
        watch.lap("time/collect_s")
        self.ppo.update(self.generator)
        watch.lap("time/update_s")
        if self.learner is not None:
            self.learner.update(self.generator)
            watch.lap("time/model_s")
        if self.amp is not None:
            self.amp.update(self.generator)
            watch.lap("time/amp_s")
        self.iteration += 1
        if not self.team.alone:
            self._compare()
        figures = self.tally.read()
        env = self.env.metrics(self.team)
        return {"steps": self.steps, **env, **figures, "ppo/max_std": ceiling, **watch.read()}

    def plan(self, steps: float) -> None:
        """The run will have so many control steps in all. Once the noise is being brought down the
        plan stands: what was begun is finished, and a finished robot stays calm."""
        first, _ = self.cfg.ppo.calming(self.planned)
        if self.steps <= first:
            self.planned = steps

    @property
    def steps(self) -> int:
        """Control steps so far, of all worlds together."""
        return self.iteration * len(self.rollout) * self.team.size

    # --- in a team ------------------------------------------------------------------------------
    def _copies(self) -> list[Tensor]:
        """What every process has its own copy of, which must be alike."""
        nets: list[nn.Module] = [self.policy]
        nets += [] if self.learner is None else [self.model]
        nets += [] if self.amp is None else [self.amp.net]
        return [x for net in nets for x in net.state_dict().values()]

    def _compare(self) -> None:
        """Count a copy that is not that of process 0, bit for bit: it could not be seen otherwise,
        and nothing is learned from copies that drift apart."""
        bits = torch.cat([x.flatten() for x in self._copies() if x.dtype == torch.float32])
        mine = bits.view(torch.int32).sum()
        theirs = mine.clone()
        self.team.follow([theirs])
        self.apart.add([mine != theirs])

    # --- chance ---------------------------------------------------------------------------------
    def noise(self) -> Tensor:
        """Standard normal exploration for one step, [N, d]. A mirrored run overrides this."""
        shape = self.env.n, self.policy.action.dim
        return torch.randn(shape, generator=self.generator, device=self.env.device)

    def latent_noise(self) -> Tensor:
        """Gumbel noise for one tick, [N, z]. A mirrored run overrides this."""
        like = self.rollout.value
        return self.model.noise(self.env.n, like=like, generator=self.generator)

    # --- its parts ------------------------------------------------------------------------------
    def _make_ppo(self) -> PPO:
        cfg, parts = self.cfg, (self.cfg.ppo, self.policy, self.rollout, self.tally)
        if cfg.symmetry.kind == "loss":
            told = cfg.symmetry
            return PenalisedPPO(*parts, capture=cfg.capture, team=self.team, symmetry=told)
        return (AugmentedPPO if self.augments else PPO)(*parts, capture=cfg.capture, team=self.team)

    def _make_learner(self, cfg: ModelCfg) -> ModelLearner:
        cfg = replace(cfg, batch=self.team.share(cfg.batch, "model.batch"))
        replay = Replay(self.model, self.env.n, cfg.memory, self.device, twin=self.augments)
        make = AugmentedModelLearner if self.augments else ModelLearner
        parts = cfg, self.model, replay, self.tally
        return make(*parts, capture=self.cfg.capture, team=self.team)

    def _make_eyes(self, replay: Replay) -> Eyes:
        widths = {name: layout.dim for name, layout in self.env.groups.items()}
        return Eyes(
            *(self.model, replay, widths, self.latent_noise, self.device),
            capture=self.cfg.capture,
            twin=self.mirrors,
        )

    def _make_amp(self, cfg: AMPCfg, reference: Tensor | None) -> AMP:
        if reference is None:
            raise UserError("style needs reference motion; give transitions, or set amp to None")
        frame, share = frame_of(self.env.groups[GROUP]), self.team.share
        batch, kept = share(cfg.batch, "amp.batch"), max(1, cfg.replay // self.team.size)
        cfg = replace(cfg, batch=batch, replay=kept)
        return (AugmentedAMP if self.augments else AMP)(
            *(cfg, reference.to(self.device), frame.rep, self.env.n, self.cfg.ppo.steps),
            self.tally,
            capture=self.cfg.capture,
            seed=self.cfg.seed,
            team=self.team,
        )

    # --- resume ---------------------------------------------------------------------------------
    def tensors(self) -> dict[str, Tensor]:
        """All that changes, copied."""
        out = named(policy=self.policy.state_dict(), env=self.env.tensors())
        out |= {**self._live(), "generator": self.generator.get_state()}
        return {name: x.detach().clone() for name, x in out.items()}

    def numbers(self) -> dict[str, Any]:
        """What is no tensor, as JSON can hold it."""
        out: dict[str, Any] = {"iteration": self.iteration, "planned": self.planned}
        out["running"] = self.collector.running
        if (eyes := self.collector.eyes) is not None:
            out |= {LATENT: eyes.two_rate.numbers(), "replay": eyes.replay.numbers()}
        return {**out, "env": self.env.numbers()}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the trainer that gave these, its config being the same. Written in place:
        recordings keep their addresses."""
        self.policy.load_state_dict(under("policy/", tensors))
        put_back(self._live(), tensors)
        self.generator.set_state(tensors["generator"].cpu())
        self.iteration, self.collector.running = numbers["iteration"], numbers["running"]
        self.planned = numbers.get("planned")
        if (eyes := self.collector.eyes) is not None:
            for name, rate in eyes.rates.items():
                rate.restore(under(f"{name}/", tensors), numbers[LATENT])
            eyes.replay.restore(numbers["replay"])
        self.env.restore(under("env/", tensors), numbers["env"])
        self.statistics.begin()
        if self.amp is not None:
            self.amp.statistics.begin()

    def learned(self) -> dict[str, Tensor]:
        """Live: the networks with their normalisers, and the optimisers."""
        parts = {**named(policy=self.policy.state_dict()), **self._live()}
        return {name: x for name, x in parts.items() if name.startswith(NETWORKS + OPTIMISERS)}

    def begin_with(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what another run has learned, all of it or some; before the first iteration."""
        put_back({name: x for name, x in self.learned().items() if name in tensors}, tensors)
        self.statistics.begin()
        if self.amp is not None:
            self.amp.statistics.begin()

    def _live(self) -> dict[str, Tensor]:
        """What changes in place, but for the policy and the worlds."""
        parts = named(ppo=dict(self.ppo.state()), obs=self.collector.obs)
        if self.learner is not None:
            parts |= named(model=self.model.state_dict(), learner=dict(self.learner.state()))
            parts |= named(replay=self.learner.replay.tensors())
        if (eyes := self.collector.eyes) is not None:
            parts |= named(**{name: rate.tensors() for name, rate in eyes.rates.items()})
        if (style := self.collector.style) is not None:
            parts |= named(amp=dict(style.amp.state()), style={"pair": style.pair})
        return {**parts, "begun": self.collector.begun}
