"""`swap bench model`: the world model's parameters and times, equivariant and plain."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

MIB_A_TICK = 2.5
"""Memory of a training step on a CPU, per tick: the difference of 36 and 4 ticks is 1.8 MiB each,
plus a margin."""


@dataclass(frozen=True)
class Args:
    """Count the world model's parameters, time its tick and its training step."""

    device: str = "auto"
    """cpu, cuda, or auto."""
    worlds: tuple[int, ...] = (1, 64)
    """Numbers of robots that tick together; one row each."""
    batch: int = 4
    """Sequences per training step."""
    ticks: int = 16
    """Ticks per sequence."""
    repeats: int = 15
    """Timed calls of each; the median is shown. An action is timed 50 times as often."""
    graph: bool = False
    """Record the work as a CUDA graph and replay it, as training does."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(
            self, "--", at_least_1=("worlds", "batch", "ticks", "repeats"), filled=("worlds",)
        )


def run(args: Args) -> int:
    device = choose_device(args.device)
    if args.graph and device == "cpu":
        raise UserError("--graph needs a GPU; leave it out on the CPU")
    import torch

    from swap.device.memory import check_memory, check_room
    from swap.evaluate.model_bench import bench

    check_memory(max(args.worlds), device, world_model=True)
    check_room(args.batch * args.ticks, MIB_A_TICK, device, "--batch times --ticks:")
    rows = bench(
        device,
        worlds=args.worlds,
        batch=args.batch,
        ticks=args.ticks,
        repeats=args.repeats,
        graph=args.graph,
    )
    how = f"{torch.get_num_threads()} threads" if device == "cpu" else device
    notes = ["of plain: equivariant over plain; both have the same widths."]
    if device == "cpu":
        notes.append("action of 1: one robot on one thread, networks of preset swap.")
    show(Report(f"World model ({how}{', graph' if args.graph else ''})", rows, notes), args.json)
    return 0
