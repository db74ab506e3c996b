"""Adam in one kernel, which can also skip an update.

A step that is not sound is taken back by the kernel itself, so nothing waits for the device. All
its tensors are there from the start: recordings and restored runs need them in place.
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
        # Names that fused kernels look for; meant for mixed precision, they suit us as well.
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
        """One step, in the order of the parameters; none at all unless `sound`."""
        with torch.no_grad():
            self.found_inf.copy_(~sound)
        for p, gradient in zip(self.learned, gradients, strict=True):
            p.grad = gradient.contiguous()  # fused Adam takes it that layouts agree
        self.step()

    def named_state(self, parameters: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
        """Its own tensors, live, by the names of the parameters. (A `load_state_dict` of torch's
        optimisers puts others in their place.)"""
        return {f"{name}/{key}": x for name, p in parameters for key, x in self.state[p].items()}
