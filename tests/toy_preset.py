"""A preset for tests of runs, `--preset tests/toy_preset.py:TOY`: a small network learns a sine,
with random numbers in every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.presets.table import TrainCfg
from swap.state_dict import join_states, sub_state
from swap.validate import check_numbers


@dataclass(frozen=True)
class NetCfg:
    width: int = 16
    """Hidden units."""
    act: Literal["tanh", "relu"] = "tanh"
    """Non-linearity."""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.width < 1:
            raise UserError(f"width={self.width} holds nothing; use 16")


@dataclass(frozen=True)
class FitCfg:
    lr: float = 1e-2
    """Learning rate."""
    batch: int = 32
    """Points an iteration."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Of Adam."""
    nan_at: int | None = None
    """Iteration at which a weight turns NaN."""

    def __post_init__(self) -> None:
        check_numbers(self, "fit.", at_least_1=("batch",), positive=("lr",), fractions=("betas",))


@dataclass(frozen=True)
class ToyCfg(TrainCfg):
    """Fit a sine."""

    net: NetCfg = field(default_factory=NetCfg)
    fit: FitCfg = field(default_factory=FitCfg)

    def build(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> "Toy":
        if not processes.alone:
            raise UserError("a sine is fitted by one process; start swap without torchrun")
        return Toy(self, device)


class Toy:
    """Obeys the Trainable protocol."""

    def __init__(self, cfg: ToyCfg, device: str) -> None:
        self.cfg, self.device, self.count = cfg, device, 0
        act = nn.Tanh() if cfg.net.act == "tanh" else nn.ReLU()
        self.first = nn.Linear(1, cfg.net.width)
        layers = self.first, act, nn.Linear(cfg.net.width, 1)
        self.net = nn.Sequential(*layers).to(device)
        self.moments = [
            {key: torch.zeros_like(p) for key in ("exp_avg", "exp_avg_sq")}
            for p in self.net.parameters()
        ]

    def plan(self, steps: float) -> None:
        self.planned = steps

    def iterate(self) -> dict[str, float]:
        self.count += 1
        x = torch.randn(self.cfg.fit.batch, 1).to(self.device)
        loss = (self.net(x) - torch.sin(3.0 * x)).square().mean()
        self._descend(torch.autograd.grad(loss, [*self.net.parameters()]))
        if self.count == self.cfg.fit.nan_at:
            with torch.no_grad():
                self.first.weight[0] = torch.nan
        return {
            "steps": float(self.count * self.cfg.fit.batch),
            "success/sine": float(loss.detach() < 0.1),
            "fit/loss": float(loss.detach()),
        }

    @torch.no_grad()
    def _descend(self, gradients: Sequence[Tensor]) -> None:
        """A step of Adam. (torch's own class loads torch's compiler; these runs start often.)"""
        a, b = self.cfg.fit.betas
        for p, g, row in zip(self.net.parameters(), gradients, self.moments, strict=True):
            mean = row["exp_avg"].lerp_(g, 1 - a) / (1 - a**self.count)
            square = row["exp_avg_sq"].lerp_(g * g, 1 - b) / (1 - b**self.count)
            p -= self.cfg.fit.lr * mean / (square.sqrt() + 1e-8)

    def state_dict(self) -> dict[str, Tensor]:
        moments = {f"{i}/{k}": x for i, row in enumerate(self.moments) for k, x in row.items()}
        return join_states(net=self.net.state_dict(), adam=moments)

    def numbers(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        self.net.load_state_dict(sub_state("net/", tensors))
        for name, x in sub_state("adam/", tensors).items():
            i, key = name.split("/")
            self.moments[int(i)][key].copy_(x)
        self.count = numbers["count"]


TOY = ToyCfg()
