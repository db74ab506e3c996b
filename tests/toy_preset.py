"""A preset for tests of runs, `--preset tests/toy_preset.py:TOY`: a small network learns a sine,
with random numbers in every step."""

from collections.abc import Mapping
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
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=cfg.fit.lr, betas=cfg.fit.betas)

    def plan(self, steps: float) -> None:
        self.planned = steps

    def iterate(self) -> dict[str, float]:
        self.count += 1
        x = torch.randn(self.cfg.fit.batch, 1).to(self.device)
        loss = (self.net(x) - torch.sin(3.0 * x)).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        if self.count == self.cfg.fit.nan_at:
            with torch.no_grad():
                self.first.weight[0] = torch.nan
        return {
            "steps": float(self.count * self.cfg.fit.batch),
            "success/sine": float(loss.detach() < 0.1),
            "fit/loss": float(loss.detach()),
        }

    def state_dict(self) -> dict[str, Tensor]:
        rows = self.optimiser.state_dict()["state"].items()
        moments = {f"{i}/{k}": x for i, row in rows for k, x in row.items()}
        return join_states(net=self.net.state_dict(), adam=moments)

    def numbers(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        self.net.load_state_dict(sub_state("net/", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for name, x in tensors.items():
            if name.startswith("adam/"):
                _, i, key = name.split("/")
                state.setdefault(int(i), {})[key] = x
        self.optimiser.load_state_dict(self.optimiser.state_dict() | {"state": state})
        self.count = numbers["count"]


TOY = ToyCfg()
