"""The environment: it takes actions and returns observations, rewards and ends of episodes, for N
robots at once.

Worlds are reset one step late, see `swap.env.step`.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.courses import Boxes
from swap.device.cuda_graph import GraphedCallable
from swap.device.threads import one_thread
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.bank import StartsAndGoals
from swap.env.cfg import EnvCfg
from swap.env.commands import Commands
from swap.env.frame import Frame, FrameBuilder
from swap.env.heights import Heights
from swap.env.metrics import EpisodeMetrics
from swap.env.observation_terms import Reading
from swap.env.observations import Observations
from swap.env.random_source import RandomSource
from swap.env.rewards import Rewards
from swap.env.starts import Starts
from swap.env.step import Step
from swap.env.tasks import CurriculumTasks, Tasks
from swap.env.terminations import Terminations
from swap.env_spec import EnvSpec
from swap.errors import UserError
from swap.sensors import DepthCamera
from swap.sim import BODY_PARTS, CONTROL_DT, FIXED, EngineName, engine_device, make_engine
from swap.state_dict import copy_into, join_states, sub_state
from swap.symmetry import Layout


class ParkourEnv:
    """`n` worlds that step together, each with its own robot and task."""

    def __init__(
        self,
        cfg: EnvCfg,
        n: int,
        *,
        engine: EngineName = "cpu",
        device: str = "cpu",
        seed: int = 0,
        capture: bool = True,
        rng: RandomSource | None = None,
        tasks: Tasks | None = None,
        seen: Boxes | None = None,
    ) -> None:
        """With `capture`, on CUDA, all of a step but the physics is recorded and replayed in two
        launches; without, each kernel is launched separately, for debugging. `rng` draws all random
        numbers (default: from `seed`), `tasks` assigns courses and commands (default: training).
        `seen` is what the cameras see for ever (default: the courses)."""
        self.cfg, self.n = cfg, n
        place = engine_device(engine, device)
        self.rng = rng or RandomSource(n, place, seed)
        self.tasks = tasks or CurriculumTasks.of(cfg, self.rng, seed)
        bank, self.curriculum = self.tasks.bank, self.tasks.curriculum
        self.families, self.family = bank.families, self.tasks.family
        self.robot = cfg.load_robot()
        self.spaces = cfg.spaces
        self.engine = make_engine(
            engine,
            self.robot,
            bank.courses,
            n,
            device,
            slots=bank.slots,
            contacts=cfg.contacts,
            contact_rows=cfg.contact_rows,
            cone=cfg.friction_cone,
        )
        self.device = self.engine.device
        self._ground = StartsAndGoals(bank, n, place, cfg.start.run_up_skip > 0)
        self.goals = self._ground.goals
        self._pose = torch.tensor(self.robot.default_pose).to(place)
        # On a GPU new masses take hundreds of launches, and reading a result would wait for it.
        self._on_cpu = engine == "cpu"
        ranges = cfg.random.ranges
        self._randomises = ranges != FIXED
        ranging = any(low < high for low, high in (getattr(ranges, x) for x in BODY_PARTS))
        self._bodies_every = cfg.random.bodies_every if ranging and not self._on_cpu else 0
        self._push_share = CONTROL_DT / every if (every := cfg.random.push_every_s) else 0.0

        self.heights = Heights(self.spaces.heights, len(self.robot.legs), n, bank.slots, place)
        self._seen = seen or self.engine.boxes
        self.camera = (
            DepthCamera(cfg.camera, self.robot.camera, n, self._seen.slots, place, seed=seed)
            if cfg.camera
            else None
        )
        self.commands = Commands(cfg.commands, self.rng, self.known_empty)
        self.frame_builder = FrameBuilder(
            self.robot, self.heights, cfg.terminations.stall_m, self.known_empty
        )
        weights = cfg.rewards
        self.rewards = Rewards(
            weights.preset, dict(weights.terms), place, only_positive=weights.only_positive
        )
        self.terminations = Terminations(cfg.terminations, self.robot)
        self.observations = Observations(cfg.noise, self.robot, self.spaces, self.rng)
        self.starts = Starts(cfg.start, self.robot, self.rng)
        self.episode_metrics = EpisodeMetrics(
            bank.families, self.family, self.rewards.names, self.known_empty
        )
        self._ended = torch.ones(n, dtype=torch.bool, device=place)
        self._fresh = self._ended.clone()
        self._old_body = torch.zeros_like(self._ended)  # in a new episode
        self._targets = torch.zeros_like(self.frame_builder.action)
        self._count = torch.tensor(0)  # control steps since the reset, known to the host
        generators = (self.rng.generator,)
        self._pre_physics = GraphedCallable(
            self._pre_physics_step, place, enabled=capture, generators=generators
        )
        self._post_physics = GraphedCallable(
            self._post_physics_step, place, enabled=capture, generators=generators
        )

    @property
    def groups(self) -> dict[str, Layout]:
        """The layout of every observation group; depth images, [N, rows, cols], have none."""
        return self.observations.groups

    @property
    def spec(self) -> EnvSpec:
        """What networks must know of this environment."""
        return self.cfg.spec

    def known_empty(self, mask: Tensor) -> bool:
        """True if `mask` [N] is empty and this can be known without waiting for the device. On a
        GPU it is always False, and the work is done even for an empty mask."""
        return self._on_cpu and not mask.any()

    # --- the loop -------------------------------------------------------------------------------
    def reset(self) -> dict[str, Tensor]:
        """Begin an episode in every world."""
        self._count.zero_()
        self._fresh.fill_(True)
        self._old_body.zero_()
        with one_thread(self._on_cpu):
            self._reset_worlds(bodies=True)
            self.frame_builder.act(torch.zeros_like(self.frame_builder.action))
            return self._add_images(self._observe(self._build_frame()))

    def step(self, action: Tensor) -> Step:
        """Take one control step with `action` [N, 12]: joint targets around the default pose."""
        if not isinstance(action, Tensor) or action.shape != self._targets.shape:
            shape = list(self._targets.shape)
            got = list(action.shape) if isinstance(action, Tensor) else type(action).__name__
            raise UserError(f"actions are {got}; pass a tensor {shape}")
        with one_thread(self._on_cpu):
            self._pre_physics(action.detach().to(self._targets))
            self.engine.step(self._targets)
            self._count += 1
            if self._bodies_every and int(self._count) % self._bodies_every == 0:
                self._randomise_bodies()
            step = self._post_physics()
            self._add_images(step.obs)
            return step

    def _pre_physics_step(self, action: Tensor) -> None:
        """The part of a step before the physics. This and `_post_physics_step` are recorded on a
        GPU, so all tensors that they read and write from one step to the next keep their
        storage."""
        self._fresh.copy_(self._ended)
        limit = self.cfg.action_clip
        still = ~self.tasks.running(self._fresh)
        action = action.clamp(-limit, limit).masked_fill_(still[:, None], 0)
        self._push()
        self.frame_builder.act(action)
        torch.add(self._pose, self.robot.action_scale * action, out=self._targets)

    def _post_physics_step(self) -> Step:
        """The part of a step after the physics."""
        self._reset_worlds(bodies=self._on_cpu)
        if self._bodies_every:
            self._old_body |= self._fresh
        frame = self._build_frame()
        running = self.tasks.running(self._fresh)
        verdict = self.terminations(frame, self.goals, running)
        valid = running & ~frame.failed
        reward, terms = self.rewards(frame)
        reward = reward * valid
        counted = self.curriculum.at_frontier & frame.has_goal
        self.episode_metrics.add(frame, verdict, reward, terms, valid, counted)
        late = self.frame_builder.way_m < 0.5 * self.frame_builder.asked_m
        self._ended.copy_(self.tasks.end_episodes(frame, verdict, late))
        info = {
            "reason": verdict.reason,
            "success": verdict.success,
            "time_s": frame.steps * CONTROL_DT,
            "level": self.curriculum.level,
            "flat": frame.flat,
        }
        obs = self._observe(frame)
        return Step(obs, reward, verdict.terminated, verdict.truncated, valid, info)

    # --- its parts ------------------------------------------------------------------------------
    def _reset_worlds(self, bodies: bool) -> None:
        """Give fresh worlds a course, a newly randomised robot, a start and a command."""
        mask = self._fresh
        if self.known_empty(mask):
            return
        self.engine.assign(mask, self.tasks.choose_courses(mask))
        self._ground.select(self.engine.course_id)
        if self._randomises:
            given = self.rng.draw(self.cfg.random.ranges, self.robot)
            self.engine.randomise(mask, given, bodies=bodies)
        self.engine.reset(mask, self.starts.draw(self._ground.start_z, self._ground.run_up))
        self.tasks.set_commands(mask, self.commands)

    def _randomise_bodies(self) -> None:
        """Draw masses for episodes that began since the last call. It is called between the two
        recordings, so that the next observation already describes the new body."""
        given = self.rng.draw(self.cfg.random.ranges, self.robot)
        self.engine.randomise_bodies(self._old_body, given)
        self._old_body.zero_()

    def _push(self) -> None:
        if not self._push_share:
            return
        mask = (self.rng.uniform() < self._push_share) & ~self._fresh
        if not self.known_empty(mask):
            self.engine.push(mask, *self.rng.push(self.cfg.random.ranges))

    def _build_frame(self) -> Frame:
        state = self.engine.state
        self.heights.measure(self.engine.boxes, state)
        return self.frame_builder.frame(
            state,
            self.heights,
            self.goals,
            self.commands.value,
            self.commands.heading_rad,
            ~self.commands.free,
            self.curriculum.progress,
        )

    def _observe(self, frame: Frame) -> dict[str, Tensor]:
        """Compute the observation; fresh worlds have no past."""
        fresh = self._fresh
        if not self.known_empty(fresh):
            self.frame_builder.reset(fresh, self.engine.state)
            self._ended.masked_fill_(fresh, False)
        self.commands.advance(frame.heading_rad, self.curriculum.progress)
        command, engine = self.commands.value, self.engine
        now = Reading(
            frame, command, self.heights, engine.state, engine.drawn, engine.boxes, self.robot
        )
        return self.observations(now, fresh)

    def _add_images(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add images to `obs`, new ones every k steps; a fresh world gets its first at once."""
        camera, state, fresh = self.camera, self.engine.state, self._fresh
        if camera is None:
            return obs
        camera.track(state.base_pos, state.base_quat)
        if not self.known_empty(fresh):
            camera.reset(fresh, state.base_pos, state.base_quat)
        if int(self._count) % camera.cfg.every == 0:
            camera.capture(self._seen)
        elif not self.known_empty(fresh):
            camera.capture(self._seen, fresh)
        obs["depth_clean"], obs["depth_noisy"] = camera.frames
        return obs

    # --- metrics and checkpoints ----------------------------------------------------------------
    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Metrics by name since the last call, over the worlds of all processes, which must have
        equally many; this waits for the device."""
        metrics = self.episode_metrics.read(processes, self.engine.faults())
        return {**metrics, **self.tasks.metrics(processes)}

    def state_dict(self) -> dict[str, Tensor]:
        """All changing tensors by name: worlds can be saved in the middle of an episode."""
        state = {**self._live(), **join_states(engine=self.engine.state_dict())}
        if self.camera is not None:
            state |= join_states(camera=self.camera.state_dict())
        return {**state, "generator": self.rng.generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore exactly the worlds that gave this state; config and seed must be the same."""
        copy_into(self._live(), state)
        self.engine.load_state_dict(sub_state("engine/", state))
        self._ground.select(self.engine.course_id)
        if self.camera is not None:
            self.camera.load_state_dict(sub_state("camera/", state), self._seen)
        self.rng.generator.set_state(state["generator"].cpu())

    def _live(self) -> dict[str, Tensor]:
        """The tensors that this class writes in place."""
        parts = join_states(
            frame_builder=self.frame_builder.state_dict(),
            commands=self.commands.state_dict(),
            observations=self.observations.state_dict(),
            episode_metrics=self.episode_metrics.state_dict(),
        )
        mine = {"ended": self._ended, "old_body": self._old_body, "count": self._count}
        return {**parts, **self.tasks.state_dict(), **mine}

    # --- made once ------------------------------------------------------------------------------
