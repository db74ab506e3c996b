"""One gradient step of a team: what each process finds on its samples in, what all found out.

Each process first finds the gradients and figures of its own samples. These are means over the
samples that count, so the mean over everybody's samples is the mean over processes, weighted by how
many samples each of them has. What is not finite anywhere is not finite in the sum, so that the
guard of every process sees it. In between the processes meet, which is not recorded: a step is two
recordings with a message between them. Alone, it is one.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from swap.capture import Captured
from swap.nn import RunningNorm
from swap.team import Team


class Found(NamedTuple):
    """What a gradient step rests on."""

    gradients: tuple[Tensor, ...]
    figures: dict[str, Tensor]
    """Scalars: means over the same samples."""
    weight: Tensor
    """Any shape; its sum says how many samples these are."""


def gradient_step(
    find: Callable[[], Found],
    move: Callable[[Found], None],
    team: Team,
    device: torch.device,
    *,
    capture: bool,
    before: Callable[[], None] | None = None,
) -> "Captured[None] | Together":
    """What `find` finds and `move` does with it, as one call. In a team, `before` comes first and
    may meet, too."""
    if team.alone:
        return Captured(lambda: move(find()), device, enabled=capture)
    return Together(find, move, team, device, capture=capture, before=before)


class Together:
    """Every process finds; then they meet; then all move alike."""

    def __init__(
        self,
        find: Callable[[], Found],
        move: Callable[[Found], None],
        team: Team,
        device: torch.device,
        *,
        capture: bool,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.find, self.move, self.team, self.before = find, move, team, before
        self._flat: Tensor | None = None
        self._put = Captured(self._find, device, enabled=capture)
        self._take = Captured(self._move, device, enabled=capture)
        self.enabled = self._put.enabled

    def __call__(self) -> None:
        if self.before is not None:
            self.before()
        self._put()
        assert self._flat is not None
        self.team.add_up(self._flat)
        self._take()

    def _find(self) -> None:
        found = self.find()
        several = [*found.gradients, *found.figures.values()]
        if self._flat is None:  # made in the first call, which is never the recorded one
            self._like = [torch.empty_like(x) for x in found.gradients]
            self._names = tuple(found.figures)
            self._flat = torch.empty(sum(x.numel() for x in several) + 1, device=several[0].device)
        with torch.no_grad():
            weight = found.weight.sum().to(self._flat.dtype)
            torch.cat([*(x.flatten() for x in several), weight[None]], out=self._flat)
            self._flat[:-1].mul_(weight)

    def _move(self) -> None:
        assert self._flat is not None
        weight = self._flat[-1]
        mean = self._flat[:-1] / weight.clamp(min=1)
        *parts, figures = mean.split([*(x.numel() for x in self._like), len(self._names)])
        gradients = tuple(part.view_as(x) for part, x in zip(parts, self._like, strict=True))
        self.move(Found(gradients, dict(zip(self._names, figures.unbind(), strict=True)), weight))


class Pooled:
    """Running statistics that each process gathers from its own worlds, until they are pooled."""

    def __init__(self, team: Team, *norms: RunningNorm) -> None:
        self.team, self.norms = team, norms
        self.begin()

    def begin(self) -> None:
        """What the normalisers hold now is known to all."""
        if not self.team.alone:
            self._common = [norm.sums() for norm in self.norms]

    def pool(self) -> None:
        """From here on all hold what all have gathered."""
        if self.team.alone:
            return
        pairs = zip(self.norms, self._common, strict=True)
        news = self.team.total(*(norm.sums() - common for norm, common in pairs))
        for norm, common, new in zip(self.norms, self._common, news, strict=True):
            norm.take_sums(common + new)
        self.begin()
