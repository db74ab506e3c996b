"""`swap check sim`: mirror whole scenes in both engines; what happens must mirror too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from swap.cli.device import chosen
from swap.cli.show import Report, show, writable
from swap.errors import UserError


@dataclass(frozen=True)
class Args:
    """Mirror course, state, action, randomisation and noise; physics and sensors must mirror too.

    Then give both engines the same scenes and compare them.
    """

    engine: Literal["cpu", "gpu", "both"] = "both"
    """Which engine's mirror; both also compares the two."""
    device: str = "auto"
    """cpu, cuda, or auto: where the gpu engine and the sensors run."""
    family: tuple[str, ...] = ()
    """Course families; all by default."""
    robot: str = "apollo"
    """Which robot; see swap robots."""
    json: Path | None = None
    """Also write the figures to this file."""


def run(args: Args) -> int:
    writable(args.json)
    device = chosen(args.device)
    from swap.courses import FAMILIES
    from swap.courses.families import find
    from swap.evaluate import mirror_audit, parity_audit
    from swap.robots import load
    from swap.sim.wake import can_run

    families, robot = [find(name).name for name in args.family] or list(FAMILIES), load(args.robot)
    if not can_run(device):
        raise UserError(f"Warp cannot compile for '{device}' here; use --device cuda")
    rows: list[dict[str, Any]] = []
    for engine in ("cpu", "gpu") if args.engine == "both" else (args.engine,):
        rows += mirror_audit.audit(engine, robot, families, device)
        rows.append({"engine": engine, "family": "limit", **mirror_audit.TOLERANCE[engine]})
    if args.engine == "both":
        rows += parity_audit.audit(robot, families, device)
        rows.append({"engine": "cpu - gpu", "family": "limit", **parity_audit.TOLERANCE})
    failed = [f"{row['engine']} {row['family']}" for row in rows if row.get("pass") is False]
    notes = [
        "Errors under the mirror: position m and rad, velocity m/s and rad/s, torque as a share of "
        "the strongest motor, force in body weights; sensors must be equal to the last bit.",
        "cpu: 300 free physics steps. gpu: control steps from exact mirror images. p99: the 99th "
        "percentile over steps and worlds.",
        "cpu - gpu: the same scenes in both engines, a control step and 100 physics steps (free).",
        f"FAILED: {', '.join(failed)}" if failed else "all pass",
    ]
    show(Report(f"Mirror and parity ({args.robot}, {device})", rows, notes), args.json)
    return 1 if failed else 0
