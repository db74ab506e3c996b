"""What a run can train: anything that iterates and whose state can be saved and restored."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor


class Trainable(Protocol):
    """The learner as a run sees it.

    Metrics are named by group: `success/box` (a share), `frontier/box`, `reward/lin_vel`,
    `ppo/kl`; `steps` counts all control steps so far. `guard/...` counts what went wrong in this
    iteration and was contained, in control steps of one world: `guard/diverged`, `guard/overflow`,
    `guard/contact_pool` (while the worlds' shared pool of contacts was full). A metric without
    data is left out: a value that is not finite is taken for a fault.
    """

    def iterate(self) -> Mapping[str, float]:
        """One training iteration; its metrics."""

    def plan(self, steps: float) -> None:
        """The run will have so many control steps in all, by its goals and its speed so far; told
        again when that changes. Schedules follow it."""

    def state_dict(self) -> dict[str, Tensor]:
        """Weights, optimiser, normalisers, curriculum, generators: all that changes."""

    def numbers(self) -> dict[str, Any]:
        """The same for what is no tensor, as JSON can hold it."""

    def load_state_dict(self, state: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the trainable that gave these; the tensors come on the CPU."""
