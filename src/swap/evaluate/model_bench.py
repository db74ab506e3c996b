"""Measures the world model's size and speed, equivariant and plain, in one interleaved run."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from swap.env import EnvCfg
from swap.evaluate import act_bench
from swap.evaluate.layer_bench import recorded, timed
from swap.sensors import DepthCameraCfg
from swap.world_model.batch import Sequences
from swap.world_model.model import WorldModel, WorldModelCfg
from swap.world_model.rssm import Latent

ARMS = {"equivariant": True, "plain": False}


def bench(
    device: str,
    *,
    worlds: Sequence[int] = (1, 64),
    batch: int = 4,
    ticks: int = 16,
    repeats: int = 15,
    graph: bool = False,
) -> list[dict[str, Any]]:
    """Returns rows of parameters by part, then of median milliseconds; `graph` replays CUDA graphs.
    On a CPU, rows of how long one robot waits for an action follow."""
    models = {name: make(equivariant=eq).to(device) for name, eq in ARMS.items()}
    sizes = {name: model.n_parameters for name, model in models.items()}
    rows: list[dict[str, Any]] = [
        {"what": f"parameters, {part}", **{name: sizes[name][part] for name in models}}
        for part in sizes["plain"]
    ]
    rows.append({"what": "parameters", **{name: sum(sizes[name].values()) for name in models}})
    jobs: dict[str, Callable[[WorldModel], Callable[[], None]]] = {
        f"tick of {n}, ms": lambda model, n=n: tick(model, n, device)  # type: ignore[misc]
        for n in worlds
    }
    jobs[f"loss and gradients, {batch} x {ticks}, ms"] = lambda model: step(
        model, batch, ticks, device
    )
    for what, job in jobs.items():
        calls = {name: job(model) for name, model in models.items()}
        if graph:
            calls = {name: recorded(call) for name, call in calls.items()}
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for run in range(repeats + 2):
            for name, call in calls.items():
                elapsed = timed(call, device)
                if run >= 2:
                    seconds[name].append(elapsed)
        times = {name: statistics.median(x) * 1e3 for name, x in seconds.items()}
        rows.append({"what": what, **times})
    if device == "cpu":
        rows += act_bench.bench(rounds=repeats)
    for row in rows:
        row["of plain"] = row["equivariant"] / row["plain"]
    return rows


def make(*, equivariant: bool) -> WorldModel:
    """Builds the model at its default size, for the first robot."""
    torch.manual_seed(0)
    spec = EnvCfg(camera=DepthCameraCfg()).spec
    return WorldModel(WorldModelCfg(equivariant=equivariant), spec)


def tick(model: WorldModel, n: int, device: str) -> Callable[[], None]:
    """A call that computes embedding and posterior, as at every k-th observation."""
    latent, first = model.initial(n, device), torch.zeros(n, dtype=torch.bool, device=device)
    depth, prop = torch.zeros(n, *model.image, device=device), _normal(device, n, model.prop.dim)
    actions = _normal(device, n, model.k, model.action.dim)
    noise = model.noise(n, like=prop)

    @torch.no_grad()
    def call() -> None:
        model.tick(latent, actions, model.embed(depth, prop), first, noise)

    return call


def step(model: WorldModel, batch: int, ticks: int, device: str) -> Callable[[], None]:
    """A call that computes the loss of `batch` sequences and all gradients."""
    lead = (batch, ticks)
    first = torch.zeros(lead, dtype=torch.bool, device=device)
    image = torch.full((*lead, *model.image), 100, dtype=torch.uint8, device=device)
    prop, body, foot = (_normal(device, *lead, x.dim) for x in (model.prop, model.body, model.foot))
    actions = _normal(device, *lead, model.k, model.action.dim)
    context: Latent = model.initial(batch, device)
    data = Sequences(image, image, prop, actions, body, foot, first, ~first, context)
    noise, parameters = model.noise(*lead, like=prop), list(model.parameters())

    def call() -> None:
        torch.autograd.grad(model.loss(data, noise)[0], parameters)

    return call


def _normal(device: str, *shape: int) -> Tensor:
    return torch.randn(shape, device=device)
