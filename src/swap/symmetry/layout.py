"""Names the fields of a tensor and says how each mirrors: `obs[..., layout["joint_pos"]]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from swap.errors import UserError, unknown
from swap.symmetry.rep import Rep, trivial


@dataclass(frozen=True)
class Field:
    """One named quantity; its Rep gives both its width and how it mirrors."""

    name: str
    rep: Rep
    symbol: str = ""
    """The paper's symbol."""
    doc: str = ""
    """What it is, with its unit."""

    @property
    def dim(self) -> int:
        return self.rep.dim


@dataclass(frozen=True)
class Layout:
    """Fields in order; the whole vector mirrors by the direct sum of their Reps."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"field '{name}' occurs twice in one layout; rename one of them")

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self._slices

    def __getitem__(self, name: str) -> slice:
        """The slice of the last axis that holds the field."""
        if name not in self._slices:
            raise unknown("field", name, self._slices)
        return self._slices[name]

    def __add__(self, other: "Layout") -> "Layout":
        return Layout(self.fields + other.fields)

    @property
    def dim(self) -> int:
        return sum(field.dim for field in self.fields)

    @cached_property
    def rep(self) -> Rep:
        total = trivial(0)
        for field in self.fields:
            total = total + field.rep
        return total

    @cached_property
    def _slices(self) -> dict[str, slice]:
        slices, start = {}, 0
        for field in self.fields:
            slices[field.name] = slice(start, start + field.dim)
            start += field.dim
        return slices

    def repeat(self, times: int, name: str) -> "Layout":
        """Repeat the fields `times` times, named `name0.field`, `name1.field`, ..."""
        return Layout(
            tuple(
                Field(f"{name}{k}.{field.name}", field.rep, field.symbol, field.doc)
                for k in range(times)
                for field in self.fields
            )
        )

    @staticmethod
    def side_by_side(groups: "Mapping[str, Layout]") -> "Layout":
        """Join layouts into one with fields named `group.field`; a single one keeps its names."""
        if len(groups) == 1:
            return next(iter(groups.values()))
        return Layout(
            tuple(
                Field(f"{group}.{field.name}", field.rep, field.symbol, field.doc)
                for group, layout in groups.items()
                for field in layout
            )
        )

    def pack(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Join named tensors into one, in this layout's order, and check each width."""
        for name in parts:
            if name not in self:
                raise unknown("field", name, self._slices)
        for field in self.fields:
            if field.name not in parts:
                raise UserError(f"field '{field.name}' is missing; pass all of {self.names}")
            if parts[field.name].shape[-1] != field.dim:
                width = parts[field.name].shape[-1]
                raise UserError(
                    f"field '{field.name}' has {field.dim} entries, got {width}; "
                    f"pass a tensor [..., {field.dim}]"
                )
        return torch.cat([parts[field.name] for field in self.fields], -1)

    def unpack(self, x: Tensor) -> dict[str, Tensor]:
        """Split one tensor into its named parts, as views."""
        if x.shape[-1] != self.dim:
            raise UserError(
                f"this layout has {self.dim} entries, the tensor's last axis {x.shape[-1]}; "
                f"pass a tensor [..., {self.dim}]"
            )
        return {field.name: x[..., self[field.name]] for field in self.fields}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._slices)
