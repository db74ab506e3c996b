"""`swap record`: the largest box and gap a trained robot masters, beside published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from swap.cli.show import Report, save, show
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.evaluate.record import Probe

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Args:
    """Find the largest box and gap with 90 % and with 50 % success, by bisection down to 2 cm."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    trials: int = 300
    """Trials per probed size, each on its own random course."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    seed: int = 1
    """Seed of courses, starts and noise."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures and every probe to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("trials",), positive=("speed",))


def run(args: Args) -> int:
    device = choose_device(args.device)
    from swap.cli.progress import ProgressLine
    from swap.evaluate.record import PUBLISHED, record_table, search_all
    from swap.runs.trained_robot import load_trained

    robot = load_trained(args.run, **args.code.given())
    with ProgressLine() as progress:
        searches, probes = search_all(
            robot,
            trials=args.trials,
            speed_mps=args.speed,
            device=device,
            seed=args.seed,
            on_progress=progress,
        )
    body = robot.cfg.env.load_robot()
    rows = record_table(searches, probes, body)
    title = f"{robot.name}, iteration {robot.iteration}: records at {args.speed:g} m/s, simulated"
    notes = [
        f"body length: {body.hip_to_hip:.3g} m hip to hip. hip height: {body.hip_height:.3g} m.",
        "interval: from the largest size probed whose 95 % interval (Wilson) lies above the wanted "
        "share to the smallest whose interval lies below it.",
        *doubts(probes),
    ]
    show(Report(title, [display_row(row) for row in rows], notes))
    published = [
        {
            "who": one.who,
            "gap m": f"{one.gap:.2f}",
            "over body length": one.gap / one.body_length,
            "box m": f"{one.box:.2f}",
            "over hip height": one.box / one.hip_height,
        }
        for one in PUBLISHED
    ]
    apart = "Real robots of different sizes, which were shown to do it; this one was simulated."
    show(Report("Published records of real robots", published, [apart]))
    facts = {
        "speed_mps": args.speed,
        "seed": args.seed,
        "published": published,
        "probes": {
            family: [vars(p) | {"interval": p.interval} for p in sorted(mine, key=lambda p: p.size)]
            for family, mine in probes.items()
        },
    }
    save(Report(title, rows, notes, facts), args.json)
    return 0


def doubts(probes: Mapping[str, Sequence["Probe"]]) -> list[str]:
    """A note for each family whose success does not fall as sizes grow, as bisection assumes."""
    from swap.evaluate.record import contradiction

    notes = []
    for family, mine in probes.items():
        if pair := contradiction(mine):
            small, large = (f"{p.size:.2f} m ({p.rate:.0%})" for p in pair)
            notes.append(
                f"{family}: success does not fall as sizes grow: {large} went better than {small}; "
                f"look at all sizes with swap eval --family {family}."
            )
    return notes


def display_row(row: Row) -> dict[str, Any]:
    """A row of the record table in the form for the screen."""
    return {
        "family": row["family"],
        "wanted share": f"{row['fraction']:.0%}",
        "size m": size(row["size"], row["at_least"]),
        "interval": interval(*row["interval"]),
        "over body length": row["over_body_length"],
        "over hip height": row["over_hip_height"],
        "trials a probe": row["trials"],
        "probes": row["probes"],
    }


def size(metres: float | None, at_least: bool) -> str:
    if metres is None:
        return "none"
    return f"{'at least ' * at_least}{metres:.2f}"


def interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        lower = "unknown" if low is None else f"{low:.2f} or more"
        return lower if high is None else f"up to {high:.2f}"
    return f"{min(low, high):.2f} to {max(low, high):.2f}"
