"""The environment for evaluation: one episode on each given course, which succeeds or fails.

Physics, observations and terminations are those of training, but the course and the command of
every world are given, there is no curriculum, and a world whose episode has ended stands idle.
Noise, randomisation and random starts are those of the configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from swap.courses import Boxes, Course, stack
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.bank import CourseBank
from swap.env.cfg import CurriculumCfg, EnvCfg
from swap.env.commands import Commands
from swap.env.curriculum import Curriculum
from swap.env.env import ParkourEnv
from swap.env.frame import Frame
from swap.env.random_source import RandomSource
from swap.env.terminations import EndReason, Verdict
from swap.errors import UserError
from swap.sim import CONTROL_DT, Draw, EngineName, engine_device
from swap.state_dict import join_states


@dataclass(frozen=True)
class TrialResults:
    """How each trial ended, [N]."""

    success: Tensor  # bool
    reason: Tensor  # long, an EndReason
    time_s: Tensor
    far_m: Tensor  # the largest x reached
    drawn: Draw  # friction, masses and motors, as they are until the next reset


class FixedTasks:
    """The tasks of evaluation (see `swap.env.tasks.Tasks`): `each` worlds on every course, all with
    one command; world i has course i // each. No world begins a second episode by itself."""

    def __init__(
        self,
        cfg: CurriculumCfg,
        courses: Sequence[Course],
        each: int,
        command: tuple[float, float, float],
        rng: RandomSource,
    ) -> None:
        names = tuple(dict.fromkeys(course.family for course in courses))
        nothing = torch.zeros(len(names), 1, 1, dtype=torch.long)  # no levels, no variants
        self.bank = CourseBank(names, tuple(courses), nothing, nothing[..., 0].float())
        index = torch.tensor([names.index(course.family) for course in courses]).to(rng.device)
        self._course = torch.arange(len(courses), device=rng.device).repeat_interleave(each)
        self.family = index[self._course]
        self._command = command
        self.curriculum = Curriculum(cfg, self.bank.levels, rng)  # it has one level and never moves
        self.idle = torch.zeros_like(self.family, dtype=torch.bool)
        """[N]: the trial is over."""
        self.reason = torch.zeros_like(self.family)
        """[N]: why it ended, an EndReason."""
        self.steps = torch.zeros_like(self.family)
        """[N]: how many it took."""
        self.far_x = torch.zeros_like(self.family, dtype=torch.float32)
        """[N]: the largest x of the base until it ended."""

    def choose_courses(self, mask: Tensor) -> Tensor:
        self.idle.masked_fill_(mask, False)
        self.reason.masked_fill_(mask, int(EndReason.RUNNING))
        self.far_x.masked_fill_(mask, -torch.inf)
        return self._course

    def set_commands(self, mask: Tensor, commands: Commands) -> None:
        commands.hold(mask, self._command)

    def running(self, fresh: Tensor) -> Tensor:
        return ~self.idle

    def end_episodes(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        torch.maximum(self.reason, verdict.reason, out=self.reason)
        self._end(frame, verdict)
        return torch.zeros_like(self.idle)

    def _end(self, frame: Frame, verdict: Verdict) -> None:
        """Notes how long and how far each trial went until it ended."""
        farther = torch.maximum(self.far_x, frame.base_pos[:, 0])
        torch.where(self.idle, self.far_x, farther, out=self.far_x)
        torch.where(self.idle, self.steps, frame.steps, out=self.steps)
        self.idle |= verdict.ended

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        mine = {"idle": self.idle, "reason": self.reason}
        mine |= {"trial_steps": self.steps, "trial_far_x": self.far_x}
        return {**join_states(curriculum=self.curriculum.state_dict()), **mine}


class Trials(ParkourEnv):
    """`each` worlds on every course: world i has course i // each. Where a trial is over, the
    action is ignored, and a step has reward 0 and is not `valid`."""

    def __init__(
        self,
        cfg: EnvCfg,
        courses: Sequence[Course],
        *,
        each: int = 1,
        command: tuple[float, float, float] = (1.0, 0.0, 0.0),
        time_s: float = 20.0,
        engine: EngineName = "cpu",
        device: str = "cpu",
        seed: int = 0,
        capture: bool = True,
        rng: RandomSource | None = None,
        seen: Sequence[Course] | None = None,
    ) -> None:
        """`command`: forward m/s, left m/s, heading to hold in rad. `seen`: what the cameras see
        instead of each course."""
        if not courses or each < 1:
            raise UserError(f"{len(courses)} courses, each={each}; give at least one trial")
        start = replace(cfg.start, run_up_skip=0.0)  # a trial keeps its whole run-up
        random = replace(cfg.random, bodies_every=0)  # and one body
        terminations = replace(cfg.terminations, episode_length_s=time_s)
        cfg = replace(cfg, terminations=terminations, start=start, random=random)
        n = len(courses) * each
        rng = rng or RandomSource(n, engine_device(engine, device), seed)
        self.trials = FixedTasks(cfg.curriculum, courses, each, command, rng)
        super().__init__(
            cfg,
            n,
            engine=engine,
            device=device,
            seed=seed,
            capture=capture,
            rng=rng,
            tasks=self.trials,
            seen=None if seen is None else _boxes(seen, each, rng.device),
        )

    def outcome(self) -> TrialResults:
        """The results so far; trials that still run have `RUNNING` and no success."""
        reason = self.trials.reason.clone()
        success, time_s = reason == int(EndReason.SUCCESS), self.trials.steps * CONTROL_DT
        far_m = torch.maximum(self.trials.far_x, self.frame_builder.first_x)
        return TrialResults(success, reason, time_s, far_m, self.engine.drawn)

    @property
    def ended(self) -> int:
        """How many trials are over; this waits for the device."""
        return int(self.trials.idle.sum())

    @property
    def finished(self) -> bool:
        """Whether all trials are over; this waits for the device."""
        return self.ended == self.n


def _boxes(courses: Sequence[Course], each: int, device: torch.device) -> Boxes:
    every = [course for course in courses for _ in range(each)]
    return stack(every, max(course.n for course in every), str(device))
