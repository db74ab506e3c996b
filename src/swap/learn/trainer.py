"""Runs the training loop, and holds all the state that is needed to resume it exactly."""

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
from swap.learn.latent_tracker import LatentTracker, Mirrored
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
"""Prefixes of the names of learned tensors in a checkpoint."""
FEW = 512
"""For up to this many worlds, the policy runs on one CPU thread."""


@dataclass(frozen=True)
class TrainerCfg:
    ppo: PPOCfg = field(default_factory=PPOCfg)
    policy: PolicyCfg = field(default_factory=PolicyCfg)
    model: ModelCfg | None = None
    """The world model, whose latent the policy reads as `latent`; None for a policy without one."""
    amp: AMPCfg | None = None
    """The style reward; None for none."""
    symmetry: SymmetryCfg = field(default_factory=SymmetryCfg)
    """How plain networks learn the mirror."""
    seed: int = 0
    """Seed of the initial weights, the exploration and the order of samples."""
    capture: bool = True
    """On a GPU, record inference and gradient steps as CUDA graphs, replayed in one launch each."""
    tf32: bool = True
    """On a GPU, multiply matrices in TF32. The mirror stays exact."""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.symmetry.noise == "none" and self.model is None:
            raise UserError("symmetry.noise=none needs a world model; only its latent has noise")
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
        """`reference` [M, 2, d]: transitions of the reference motions for AMP. With several
        `processes`, `env` holds this one's share of the worlds; batches and replay are divided
        likewise.
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
        """Control steps that the run will have in all, as far as known."""
        self.mirrors, self.augments = cfg.symmetry.kind != "none", cfg.symmetry.kind == "augment"

        net = None if cfg.model is None else cfg.model.net
        policy, model = build_networks(cfg.policy, net, env.spec, cfg.seed)
        self.policy = policy.to(device)
        # A penalty compares what is read without noise, in this world and in the mirrored one.
        # Mirrored samples may do so, too.
        without_noise = cfg.symmetry.kind == "loss" or cfg.symmetry.noise == "none"
        self.noiseless = without_noise and model is not None
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
            noiseless=self.noiseless,
            noiseless_density=self.augments and self.noiseless,
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
        """Collects, estimates advantages and updates; only then waits for the device and reads the
        figures."""
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
            self._compare_copies()
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
        """Sets how many control steps the run will have in all. Once the noise begins to fall the
        plan is fixed, so that the fall is completed and the noise does not rise again."""
        first, _ = self.cfg.ppo.decay_span(self.planned)
        if self.steps <= first:
            self.planned = steps

    @property
    def steps(self) -> int:
        """Control steps so far, of all worlds together."""
        return self.iteration * len(self.rollout) * self.processes.size

    # --- several processes ----------------------------------------------------------------------
    def _copies(self) -> list[Tensor]:
        """The tensors of which every process has a copy; the copies must be equal."""
        nets: list[nn.Module] = [self.policy]
        nets += [] if self.learner is None else [self.model]
        nets += [] if self.amp is None else [self.amp.net]
        return [x for net in nets for x in net.state_dict().values()]

    def _compare_copies(self) -> None:
        """Counts the copies that differ from those of process 0 in any bit. Copies that drift apart
        would not show otherwise, and would spoil learning."""
        bits = torch.cat([x.flatten() for x in self._copies() if x.dtype == torch.float32])
        mine = bits.view(torch.int32).sum()
        theirs = mine.clone()
        self.processes.broadcast_tensors([theirs])
        self.apart.add([mine != theirs])

    # --- noise ----------------------------------------------------------------------------------
    def noise(self) -> Tensor:
        """Standard normal exploration for one step, [N, d]. A mirrored run overrides this."""
        shape = self.env.n, self.policy.action.dim
        return torch.randn(shape, generator=self.generator, device=self.env.device)

    def latent_noise(self) -> Tensor:
        """Gumbel noise for one tick, [N, z]. A mirrored run overrides this."""
        like = self.rollout.value
        return self.model.noise(self.env.n, like=like, generator=self.generator)

    # --- parts ----------------------------------------------------------------------------------
    @property
    def _shared(self) -> dict[str, Any]:
        """The arguments that all parts get."""
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
        mirrored: Mirrored = "sampled" if self.augments else "no"
        return LatentTracker(
            self.model,
            replay,
            self.latent_noise,
            self.device,
            capture=self.cfg.capture,
            mirrored="noiseless" if self.noiseless else mirrored,
        )

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
        """Copies of all that changes; further training does not change them."""
        state = {**self._live(), **join_states(env=self.env.state_dict())}
        state["generator"] = self.generator.get_state()
        return {name: x.detach().clone() for name, x in state.items()}

    def numbers(self) -> dict[str, Any]:
        """The rest of the state, which is not tensors, in a form that JSON can hold."""
        return {
            "iteration": self.iteration,
            "planned": self.planned,
            "running": self.collector.running,
        }

    def load_state_dict(self, state: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Restores exactly the trainer that gave these, if the config is the same. Tensors are
        written in place, because CUDA graphs keep their addresses."""
        if self.learner is not None:
            self.learner.replay.clear()  # a large one is not saved
        copy_into(self._live(), state)
        self.generator.set_state(state["generator"].cpu())
        self.iteration, self.collector.running = numbers["iteration"], numbers["running"]
        self.planned = numbers.get("planned")
        self.env.load_state_dict(sub_state("env/", state))
        self._begin_statistics()

    def learned(self) -> dict[str, Tensor]:
        """The tensors (not copies) of the networks with their normalisers, and of the
        optimisers."""
        parts = NETWORKS + OPTIMISERS
        return {name: x for name, x in self._live().items() if name.startswith(parts)}

    def load_learned(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes over what another run has learned, all or some of it; call it before the first
        iteration."""
        copy_into({name: x for name, x in self.learned().items() if name in tensors}, tensors)
        self._begin_statistics()

    def _live(self) -> dict[str, Tensor]:
        """The tensors that change in place, except those of the worlds."""
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
        """Starts pooling normaliser statistics; all processes hold the same ones now."""
        self.statistics.begin()
        if self.amp is not None:
            self.amp.statistics.begin()
