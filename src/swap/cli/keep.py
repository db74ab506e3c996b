"""`swap keep`: the networks of a run as one file with a card, for sharing and for models/."""

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from swap.cli.show import writable
from swap.errors import UserError
from swap.files import replaceable


@dataclass(frozen=True)
class Args:
    """Write the newest networks of a run as NAME.safetensors, with its card NAME.json beside it.

    The file holds what acting needs, the policy and its world model, and what a new run can begin
    with (swap train --from): the discriminator and the curriculum. It does not hold the worlds and
    the replay, which a run needs to go on as if it had never stopped (swap train --resume).
    """

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run; or a kept file, or its name, to add figures to it."""
    out: Path
    """File to write, ending in .safetensors."""
    average_with: tuple[Path, ...] = ()
    """Runs or kept files whose weights are averaged with it, in equal parts; what is named twice
    counts twice. All must have been trained on from one robot: swap train --from."""
    robot: str | None = None
    """For older models that hold no robot: its name, or its file, which is run."""
    overwrite: bool = False
    """Replace files that are there."""
    optimiser: bool = False
    """Also keep the optimisers, for a run that will go on elsewhere; the file is three times as
    large."""
    metrics: Path | None = None
    """Also write 200 lines of the run's metrics into this .jsonl file."""
    figures: Path | None = None
    """A file of swap eval --json, whose figures go into the card; by default, a file that is kept
    again keeps those of its card."""


def run(args: Args) -> int:
    from swap.runs.average import average
    from swap.runs.saved_model import keep_model, read_model
    from swap.runs.stored_robot import print_robot_changes, with_robot
    from swap.runs.thin_metrics import write_thinned

    figures = None
    if args.figures is not None:
        try:
            figures = json.loads(args.figures.read_bytes())
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read '{args.figures}' ({error}); name a --json file") from None
    if args.metrics is not None and not args.run.is_dir():
        raise UserError(f"'{args.run}' is no folder of a run; --metrics are kept from one")
    if args.optimiser and args.average_with:
        raise UserError("there is no mean of optimisers; leave out --optimiser or --average-with")
    model = read_model(args.run)
    if args.average_with:
        places = (args.run, *args.average_with)
        others = [read_model(place) for place in args.average_with]
        model = average([model, *others], [place.name for place in places])
    cfg = with_robot(model.cfg, args.robot)
    if figures is None:  # measured with the robot that the card holds
        figures = model.figures if model.cfg.env.robot_data in (None, cfg.env.robot_data) else {}
    if args.robot is not None:
        print_robot_changes(model.cfg, cfg, args.robot, print)
    for file in filter(None, (args.out, args.metrics)):
        with contextlib.suppress(OSError):  # `writable` reports the error
            file.parent.mkdir(parents=True, exist_ok=True)
    check_free(args.out, args.overwrite)
    check_free(args.out.with_suffix(".json"), args.overwrite)
    if args.metrics is not None:
        check_free(args.metrics, args.overwrite)
    keep_model(replace(model, cfg=cfg), args.out, figures, optimiser=args.optimiser)
    size = f"{args.out.stat().st_size / 2**20:.1f} MiB"
    print(f"kept {args.out} ({size}) and {args.out.with_suffix('.json')}")
    if args.metrics is not None:
        write_thinned(args.run, args.metrics)
        print(f"and {args.metrics}")
    return 0


def check_free(file: Path, overwrite: bool) -> None:
    """Raises a UserError if the file cannot be written, or is there and may not be replaced."""
    writable(file)
    if not overwrite and replaceable(file) and file.exists():
        raise UserError(f"'{file}' is there; name another file, or add --overwrite")
