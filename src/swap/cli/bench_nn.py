"""`swap bench nn`: what equivariance costs or saves, as ratios to dense layers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from swap.cli.show import Report, show
from swap.device.choice import check_compiles, choose_device
from swap.errors import UserError
from swap.validate import check_numbers

MIB_A_ROW, MIB_AN_IMAGE = 0.15, 2.0
"""Memory on a CPU: the difference of 4016 and 16 rows is 0.12 MiB each, that of 132 and 4 images
1.7; plus a margin."""


@dataclass(frozen=True)
class Args:
    """Time forward and backward passes of the layers against dense ones, interleaved in one run."""

    device: str = "auto"
    """cpu, cuda, or auto."""
    batch: int = 6000
    """Rows for linear layers."""
    images: int = 64
    """Images for the conv trunk."""
    repeats: int = 15
    """Timed passes of each; the median is shown."""
    mode: Literal["eager", "compile", "graph"] = "eager"
    """eager; compile: torch.compile; graph: CUDA graphs, only the GPU's time. The same for all
    rivals."""
    bf16: bool = False
    """Time under bf16 autocast."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("batch", "images", "repeats"))


def run(args: Args) -> int:
    device = choose_device(args.device)
    if args.mode == "graph" and device == "cpu":
        raise UserError("--mode graph needs a GPU; use --mode eager or --mode compile on the CPU")
    if args.mode == "compile":
        check_compiles(device)
    from swap.device.memory import check_room
    from swap.evaluate.layer_bench import bench

    check_room(args.batch, MIB_A_ROW, device, "--batch")
    check_room(args.images, MIB_AN_IMAGE, device, "--images")
    rows = list(
        bench(
            device,
            batch=args.batch,
            images=args.images,
            repeats=args.repeats,
            mode=args.mode,
            bf16=args.bf16,
        )
    )
    notes = [
        "equivariant, expanded, escnn: time relative to the dense layer's, forward + backward."
    ]
    if all(row["escnn"] is None for row in rows):
        notes.append("escnn is not installed here; make test-oracles sets it up in .venv-oracles.")
    how = ", ".join([device, args.mode, *["bf16"] * args.bf16])
    show(Report(f"Layers against dense ({how})", rows, notes), args.json)
    return 0
