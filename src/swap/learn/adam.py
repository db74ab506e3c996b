"""Runs Adam in one kernel, which can also skip an update.

The kernel itself skips a step that is not finite, so nothing waits for the device. All its tensors
exist from the start, because CUDA graphs and restored runs need them in place. It calls torch's
function and not its class, which would load torch's compiler: a third of a run's start.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS, EPS = (0.9, 0.999), 1e-8


class GuardedAdam:
    """Fused Adam over groups of (parameters, weight decay); with `divisor`, every gradient is
    divided by that scalar (to clip them all). `rates`: parameters that have a rate of their own, as
    a multiple of `lr`."""

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Tensor], float]],
        lr: Tensor,
        *,
        divisor: Tensor | None = None,
        rates: Mapping[Tensor, float] | None = None,
    ) -> None:
        self.lr, self.divisor, rates = lr, divisor, rates or {}
        self.groups = [
            (rate, [p for p in parameters if rates.get(p, 1.0) == rate], decay)
            for parameters, decay in groups
            for rate in dict.fromkeys(rates.get(p, 1.0) for p in parameters)
        ]
        self.order = [p for parameters, _ in groups for p in parameters]
        self.skip = torch.zeros((), device=lr.device)
        self.state = {
            p: {
                "step": torch.zeros((), device=lr.device),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
            for parameters, _ in groups
            for p in parameters
        }

    @torch.no_grad()
    def descend(self, gradients: Sequence[Tensor], sound: Tensor) -> None:
        """Takes one step with gradients in the order of the parameters; does nothing unless
        `sound`."""
        self.skip.copy_(~sound)
        gradient_of = dict(zip(self.order, gradients, strict=True))
        for rate, parameters, decay in self.groups:
            states = [self.state[p] for p in parameters]
            adam(
                parameters,
                # The kernel assumes that layouts agree.
                [gradient_of[p].contiguous() for p in parameters],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],  # largest squares, for AMSGrad
                [state["step"] for state in states],
                fused=True,
                # These names are meant for mixed precision, but also serve here.
                grad_scale=self.divisor,
                found_inf=self.skip,
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=self.lr if rate == 1.0 else rate * self.lr,
                weight_decay=decay,
                eps=EPS,
                maximize=False,
            )

    def named_state(self, parameters: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
        """Its own tensors (not copies), by the names of the parameters."""
        return {f"{name}/{key}": x for name, p in parameters for key, x in self.state[p].items()}
