"""`swap export`: a trained robot as a bundle that runs without torch."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from swap.cli.show import Report, show
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """Write a trained robot as a folder of two ONNX graphs, their facts and test vectors.

    world_model(depth, proprioception, actions, h, z, noise) -> next_h, next_z runs every k control
    steps, policy(history, command, h) -> action at each; swap.json says all else that a controller
    must know. See docs/deploy.md.
    """

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    out: Path
    """Folder to write."""
    overwrite: bool = False
    """Replace a bundle that is there."""
    check: bool = False
    """Also compare it with torch over recorded steps, as they are and mirrored: exit code 1 if any
    action differs by more than 1e-4."""
    steps: int = 500
    """Recorded steps of --check."""
    json: Path | None = None
    """Also write the figures of --check to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("steps",))


def run(args: Args) -> int:
    from swap.export.check import check
    from swap.export.write import export
    from swap.runs.trained_robot import load_trained

    robot = load_trained(args.run, **args.code.given())
    with contextlib.suppress(OSError):  # whatever it is, writing tells it
        args.out.parent.mkdir(parents=True, exist_ok=True)
    bundle = export(robot, args.out, overwrite=args.overwrite)
    size = sum(file.stat().st_size for file in args.out.iterdir()) / 2**20
    print(f"exported {args.out} ({size:.1f} MiB): {bundle.spec.model} of {bundle.spec.robot}")
    if not args.check:
        return 0
    rows = check(robot, bundle, args.steps)
    notes = ["action error: how far onnxruntime's actions are from torch's; at most 1e-4."]
    show(Report(f"{args.out} beside torch", rows, notes), args.json)
    return 0 if all(row["fine"] for row in rows) else 1
