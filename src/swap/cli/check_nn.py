"""`swap check nn`: mirror the inputs of every layer; any error other than zero fails."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.device.choice import check_compiles, choose_device


@dataclass(frozen=True)
class Args:
    """Feed every layer an input and its mirror image; the outputs must mirror to the last bit."""

    device: str = "cpu"
    """cpu, cuda, or auto."""
    compile: bool = False
    """Run the forward passes through torch.compile."""
    json: Path | None = None
    """Also write the figures to this file."""


def run(args: Args) -> int:
    device = choose_device(args.device)
    if args.compile:
        check_compiles(device)
    from swap.evaluate.layer_check import check

    rows = list(check(device, compiled=args.compile))
    failed = [row["module"] for row in rows if not row["exact"]]
    notes = [
        "Columns fp32 to gradient: the largest difference under the mirror; 0 is equal to the last "
        "bit. plain twin: the same in fp32 without the constraint.",
        f"FAILED: {', '.join(failed)}" if failed else f"all {len(rows)} exact",
    ]
    how = f"{device}, compiled" if args.compile else device
    show(Report(f"Mirror errors ({how})", rows, notes), args.json)
    return 1 if failed else 0
