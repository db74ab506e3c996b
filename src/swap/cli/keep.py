"""`swap keep`: the networks of a run as one file with a card, for sharing and for models/."""

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from swap.cli.show import writable
from swap.errors import UserError


@dataclass(frozen=True)
class Args:
    """Write the newest networks of a run as NAME.safetensors, with its card NAME.json beside it.

    All that it takes to act, the policy and its world model, and what a new run can begin with
    (swap train --from): the discriminator and the curriculum. Not the worlds and the replay, with
    which alone a run goes on as if it had never stopped (swap train --resume).
    """

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, or a file that this made, or its name, to give it figures."""
    out: Path
    """File to write, ending in .safetensors."""
    robot: str | None = None
    """For models of before that hold no robot: its name, or its file, which is run."""
    optimiser: bool = False
    """Also the optimisers, for a run that will go on elsewhere: a file three times as large."""
    metrics: Path | None = None
    """Also write how it learned into this .jsonl file: 200 lines of the run's metrics."""
    figures: Path | None = None
    """A file of swap eval --json: what was measured goes into the card; without it, what a file
    that is kept anew has in its card."""


def run(args: Args) -> int:
    from swap.runs.saved_model import keep, read_model
    from swap.runs.stored_robot import tell_robot, with_robot
    from swap.runs.thin_metrics import write_thinned

    figures = None
    if args.figures is not None:
        try:
            figures = json.loads(args.figures.read_bytes())
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read '{args.figures}' ({error}); name a --json file") from None
    if args.metrics is not None and not args.run.is_dir():
        raise UserError(f"'{args.run}' is no folder of a run; --metrics are kept from one")
    model = read_model(args.run)
    cfg = with_robot(model.cfg, args.robot)
    if figures is None:  # measured with the robot that the card holds
        figures = model.figures if model.cfg.env.robot_data in (None, cfg.env.robot_data) else {}
    if args.robot is not None:
        tell_robot(model.cfg, cfg, args.robot, print)
    for file in filter(None, (args.out, args.metrics)):
        with contextlib.suppress(OSError):  # whatever it is, `writable` tells it
            file.parent.mkdir(parents=True, exist_ok=True)
    writable(args.out)
    writable(args.metrics)
    writable(args.out.with_suffix(".json"))
    keep(replace(model, cfg=cfg), args.out, figures, optimiser=args.optimiser)
    size = f"{args.out.stat().st_size / 2**20:.1f} MiB"
    print(f"kept {args.out} ({size}) and {args.out.with_suffix('.json')}")
    if args.metrics is not None:
        write_thinned(args.run, args.metrics)
        print(f"and {args.metrics}")
    return 0
