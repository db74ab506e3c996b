"""Joins, splits and fills tensors by name, in place.

Whatever lives from one step to the next stays where it was made and is written in place, so that
recordings keep their addresses. What can be put away has a `state_dict()`, as torch's modules have:
its tensors by name, live.
"""

from collections.abc import Mapping

from torch import Tensor

from swap.errors import UserError


class Buffers:
    """Tensors that are kept: a class inherits and says `super().__init__(action=..., steps=...)`.

    Like the buffers of a torch module. It is none: there every reading of one is a Python call, and
    a network among the attributes would be kept with them.
    """

    def __init__(self, **tensors: Tensor) -> None:
        self._kept = tuple(tensors)
        for name, x in tensors.items():
            setattr(self, name, x)

    def state_dict(self) -> dict[str, Tensor]:
        """Live, by name."""
        return {name: getattr(self, name) for name in self._kept}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """In place."""
        copy_into(self.state_dict(), state)


def join_states(**parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of them together, as `part/name`."""
    return {f"{part}/{name}": x for part, own in parts.items() for name, x in own.items()}


def sub_state(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin with `prefix`, without it."""
    return {k.removeprefix(prefix): x for k, x in tensors.items() if k.startswith(prefix)}


def copy_into(live: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Every live tensor takes the values that were saved under its name."""
    for name, x in live.items():
        if name not in saved:
            raise UserError(f"'{name}' is not among the saved tensors; was this another config?")
        if saved[name].shape != x.shape:
            raise UserError(
                f"'{name}' was saved as {list(saved[name].shape)}, now it is {list(x.shape)}; "
                "resume with the config of the run"
            )
        x.copy_(saved[name])
