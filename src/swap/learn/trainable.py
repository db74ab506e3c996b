"""Defines what a run can train: anything that iterates and whose state can be saved and
restored."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor


class Trainable(Protocol):
    """The learner as a run sees it.

    Metrics are named by group: `success/box` (a share), `frontier/box`, `reward/lin_vel`,
    `ppo/kl`; `steps` counts all control steps so far. `guard/...` counts what went wrong in this
    iteration without stopping it, in control steps of one world: `guard/diverged`,
    `guard/overflow`, `guard/contact_pool` (while the worlds' shared pool of contacts was full). A
    metric without data is left out, because a value that is not finite counts as a fault.
    """

    def iterate(self) -> Mapping[str, float]:
        """Runs one training iteration and returns its metrics."""

    def plan(self, steps: float) -> None:
        """Sets how many control steps the run will have in all, judging by its goals and its speed
        so far. It is called again when that changes; schedules follow it."""

    def state_dict(self) -> dict[str, Tensor]:
        """Weights, optimiser, normalisers, curriculum, generators: all that changes."""

    def numbers(self) -> dict[str, Any]:
        """The rest of the state, which is not tensors, in a form that JSON can hold."""

    def load_state_dict(self, state: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Restores exactly the trainable that gave these; the tensors are on the CPU."""
