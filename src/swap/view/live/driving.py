"""Lets a person drive the robot: commands come from outside, and nothing ends the episode."""

from dataclasses import dataclass

import torch
from torch import Tensor

from swap.env.commands import Commands
from swap.env.env import ParkourEnv
from swap.env.frame import Frame
from swap.env.terminations import Verdict
from swap.env.trials import FixedTasks
from swap.errors import UserError
from swap.validate import check_numbers

FORWARD_MPS = (-0.5, 3.0)
LEFT_MPS = 0.6
TURN_RPS = 1.0
"""Commands that robots are trained with, at most."""


@dataclass(frozen=True)
class VelocityCommand:
    """A velocity command."""

    forward_mps: float = 0.0
    left_mps: float = 0.0
    turn_rps: float = 0.0
    """To the left. At 0 the robot is to hold the heading that it has."""

    def __post_init__(self) -> None:
        check_numbers(self, "command.")

        low, high = FORWARD_MPS
        inside = low <= self.forward_mps <= high and abs(self.left_mps) <= LEFT_MPS
        if not inside or abs(self.turn_rps) > TURN_RPS:
            raise UserError(
                f"a command of {self.forward_mps:g} m/s ahead, {self.left_mps:g} m/s to the left "
                f"and {self.turn_rps:g} rad/s; use {low:g} to {high:g}, at most {LEFT_MPS:g}, and "
                f"at most {TURN_RPS:g}"
            )

    def more(self, forward_mps: float, left_mps: float, turn_rps: float) -> "VelocityCommand":
        """The command changed by this much, as far as robots are trained."""
        low, high = FORWARD_MPS
        forward, left = self.forward_mps + forward_mps, self.left_mps + left_mps
        turn = self.turn_rps + turn_rps
        return VelocityCommand(
            forward_mps=round(min(max(forward, low), high), 6),
            left_mps=round(min(max(left, -LEFT_MPS), LEFT_MPS), 6),
            turn_rps=round(min(max(turn, -TURN_RPS), TURN_RPS), 6),
        )


class DrivenCommands(Commands):
    """Gives the first world one command, and a second world its mirror image."""

    def __init__(self, env: ParkourEnv) -> None:
        super().__init__(env.commands.cfg, env.rng, env.known_empty)
        self._turn = torch.zeros(env.n)
        self._sides = torch.tensor([1.0, -1.0])[: env.n]

    def drive(self, command: VelocityCommand, heading_rad: Tensor) -> None:
        """Holds this command from now on; `heading_rad` [N] are the present headings."""
        turns = command.turn_rps * self._sides
        # When it stops turning, it holds the heading that it has then.
        let_go = (turns == 0) & (self._turn != 0)
        torch.where(let_go, heading_rad, self.heading_rad, out=self.heading_rad)
        self._turn.copy_(turns)
        self.value[:, 0] = command.forward_mps
        self.value[:, 1] = command.left_mps * self._sides
        self.stands.fill_(command == VelocityCommand())

    def steer(self, heading_rad: Tensor) -> None:
        super().steer(heading_rad)
        torch.where(self._turn != 0, self._turn, self.value[:, 2], out=self.value[:, 2])


class DrivenTasks(FixedTasks):
    """Lets an episode go on whatever happens; `reason` [N] keeps how it would have ended first."""

    def running(self, fresh: Tensor) -> Tensor:
        return torch.ones_like(self.idle)

    def end_episodes(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        first = ~self.idle & verdict.ended
        torch.where(first, verdict.reason, self.reason, out=self.reason)
        self._end(frame, verdict)
        return torch.zeros_like(self.idle)
