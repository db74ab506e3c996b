"""Runs Adam in one kernel, which can also skip an update.

The kernel itself skips a step that is not finite, so nothing waits for the device. All its tensors
exist from the start, because CUDA graphs and restored runs need them in place.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor


class GuardedAdam(torch.optim.Adam):
    """Fused Adam; with `divisor`, every gradient is divided by that scalar (to clip them all)."""

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: Tensor,
        *,
        capturable: bool,
        divisor: Tensor | None = None,
    ) -> None:
        super().__init__(parameters, lr=lr, fused=True, capturable=capturable)
        # The fused kernel looks for these names. They are meant for mixed precision, but also serve
        # here.
        self.grad_scale, self.found_inf = divisor, torch.zeros((), device=lr.device)
        for p in self.learned:
            self.state[p] = {
                "step": torch.zeros((), device=lr.device),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }

    @property
    def learned(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def descend(self, gradients: Sequence[Tensor], sound: Tensor) -> None:
        """Takes one step with gradients in the order of the parameters; does nothing unless
        `sound`."""
        with torch.no_grad():
            self.found_inf.copy_(~sound)
        for p, gradient in zip(self.learned, gradients, strict=True):
            p.grad = gradient.contiguous()  # fused Adam assumes that layouts agree
        self.step()

    def named_state(self, parameters: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
        """Its own tensors (not copies), by the names of the parameters. (The `load_state_dict` of
        torch's optimisers would replace them by new ones.)"""
        return {f"{name}/{key}": x for name, p in parameters for key, x in self.state[p].items()}
