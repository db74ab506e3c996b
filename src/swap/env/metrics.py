"""Sums metrics over steps and episodes, on the device until they are read."""

from collections.abc import Callable

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.frame import Frame
from swap.env.terminations import EndReason, Verdict
from swap.sim import CONTROL_DT
from swap.state_dict import Buffers


class EpisodeMetrics(Buffers):
    """Running sums since the last `read`."""

    terms: Tensor
    """[T]: sums of the reward terms."""
    sums: Tensor
    """[4]: reward, valid steps, speed, speed error."""
    ends: Tensor
    """[F, E]: episodes by family and reason."""
    at_frontier: Tensor
    """[F, 2]: episodes and successes among those that can move the frontier."""
    steps: Tensor
    """Control steps of the episodes that ended."""

    def __init__(
        self,
        families: tuple[str, ...],
        family: Tensor,
        terms: tuple[str, ...],
        known_empty: Callable[[Tensor], bool],
    ) -> None:
        """`known_empty` returns True if it knows that a mask is empty; work is then skipped."""
        device = family.device
        super().__init__(
            terms=torch.zeros(len(terms), device=device),
            sums=torch.zeros(4, device=device),
            ends=torch.zeros(len(families), len(EndReason), device=device),
            at_frontier=torch.zeros(len(families), 2, device=device),
            steps=torch.zeros((), device=device),
        )
        self._known_empty = known_empty
        self._families, self._family, self._names = families, family, terms
        # A matrix product counts by family, which adds in the same order every time.
        self._member = torch.nn.functional.one_hot(family, len(families)).T.float()  # [F, N]
        self._code = torch.arange(len(EndReason), device=device)

    def add(
        self,
        frame: Frame,
        verdict: Verdict,
        reward: Tensor,
        terms: Tensor,
        valid: Tensor,
        counted: Tensor,
    ) -> None:
        """Add one control step; `terms` are [T, N], the others [N]. `counted` marks episodes that
        can move the frontier when they end."""
        weight, ended = valid.float(), verdict.ended
        self.terms += terms @ weight
        speed = frame.lin_vel_b[:, 0]
        error = (speed - frame.command[:, 0]).abs()
        self.sums += torch.stack([reward, weight, speed, error]) @ weight
        if self._known_empty(ended):
            return
        reasons = (verdict.reason[:, None] == self._code) & ended[:, None]  # [N, E]
        at_frontier = torch.stack([ended & counted, verdict.success & counted], 1)
        counts = self._member @ torch.cat([reasons, at_frontier], 1).float()
        self.ends += counts[:, : len(EndReason)]
        self.at_frontier += counts[:, len(EndReason) :]
        self.steps += (frame.steps * ended).sum()

    def read(
        self, processes: ProcessGroup = SINGLE_PROCESS, faults: Tensor | None = None
    ) -> dict[str, float]:
        """Means since the last call, over the worlds of all processes; metrics without data are
        left out. This waits for the device. `faults` [3] come from `Engine.faults`."""
        sums = self.state_dict() | ({} if faults is None else {"faults": faults})
        every = dict(zip(sums, processes.all_reduce(*sums.values()), strict=True))
        reward, valid, speed, error = every["sums"].tolist()
        ends, pairs = every["ends"].tolist(), every["at_frontier"].tolist()
        metrics: dict[str, float | None] = {
            "reward/step": _ratio(reward, valid),
            "speed_mps": _ratio(speed, valid),
            "speed_error_mps": _ratio(error, valid),
        }
        for name, total in zip(self._names, every["terms"].tolist(), strict=True):
            metrics[f"reward/{name}"] = _ratio(total, valid)
        for name, row, (tried, done) in zip(self._families, ends, pairs, strict=True):
            metrics[f"success/{name}"] = _ratio(row[EndReason.SUCCESS], sum(row))
            metrics[f"success_at_frontier/{name}"] = _ratio(done, tried)
        episodes = sum(map(sum, ends))
        for end in list(EndReason)[1:]:
            metrics[f"end/{end.name.lower()}"] = _ratio(sum(row[end] for row in ends), episodes)
        metrics["episodes"] = episodes
        metrics["episode_s"] = _ratio(every["steps"].item() * CONTROL_DT, episodes)
        if faults is not None:
            diverged, overflow, full = every["faults"].tolist()
            metrics["guard/diverged"], metrics["guard/overflow"] = diverged, overflow
            # All worlds of a process share one pool, and all processes have equally many worlds.
            metrics["guard/contact_pool"] = full * len(self._family)
        for mine in self.state_dict().values():
            mine.zero_()
        return {name: value for name, value in metrics.items() if value is not None}


def _ratio(part: float, whole: float) -> float | None:
    """part / whole, or None if whole is 0."""
    return part / whole if whole else None
