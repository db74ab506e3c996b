"""Actions in, observations, rewards and ends of episodes out, for N robots at once.

Worlds are reset one step late. When an episode ends at step t, the observation returned at t is
its true last one: the value beyond a time limit is the value of the next observation, and nothing
needs to be carried along. At step t + 1 that world's action is ignored. It is reset inside the
step, after the physics; the observation returned is the first of the new episode, the reward is 0
and `valid` is False: from the last observation to the first there is no transition, and nothing is
to be learned from it. One step an episode is lost, and sensors run once a step for everyone.

    step t      obs: last of the episode   terminated or truncated   valid
    step t + 1  obs: first of the next     neither, reward 0         not valid
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from swap.courses import Course
from swap.device.cuda_graph import GraphedCallable
from swap.device.threads import one_thread
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.bank import CourseBank, StartsAndGoals, assign_families, build_bank
from swap.env.cfg import EnvCfg
from swap.env.commands import Commands
from swap.env.curriculum import Curriculum
from swap.env.frame import Frame, FrameBuilder
from swap.env.heights import Heights
from swap.env.metrics import EpisodeMetrics
from swap.env.observation_terms import Reading
from swap.env.observations import Observations
from swap.env.random_source import RandomSource
from swap.env.rewards import Rewards
from swap.env.starts import Starts
from swap.env.terminations import EndReason, Terminations, Verdict
from swap.env_spec import EnvSpec
from swap.errors import UserError
from swap.sensors import DepthCamera
from swap.sim import BODY_PARTS, CONTROL_DT, FIXED, EngineName, make_engine
from swap.state_dict import copy_into, join_states, sub_state
from swap.symmetry import Layout

if TYPE_CHECKING:
    from swap.env.trials import Trials


@dataclass(frozen=True)
class Step:
    """What one control step gives, [N] each. The next step writes over it: copy what is to last."""

    obs: dict[str, Tensor]
    """By group name."""
    reward: Tensor
    terminated: Tensor  # bool: failure; the value beyond is 0
    truncated: Tensor  # bool: time limit, success, ...; the value beyond is that of `obs`
    valid: Tensor  # bool: False where the transition is none (see the top of this file)
    info: dict[str, Tensor]


class ParkourEnv:
    """`n` worlds, each on a course of its family, at a level that follows its successes."""

    def __init__(
        self,
        cfg: EnvCfg,
        n: int,
        *,
        engine: EngineName = "cpu",
        device: str = "cpu",
        seed: int = 0,
        capture: bool = True,
    ) -> None:
        """`capture`: on CUDA, record what a step does around the physics and replay it in two
        launches; False launches kernel by kernel, for debugging."""
        names = [name for name, _ in cfg.families]
        bank = build_bank(
            names, cfg.levels, cfg.variants, cfg.mirror_half, seed, cfg.max_difficulty
        )
        family = assign_families([share for _, share in cfg.families], n)
        self._setup(cfg, bank, family, engine, device, seed, capture)

    @staticmethod
    def trials(cfg: EnvCfg, courses: Sequence[Course], **options: Any) -> "Trials":
        """One episode on each of these courses, for measuring: see `swap.env.trials.Trials`."""
        from swap.env.trials import Trials

        return Trials(cfg, courses, **options)

    def _setup(
        self,
        cfg: EnvCfg,
        bank: CourseBank,
        family: Tensor,
        engine: EngineName,
        device: str,
        seed: int,
        capture: bool = True,
    ) -> None:
        if engine == "cpu" and device != "cpu":
            raise UserError(f"engine cpu runs on device cpu, not {device}; use engine gpu")
        self.cfg, self.n = cfg, len(family)
        self.robot = cfg.load_robot()
        self.spaces = cfg.spaces
        self.engine = make_engine(
            *(engine, self.robot, bank.courses, self.n, device),
            slots=bank.slots,
            contacts=cfg.contacts,
            contact_rows=cfg.contact_rows,
        )
        self.device = place = self.engine.device
        self.rng = self._make_rng(seed)
        self.families, self.family = bank.families, family.to(place)
        self._table, self._sizes = bank.table.to(place), bank.sizes.to(place)
        self._is_flat = torch.tensor([f == "flat" for f in bank.families]).to(place)[self.family]
        self._ground = StartsAndGoals(bank, self.n, place, cfg.start.run_up_skip > 0)
        self.goals = self._ground.goals
        self._pose = torch.tensor(self.robot.default_pose).to(place)
        # On a GPU new masses cost hundreds of launches, and answers would have to be waited for.
        self._on_cpu = engine == "cpu"
        ranges = cfg.random.ranges
        self._varies = ranges != FIXED
        ranging = any(low < high for low, high in (getattr(ranges, x) for x in BODY_PARTS))
        self._bodies_every = cfg.random.bodies_every if ranging and not self._on_cpu else 0
        self._push_share = CONTROL_DT / every if (every := cfg.random.push_every_s) else 0.0

        self.heights = Heights(self.spaces.heights, len(self.robot.legs), self.n, bank.slots, place)
        self.camera = (
            DepthCamera(cfg.camera, self.robot.camera, self.n, bank.slots, place, seed=seed)
            if cfg.camera
            else None
        )
        self.curriculum = Curriculum(cfg.curriculum, bank.levels, self.rng)
        self.commands = Commands(cfg.commands, self.rng, self.known_empty)
        self.frame_builder = FrameBuilder(
            self.robot, self.heights, cfg.terminations.stall_m, self.known_empty
        )
        self.rewards = Rewards(cfg.rewards.preset, dict(cfg.rewards.weights), place)
        self.terminations = Terminations(cfg.terminations, self.robot)
        self.observations = Observations(cfg.noise, self.robot, self.spaces, self.rng)
        self.starts = Starts(cfg.start, self.robot, self.rng)
        self.episode_metrics = EpisodeMetrics(
            bank.families, self.family, self.rewards.names, self.known_empty
        )
        self._everyone = torch.ones(self.n, dtype=torch.bool, device=place)
        self._ended, self._fresh = self._everyone.clone(), self._everyone.clone()
        self._old_body = torch.zeros_like(self._everyone)  # in a new episode
        self._action = torch.zeros_like(self.frame_builder.action)
        self._targets = torch.zeros_like(self.frame_builder.action)
        self._count = 0
        luck = (self.rng.generator,)
        self._act = GraphedCallable(self._acting, place, enabled=capture, generators=luck)
        self._react = GraphedCallable(self._reacting, place, enabled=capture, generators=luck)

    @property
    def groups(self) -> dict[str, Layout]:
        """The layout of every observation group; depth images, [N, rows, cols], have none."""
        return self.observations.groups

    @property
    def spec(self) -> EnvSpec:
        """What networks for it must know."""
        return self.cfg.spec

    def known_empty(self, mask: Tensor) -> bool:
        """Whether `mask` [N] is empty, where that can be known without waiting for the device;
        elsewhere False, and the work is done for an empty mask."""
        return self._on_cpu and not mask.any()

    # --- the loop -------------------------------------------------------------------------------
    def reset(self) -> dict[str, Tensor]:
        """Every world begins an episode."""
        self._count = 0
        self._fresh.fill_(True)
        self._old_body.zero_()
        with one_thread(self._on_cpu):
            self._begin(bodies=True)
            self.frame_builder.act(torch.zeros_like(self.frame_builder.action))
            return self._photograph(self._finish(self._look()))

    def step(self, action: Tensor) -> Step:
        """One control step with `action` [N, 12]: joint targets around the default pose."""
        with one_thread(self._on_cpu):
            self._action.copy_(action.detach())
            self._act()
            self.engine.step(self._targets)
            self._count += 1
            if self._bodies_every and self._count % self._bodies_every == 0:
                self._renew_bodies()
            step = self._react()
            self._photograph(step.obs)
            return step

    def _acting(self) -> None:
        """What comes before the physics. This and `_reacting` are recorded on a GPU: all they read
        and write from one step to the next stays in place."""
        self._fresh.copy_(self._ended)
        limit = self.cfg.action_clip
        action = self._action.clamp(-limit, limit).masked_fill_(self._fresh[:, None], 0)
        self._push()
        self.frame_builder.act(action)
        torch.add(self._pose, self.robot.action_scale * action, out=self._targets)

    def _reacting(self) -> Step:
        """What comes after it."""
        self._begin(bodies=self._on_cpu)
        if self._bodies_every:
            self._old_body |= self._fresh
        frame = self._look()
        verdict = self._check_terminations(frame)
        valid = ~(self._fresh | frame.failed)
        reward, terms = self.rewards(frame)
        reward = reward * valid
        counted = self.curriculum.at_frontier & frame.course
        self.episode_metrics.add(frame, verdict, reward, terms, valid, counted)
        self._conclude(frame, verdict)
        info = {
            "reason": verdict.reason,
            "success": verdict.success,
            "time_s": frame.steps * CONTROL_DT,
            "level": self.curriculum.level,
            "flat": frame.flat,
        }
        obs = self._finish(frame)
        return Step(obs, reward, verdict.terminated, verdict.truncated, valid, info)

    # --- its parts ------------------------------------------------------------------------------
    def _begin(self, bodies: bool) -> None:
        """Fresh worlds get a course, a robot of their own, a start and a command."""
        mask = self._fresh
        if self.known_empty(mask):
            return
        self.engine.assign(mask, self._choose(mask))
        self._ground.select(self.engine.course_id)
        if self._varies:
            given = self.rng.draw(self.cfg.random.ranges, self.robot)
            self.engine.randomise(mask, given, bodies=bodies)
        self.engine.reset(mask, self.starts.draw(self._ground.start_z, self._ground.run_up))
        self._instruct(mask)

    def _renew_bodies(self) -> None:
        """Episodes that began since the last time get masses of their own. Here, between the two
        recordings, the observation still to come tells of the body that acts next."""
        given = self.rng.draw(self.cfg.random.ranges, self.robot)
        self.engine.renew_bodies(self._old_body, given)
        self._old_body.zero_()

    def _choose(self, mask: Tensor) -> Tensor:
        """A course for each world [N] long; those in `mask` take it."""
        self.curriculum.draw(mask)
        variants = self._table.shape[2]
        variant = (self.rng.uniform() * variants).long()
        return self._table[self.family, self.curriculum.level, variant]

    def _instruct(self, mask: Tensor) -> None:
        self.commands.start(mask, self._is_flat)

    def _push(self) -> None:
        if not self._push_share:
            return
        mask = (self.rng.uniform() < self._push_share) & ~self._fresh
        if not self.known_empty(mask):
            self.engine.push(mask, *self.rng.push(self.cfg.random.ranges))

    def _look(self) -> Frame:
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

    def _check_terminations(self, frame: Frame) -> Verdict:
        return self.terminations(frame, self.goals, ~self._fresh)

    def _conclude(self, frame: Frame, verdict: Verdict) -> None:
        """What ends of episodes mean for the levels to come."""
        slow = (verdict.reason == int(EndReason.TIME)) & (
            self.frame_builder.best_x
            < 0.5 * self.frame_builder.asked_m  # out of time by its own fault
        )
        failure = verdict.terminated | slow
        self.curriculum.update(verdict.success & frame.course, failure & frame.course)
        self._ended.copy_(verdict.ended)

    def _finish(self, frame: Frame) -> dict[str, Tensor]:
        """The observation; fresh worlds have no past."""
        fresh = self._fresh
        if not self.known_empty(fresh):
            self.frame_builder.reset(fresh, self.engine.state)
            self._ended.masked_fill_(fresh, False)
        self.commands.advance(frame.heading_rad, self.curriculum.progress)
        told, engine = self.commands.value, self.engine
        now = Reading(
            frame, told, self.heights, engine.state, engine.drawn, engine.boxes, self.robot
        )
        return self.observations(now, fresh)

    def _photograph(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """`obs` with images, new every k steps; a fresh world gets its first at once."""
        camera, state, fresh = self.camera, self.engine.state, self._fresh
        if camera is None:
            return obs
        camera.track(state.base_pos, state.base_quat)
        if not self.known_empty(fresh):
            camera.reset(fresh, state.base_pos, state.base_quat)
        if self._count % camera.cfg.every == 0:
            camera.capture(self.engine.boxes)
        elif not self.known_empty(fresh):
            camera.capture(self.engine.boxes, fresh)
        obs["depth_clean"], obs["depth_noisy"] = camera.frames
        return obs

    # --- figures and checkpoints ----------------------------------------------------------------
    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Figures since the last call, by name; waits for the device. Frontiers are mean sizes in
        each family's own unit. With several processes, over the worlds of
        all, of which each has equally many.
        """
        told = self.episode_metrics.read(processes, self.engine.faults())
        level = self.curriculum.frontier.clamp(max=self.curriculum.levels - 1)
        size = self._sizes[self.family, level]
        for k, name in enumerate(self.families):
            mine = self.family == k
            if mine.any():
                means = size[mine].mean(), self.curriculum.frontier[mine].float().mean()
                for what, x in zip(
                    ("frontier", "level"), processes.all_reduce(*means), strict=True
                ):
                    told[f"{what}/{name}"] = float(x) / processes.size
        return told

    def tensors(self) -> dict[str, Tensor]:
        """All that changes, by name: the worlds can be put away in the middle of an episode."""
        out = {**self._live(), **join_states(engine=self.engine.tensors())}
        if self.camera is not None:
            out |= join_states(camera=self.camera.tensors())
        return {**out, "generator": self.rng.generator.get_state()}

    def numbers(self) -> dict[str, Any]:
        """The same for what is no tensor."""
        return {"count": self._count}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the worlds that gave these, their config and seed being the same."""
        copy_into(self._live(), tensors)
        self.engine.restore(sub_state("engine/", tensors))
        self._ground.select(self.engine.course_id)
        if self.camera is not None:
            self.camera.restore(sub_state("camera/", tensors), self.engine.boxes)
        self.rng.generator.set_state(tensors["generator"].cpu())
        self._count = numbers["count"]

    def _live(self) -> dict[str, Tensor]:
        """What is written in place here."""
        parts = join_states(
            frame_builder=self.frame_builder.tensors(),
            commands=self.commands.tensors(),
            curriculum=self.curriculum.tensors(),
            observations=self.observations.tensors(),
            episode_metrics=self.episode_metrics.tensors(),
        )
        return {**parts, "ended": self._ended, "old_body": self._old_body}

    # --- made once ------------------------------------------------------------------------------
    def _make_rng(self, seed: int) -> RandomSource:
        return RandomSource(self.n, self.device, seed)
