"""Measures the three height maps with as few rays as they need.

The terrain map and the body map are the same grid, shifted against each other. One strip that
covers both is measured, and each map is a range of its rows.
"""

from torch import Tensor

from swap.courses import Boxes
from swap.errors import UserError
from swap.sensors import HeightCfg, HeightMaps, Patch
from swap.sim import State
from swap.symmetry import Grid


class Heights:
    """`terrain` [N, 187], `body` [N, 286], `foot` [N, 100]: views of `out`, with fixed storage."""

    def __init__(self, cfg: HeightCfg, feet: int, n: int, slots: int, device: object) -> None:
        self.cfg = cfg
        strip, self._terrain, self._body = _join(cfg.terrain, cfg.body)
        nothing = Patch(Grid(0, strip.grid.cols), strip.back_m, strip.spacing_m, strip.clip_m)
        joined = HeightCfg(terrain=strip, body=nothing, foot=cfg.foot)
        self._maps = HeightMaps(joined, feet, n, slots, str(device))
        self._foot = slice(len(strip.points), None)
        self.out = self._maps.out

    def measure(self, boxes: Boxes, state: State) -> None:
        self._maps(boxes, state.base_pos, state.base_quat, state.foot_pos)

    @property
    def terrain(self) -> Tensor:
        return self.out[:, self._terrain]

    @property
    def body(self) -> Tensor:
        return self.out[:, self._body]

    @property
    def foot(self) -> Tensor:
        return self.out[:, self._foot]


def _join(a: Patch, b: Patch) -> tuple[Patch, slice, slice]:
    """The strip of rows that covers both maps, and the place of each in it."""
    shifts = [(patch.back_m - min(a.back_m, b.back_m)) / a.spacing_m for patch in (a, b)]
    same = (a.spacing_m, a.clip_m, a.grid.cols) == (b.spacing_m, b.clip_m, b.grid.cols)
    if not same or any(abs(shift - round(shift)) > 1e-6 for shift in shifts):
        raise UserError(
            f"terrain map {a} and body map {b} are not one grid; give them one spacing, clip and "
            "width, and backs that differ by whole rows"
        )
    first, second = (round(shift) for shift in shifts)
    cols = a.grid.cols
    rows = max(first + a.grid.rows, second + b.grid.rows)
    strip = Patch(Grid(rows, cols), min(a.back_m, b.back_m), a.spacing_m, a.clip_m)
    at = [slice(k * cols, k * cols + len(p.points)) for k, p in ((first, a), (second, b))]
    return strip, at[0], at[1]
