"""Courses in, success or failure of one episode on each out: the environment for measuring.

Same physics, observations and ends as in training, but the course and the command of every world
are given, there is no curriculum, and a world whose episode has ended stands idle. Noise,
randomisation and scattered starts are those of the configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from swap.courses import Course
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.bank import CourseBank
from swap.env.cfg import EnvCfg
from swap.env.env import ParkourEnv, Step
from swap.env.frame import Frame
from swap.env.terminations import EndReason, Verdict
from swap.errors import UserError
from swap.sim import CONTROL_DT, EngineName
from swap.sim.randomise import Draw


@dataclass(frozen=True)
class TrialResults:
    """How each trial ended, [N]."""

    success: Tensor  # bool
    reason: Tensor  # long, an EndReason
    time_s: Tensor
    far_m: Tensor  # the largest x reached
    drawn: Draw  # friction, masses and motors, as they are until the next reset


class Trials(ParkourEnv):
    """`each` worlds on every course: world i has course i // each."""

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
    ) -> None:
        """`command`: forward m/s, left m/s, heading to hold in rad."""
        if not courses or each < 1:
            raise UserError(f"{len(courses)} courses, each={each}; give at least one trial")
        names = tuple(dict.fromkeys(course.family for course in courses))
        nothing = torch.zeros(len(names), 1, 1, dtype=torch.long)  # no levels, no variants
        bank = CourseBank(names, tuple(courses), nothing, nothing[..., 0].float())
        index = torch.tensor([names.index(course.family) for course in courses])
        self._course = torch.arange(len(courses)).repeat_interleave(each)
        self._command = command
        start = replace(cfg.start, run_up_skip=0.0)  # a trial has all of its run-up
        random = replace(cfg.random, bodies_every=0)  # and one body
        terminations = replace(cfg.terminations, episode_length_s=time_s)
        cfg = replace(cfg, terminations=terminations, start=start, random=random)
        self._setup(cfg, bank, index[self._course], engine, device, seed, capture)
        self._course = self._course.to(self.device)
        self._idle = torch.zeros_like(self._everyone)
        self._reason = torch.zeros(self.n, dtype=torch.long, device=self.device)
        self._steps = torch.zeros_like(self._reason)

    def reset(self) -> dict[str, Tensor]:
        """All trials begin."""
        self._idle.fill_(False)
        self._reason.zero_()
        return super().reset()

    def step(self, action: Tensor) -> Step:
        """As in training; in idle worlds the action is ignored and `valid` is False."""
        step = super().step(action.masked_fill(self._idle[:, None], 0))
        step = replace(step, valid=step.valid & ~self._idle, reward=step.reward * ~self._idle)
        self._idle |= step.terminated | step.truncated
        return step

    def outcome(self) -> TrialResults:
        """As far as it is known; `RUNNING` and no success where a trial goes on."""
        success = self._reason == int(EndReason.SUCCESS)
        far_m = self.frame_builder.best_x.clone()
        time_s = self._steps * CONTROL_DT
        return TrialResults(success, self._reason.clone(), time_s, far_m, self.engine.drawn)

    @property
    def ended(self) -> int:
        """How many trials are over; waits for the device."""
        return int(self._idle.sum())

    @property
    def finished(self) -> bool:
        """Whether all are over; waits for the device."""
        return self.ended == self.n

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """By family; there are no frontiers here."""
        return self.episode_metrics.read(processes)

    def _live(self) -> dict[str, Tensor]:
        mine = {"idle": self._idle, "reason": self._reason, "trial_steps": self._steps}
        return {**super()._live(), **mine}

    def _choose(self, mask: Tensor) -> Tensor:
        return self._course

    def _instruct(self, mask: Tensor) -> None:
        self.commands.hold(mask, self._command)

    def _check_terminations(self, frame: Frame) -> Verdict:
        return self.terminations(frame, self.goals, ~self._idle)

    def _conclude(self, frame: Frame, verdict: Verdict) -> None:
        """Nothing is reset: `_ended` stays empty."""
        torch.maximum(self._reason, verdict.reason, out=self._reason)
        torch.where(self._idle, self._steps, frame.steps, out=self._steps)
