"""The training loop, and all the state it takes to resume it exactly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from swap.device.side_stream import SideStream
from swap.device.threads import one_thread
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn.amp import AMP, AMPCfg
from swap.learn.collector import Collector
from swap.learn.gradient_step import PooledNorms
from swap.learn.latent_tracker import LatentTracker
from swap.learn.metrics import MetricAccumulator
from swap.learn.mirrored_inputs import MirroredInputs
from swap.learn.model_learner import ModelCfg, ModelLearner
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.replay import ReplayBuffer
from swap.learn.rollout import Rollout
from swap.learn.stopwatch import Stopwatch
from swap.learn.style_reward import GROUP, StyleReward
from swap.learn.symmetry_baselines import (
    AugmentedAMP,
    AugmentedModelLearner,
    AugmentedPPO,
    PenalisedPPO,
    SymmetryCfg,
)
from swap.learn.vec_env import VecEnv
from swap.policy import PolicyCfg, build_networks
from swap.state_dict import copy_into, join_states, sub_state
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
        calm, low, high = self.ppo.final_max_std, self.policy.min_std, self.policy.max_std
        if calm is not None and not low < calm < high:
            raise UserError(
                f"final_max_std={calm:g} must lie between the policy's min_std={low:g} and "
                f"max_std={high:g}"
            )


class Trainer:
    """`iterate()` collects and learns once; everything stays on the device of `env`."""

    def __init__(
        self,
        cfg: TrainerCfg,
        env: VecEnv,
        reference: Tensor | None = None,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        """`reference` [M, 2, d]: transitions of motion that AMP takes for the ideal. With several
        `processes`, `env` holds this one's part of the worlds; batches and replay are split alike.
        """
        self.cfg, self.env, self.processes = cfg, env, processes
        self.device = device = env.device
        if device.type == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = cfg.tf32
            torch.backends.cudnn.allow_tf32 = cfg.tf32
        self.generator = torch.Generator(device).manual_seed(cfg.seed + processes.rank)
        self.metrics, self.stopwatch = MetricAccumulator(device, processes), Stopwatch(device)
        self.iteration = 0
        self.planned: float | None = None
        """Control steps that the run will have in all, as far as is known."""
        self.mirrors, self.augments = cfg.symmetry.kind != "none", cfg.symmetry.kind == "augment"

        net = None if cfg.model is None else cfg.model.net
        policy, model = build_networks(cfg.policy, net, env.spec, cfg.seed)
        self.policy = policy.to(device)
        if model is not None:
            self.model = model.to(device)
        self.rollout = Rollout(
            steps=cfg.ppo.steps,
            n=env.n,
            widths=policy.widths,
            action=policy.action.dim,
            orbits=policy.actor.head.orbits.size,
            device=device,
            mirrored=self.mirrors,
        )
        self.ppo = self._make_ppo()
        self.learner = None if cfg.model is None else self._make_learner(cfg.model)
        self.amp = None if cfg.amp is None else self._make_amp(cfg.amp, reference)
        self.collector = self._make_collector()
        # Several processes meet after every step, and must meet in one order.
        overlap = cfg.model is not None and cfg.model.overlap and processes.alone
        self.side = SideStream(device, enabled=overlap)
        self.statistics = PooledNorms(processes, policy.actor.mlp.norm, policy.critic.mlp.norm)
        if not processes.alone:
            processes.broadcast_tensors(self._copies())
            self.apart = self.metrics.counts("guard/apart")

    def iterate(self) -> dict[str, float]:
        """Collect, estimate, update; then, and only then, wait for the device and read figures."""
        watch = self.stopwatch
        watch.start()
        ceiling = self.cfg.ppo.max_std_at(self.cfg.policy.max_std, self.steps, self.planned)
        self.policy.actor.head.limit(ceiling)
        with one_thread(self.device.type == "cpu" and self.env.n <= FEW):
            self.collector.collect(self.cfg.ppo.gamma, self.cfg.ppo.lam)
        self.statistics.pool()
        watch.lap("time/collect_s")
        self._learn()
        self.iteration += 1
        if not self.processes.alone:
            self._compare()
        figures = self.metrics.read()
        env = self.env.metrics(self.processes)
        return {"steps": self.steps, **env, **figures, "ppo/max_std": ceiling, **watch.read()}

    def _learn(self) -> None:
        """Update policy, world model and discriminator. None reads what another one writes, and the
        many small kernels of the world model leave room on a GPU: it may learn beside the others.
        """
        watch, side = self.stopwatch, self.side
        side.fork()
        self.ppo.update(self.generator)
        watch.lap("time/update_s")
        if self.learner is not None:
            with side.work():
                self.learner.update(self.generator)
            if not side.enabled:
                watch.lap("time/model_s")
        if self.amp is not None:
            self.amp.update(self.generator)
            watch.lap("time/amp_s")
        side.join()
        if self.learner is not None and side.enabled:
            watch.lap("time/model_s")  # what is left of it

    def plan(self, steps: float) -> None:
        """The run will have so many control steps in all. Once the noise is being brought down the
        plan stands: what was begun is finished, and a finished robot stays calm."""
        first, _ = self.cfg.ppo.decay_span(self.planned)
        if self.steps <= first:
            self.planned = steps

    @property
    def steps(self) -> int:
        """Control steps so far, of all worlds together."""
        return self.iteration * len(self.rollout) * self.processes.size

    # --- several processes ----------------------------------------------------------------------
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
        self.processes.broadcast_tensors([theirs])
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
    @property
    def _shared(self) -> dict[str, Any]:
        """What all of them are given."""
        more = {"capture": self.cfg.capture, "processes": self.processes}
        return {"metrics": self.metrics, **more}

    def _make_ppo(self) -> PPO:
        make: Callable[..., PPO] = AugmentedPPO if self.augments else PPO
        if self.cfg.symmetry.kind == "loss":
            make = partial(PenalisedPPO, symmetry=self.cfg.symmetry)
        return make(self.cfg.ppo, self.policy, self.rollout, **self._shared)

    def _make_learner(self, cfg: ModelCfg) -> ModelLearner:
        cfg = replace(cfg, batch=self.processes.split_evenly(cfg.batch, "model.batch"))
        replay = ReplayBuffer(
            self.model, self.env.n, cfg.memory, self.device, mirrored=self.augments
        )
        make = AugmentedModelLearner if self.augments else ModelLearner
        return make(cfg, self.model, replay, **self._shared)

    def _make_collector(self) -> Collector:
        latent_tracker = style = mirrored_inputs = None
        if self.learner is not None:
            latent_tracker = self._make_latent_tracker(self.learner.replay)
        if self.amp is not None:
            style = StyleReward(self.amp, self.env.spec.groups[GROUP].dim, self.env.n)
        if self.mirrors:
            mirrored_inputs = MirroredInputs(
                self.policy, self.env.spec.groups, self.device, self.augments
            )
        return Collector(
            self.policy,
            self.env,
            self.rollout,
            noise=self.noise,
            latent_tracker=latent_tracker,
            style=style,
            mirrored_inputs=mirrored_inputs,
            **self._shared,
        )

    def _make_latent_tracker(self, replay: ReplayBuffer) -> LatentTracker:
        options = {"capture": self.cfg.capture, "mirrored": self.mirrors}
        return LatentTracker(self.model, replay, self.latent_noise, self.device, **options)

    def _make_amp(self, cfg: AMPCfg, reference: Tensor | None) -> AMP:
        if reference is None:
            raise UserError("style needs reference motion; give transitions, or set amp to None")
        frame, split = self.env.spec.groups[GROUP], self.processes.split_evenly
        batch, kept = split(cfg.batch, "amp.batch"), max(1, cfg.replay // self.processes.size)
        cfg = replace(cfg, batch=batch, replay=kept)
        return (AugmentedAMP if self.augments else AMP)(
            cfg,
            expert=reference.to(self.device),
            rep=frame.rep,
            n=self.env.n,
            steps=self.cfg.ppo.steps,
            seed=self.cfg.seed,
            **self._shared,
        )

    # --- resume ---------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """All that changes, copied: to go on does not change it."""
        state = {**self._live(), **join_states(env=self.env.state_dict())}
        state["generator"] = self.generator.get_state()
        return {name: x.detach().clone() for name, x in state.items()}

    def numbers(self) -> dict[str, Any]:
        """What is no tensor, as JSON can hold it."""
        return {
            "iteration": self.iteration,
            "planned": self.planned,
            "running": self.collector.running,
        }

    def load_state_dict(self, state: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the trainer that gave these, its config being the same. Written in place:
        recordings keep their addresses."""
        if self.learner is not None:
            self.learner.replay.clear()  # a large one is not kept
        copy_into(self._live(), state)
        self.generator.set_state(state["generator"].cpu())
        self.iteration, self.collector.running = numbers["iteration"], numbers["running"]
        self.planned = numbers.get("planned")
        self.env.load_state_dict(sub_state("env/", state))
        self._begin_statistics()

    def learned(self) -> dict[str, Tensor]:
        """Live: the networks with their normalisers, and the optimisers."""
        parts = NETWORKS + OPTIMISERS
        return {name: x for name, x in self._live().items() if name.startswith(parts)}

    def begin_with(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what another run has learned, all of it or some; before the first iteration."""
        copy_into({name: x for name, x in self.learned().items() if name in tensors}, tensors)
        self._begin_statistics()

    def _live(self) -> dict[str, Tensor]:
        """What changes in place, but for the worlds."""
        parts = join_states(policy=self.policy.state_dict(), ppo=self.ppo.state_dict())
        if self.learner is not None:
            parts |= join_states(
                model=self.model.state_dict(),
                learner=self.learner.state_dict(),
                replay=self.learner.replay.state_dict(),
            )
        if self.amp is not None:
            parts |= join_states(amp=self.amp.state_dict())
        return {**parts, **self.collector.state_dict()}

    def _begin_statistics(self) -> None:
        """All processes hold the same normalisers now."""
        self.statistics.begin()
        if self.amp is not None:
            self.amp.statistics.begin()
