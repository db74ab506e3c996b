"""Computes the groups of observations that networks read; `observation_terms` declares them.

Every group is packed in the order of its layout.
"""

import torch
from torch import Tensor

from swap.env.cfg import ObservationNoiseCfg
from swap.env.observation_terms import GROUPS, HISTORY, NOISELESS, Observation, Reading
from swap.env.random_source import RandomSource
from swap.env.spaces import Spaces
from swap.robots import Robot
from swap.state_dict import Buffers


class Observations(Buffers):
    """Observation groups of `n` worlds, by name."""

    history: Tensor
    """[N, H, d]: the past steps, newest first."""

    def __init__(
        self, cfg: ObservationNoiseCfg, robot: Robot, spaces: Spaces, rng: RandomSource
    ) -> None:
        step = spaces.layout(*GROUPS[HISTORY])
        super().__init__(history=torch.zeros(rng.n, spaces.history, step.dim, device=rng.device))
        self._rng, self._terms, self.groups = rng, spaces.terms, spaces.groups
        self._members = GROUPS | {term.name: (term.name,) for term in spaces.extra}
        self._shape = {x.name: (rng.n, spaces.fields[x.name].dim) for x in self._terms}
        self._scale = {term.name: term.scale_of(robot) for term in self._terms}
        # Noise is drawn for all noisy terms at once, so that one term's size does not change
        # another's random numbers.
        noisy = [term for term in self._terms if term.noise != 0]
        sizes = [term.noise_of(cfg) * self._scale[term.name] for term in noisy]
        self._errors = spaces.layout(*(term.name for term in noisy))
        self._noisy = any(size > 0 for size in sizes)
        row = [x for x, field in zip(sizes, self._errors, strict=True) for _ in range(field.dim)]
        self._noise = torch.tensor(row, device=rng.device)

    def __call__(self, now: Reading, fresh: Tensor) -> dict[str, Tensor]:
        """Observations by group; worlds in `fresh` [N] bool have no past before this step. The next
        call overwrites the result."""
        clean = {term.name: self._value(term, now) for term in self._terms}
        seen = dict(clean)
        if self._noisy:
            errors = self._rng.signed(self._errors.rep) * self._noise
            seen |= {name: clean[name] + x for name, x in self._errors.unpack(errors).items()}
        out = {}
        for group, members in self._members.items():
            source = clean if group in NOISELESS else seen
            packed = torch.cat([source[name] for name in members], 1)
            out[group] = self._remember(packed, fresh) if group == HISTORY else packed
        return out

    def _value(self, term: Observation, now: Reading) -> Tensor:
        x, scale = term.value(now, self._shape[term.name]), self._scale[term.name]
        return x if scale == 1 else x * scale

    def _remember(self, step: Tensor, fresh: Tensor) -> Tensor:
        """Add this step to the history and return all past steps, newest first."""
        newest = step[:, None]  # [N, 1, d]
        older = torch.where(fresh[:, None, None], newest, self.history[:, :-1])
        self.history[:, 1:] = older
        self.history[:, :1] = newest
        return self.history.flatten(1)
