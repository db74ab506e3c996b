"""Says how an image or a height map mirrors."""

from dataclasses import dataclass

from swap.symmetry.rep import Rep, flip, trivial


@dataclass(frozen=True)
class Grid:
    """A grid of heights or pixels: rows run forward (or down), columns from left to right."""

    rows: int
    cols: int

    @property
    def rep(self) -> Rep:
        return trivial(self.rows) @ flip(self.cols)
