"""Joins, splits and overwrites named tensors, in place.

Tensors that last from one step to the next keep their storage and are written in place, so that
recordings can keep their addresses. Objects that can be saved have a `state_dict()`, like torch
modules: their tensors by name, not copied.
"""

from collections.abc import Mapping

from torch import Tensor

from swap.errors import UserError


class Buffers:
    """Tensors to save: a class inherits this and calls `super().__init__(action=..., steps=...)`.

    They are like the buffers of a torch module. This is no torch module, because there every access
    is a Python call, and a network among the attributes would be saved too.
    """

    def __init__(self, **tensors: Tensor) -> None:
        self._kept = tuple(tensors)
        for name, x in tensors.items():
            setattr(self, name, x)

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors by name, not copied."""
        return {name: getattr(self, name) for name in self._kept}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Overwrite the tensors in place."""
        copy_into(self.state_dict(), state)


def join_states(**parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Join several states into one, with names `part/name`."""
    return {f"{part}/{name}": x for part, own in parts.items() for name, x in own.items()}


def sub_state(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix`, with the prefix removed."""
    return {k.removeprefix(prefix): x for k, x in tensors.items() if k.startswith(prefix)}


def copy_into(live: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Copy the values saved under its name into every live tensor."""
    for name, x in live.items():
        if name not in saved:
            raise UserError(f"'{name}' is not among the saved tensors; was this another config?")
        if saved[name].shape != x.shape:
            raise UserError(
                f"'{name}' was saved as {list(saved[name].shape)}, now it is {list(x.shape)}; "
                "resume with the config of the run"
            )
        x.copy_(saved[name])
