"""Holds recorded inputs and torch's answers to them, and replays them through a runtime.

A bundle carries a hundred steps or so: a robot can test, without torch, that its own onnxruntime
computes what was trained. Arrays are [steps, ...]; ticks have a row each.
"""

import io
import zipfile
from dataclasses import dataclass, fields

import numpy as np

from swap.errors import UserError

TOLERANCE = 1e-4
"""Of actions, and of h."""


@dataclass(frozen=True)
class Vectors:
    """Steps of one or several episodes, one after another."""

    fresh: np.ndarray  # [T] bool: an episode begins, nothing is remembered
    proprioception: np.ndarray  # [T, d]
    history: np.ndarray  # [T, H * d]
    command: np.ndarray  # [T, 3]
    depth: np.ndarray  # [ticks, rows, cols], prepared
    action: np.ndarray  # [T, joints], torch's answer
    h: np.ndarray  # [T, deter], torch's

    @property
    def steps(self) -> int:
        return len(self.fresh)

    def ticks(self, every: int) -> np.ndarray:
        """[T] bool: the world model ticks, first and then every so many steps of an episode."""
        due, since = np.zeros(self.steps, bool), 0
        for step, fresh in enumerate(self.fresh):
            since = 0 if fresh else since + 1
            due[step] = since % every == 0
        return due

    def head(self, steps: int, every: int) -> "Vectors":
        """The first of them."""
        short = {f.name: getattr(self, f.name)[:steps] for f in fields(self)}
        short["depth"] = self.depth[: int(self.ticks(every)[:steps].sum())]
        return Vectors(**short)


def pack(vectors: Vectors) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{f.name: getattr(vectors, f.name) for f in fields(vectors)})
    return file.getvalue()


def unpack(data: bytes) -> Vectors:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return Vectors(**{f.name: found[f.name] for f in fields(Vectors)})
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise UserError(f"the test vectors cannot be read ({error}); export it again") from None
