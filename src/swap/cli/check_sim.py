"""`swap check sim`: mirror whole scenes in both engines; what happens must mirror too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from swap.cli.show import Report, Row, save, show
from swap.device.choice import choose_device
from swap.errors import UserError

MIRRORED = (
    "Two figures are the 99th percentile over steps and worlds, and the largest. position: m, rad; "
    "velocity: m/s, rad/s; torque: share of the strongest motor; force: body weights; sensors must "
    "be equal to the last bit.",
    "cpu: 300 free physics steps. gpu: control steps that start from exact mirror images.",
)
COMPARED = (
    "position: of a control step from the same state, m, rad; free: after 100 physics steps.",
)


@dataclass(frozen=True)
class Args:
    """Mirror course, state, action, randomisation and noise; physics and sensors must mirror too.

    Then give both engines the same scenes and compare them.
    """

    engine: Literal["cpu", "gpu", "both"] = "both"
    """Which engine to check; both also compares the two."""
    device: str = "auto"
    """cpu, cuda, or auto: where the gpu engine and the sensors run."""
    family: tuple[str, ...] = ()
    """Course families, yours as file.py:NAME; by default all known ones."""
    robot: str = "apollo"
    """Which robot; see swap robots."""
    json: Path | None = None
    """Also write the figures to this file."""


def run(args: Args) -> int:
    device = choose_device(args.device)
    from swap.courses import FAMILIES
    from swap.device.warp_start import warp_runs_on
    from swap.evaluate import engine_comparison as parity_audit
    from swap.evaluate import mirror_audit
    from swap.robots import from_user

    families = [FAMILIES.from_user(word).name for word in args.family] or list(FAMILIES)
    robot = from_user(args.robot)
    if not warp_runs_on(device):
        raise UserError(f"Warp cannot compile for '{device}' here; use --device cuda")
    mirrored: list[Row] = []
    for engine in ("cpu", "gpu") if args.engine == "both" else (args.engine,):
        mirrored += mirror_audit.audit(engine, robot, families, device)
        mirrored.append({"engine": engine, "family": "limit", **mirror_audit.TOLERANCE[engine]})
    compared: list[Row] = []
    if args.engine == "both":
        compared += parity_audit.audit(robot, families, device)
        compared.append({"engine": "cpu, gpu", "family": "limit", **parity_audit.TOLERANCE})
    rows = mirrored + compared
    failed = [f"{row['engine']} {row['family']}" for row in rows if row.get("pass") is False]
    verdict = f"FAILED: {'; '.join(failed)}" if failed else "all pass"
    where = f"({args.robot}, {device})"
    show(Report(f"Errors under the mirror {where}", [brief(row) for row in mirrored], MIRRORED))
    if compared:
        show(Report(f"Both engines compared {where}", compared, COMPARED))
    print(verdict)
    notes = [*MIRRORED, *COMPARED, verdict]
    save(Report(f"Mirror and parity {where}", rows, notes), args.json)
    return 1 if failed else 0


def brief(row: Row) -> Row:
    """Puts percentile and largest into one cell, because a wide table is hard to read."""
    short = {}
    for name, value in row.items():
        if f"{name} p99" in row:
            short[name] = " / ".join(f"{x:.0e}" if x else "0" for x in (row[f"{name} p99"], value))
        elif not name.endswith(" p99"):
            short[name] = value
    return short
