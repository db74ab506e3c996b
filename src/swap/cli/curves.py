"""`swap curves`: compares how runs learned, or what they can do, as table and figure."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from swap.cli.show import Report, show, writable
from swap.errors import UserError
from swap.registry import is_code
from swap.validate import check_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Args:
    """Compare runs: the frontier against minutes; with --eval, success against size."""

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of swap train runs, or .jsonl files of their metrics."""
    eval: tuple[Path, ...] = ()
    """Instead of runs: files of swap eval --json."""
    minutes: tuple[float, ...] = ()
    """Minutes at which to read the frontier; by default 3, 6, 9, ..."""
    families: tuple[str, ...] = ()
    """Only these families, yours as file.py:NAME, or all; by default the figure of runs has box and
    gap."""
    names: tuple[str, ...] = ()
    """Names of the curves, one each; by default from their paths."""
    out: Path = Path("curves.png")
    """Figure to write, .png or .svg."""

    def __post_init__(self) -> None:
        check_numbers(self, "--")


def run(args: Args) -> int:
    if bool(args.runs) == bool(args.eval):
        raise UserError("name runs, or files of swap eval --json after --eval (one of the two)")
    for minute in args.minutes:
        if not minute > 0:
            raise UserError(f"--minutes {minute:g} is no time after the start; use 1 or more")
    writable(args.out)
    from swap.evaluate.figures import drawable, write

    drawable(args.out)
    if any(map(is_code, args.families)):
        from swap.courses import FAMILIES

        known = (FAMILIES.from_user(x).name if is_code(x) else x for x in args.families)
        args = replace(args, families=tuple(known))
    write(compare_learning(args) if args.runs else compare_success(args), args.out)
    print(f"figure: {args.out}")
    return 0


def compare_learning(args: Args) -> "Figure":
    """Shows the tables of runs and draws their figure."""
    from swap.evaluate import curves as of
    from swap.evaluate.figures import frontier_figure

    names = of.labels(args.runs, args.names)
    curves = [of.read_curve(path, name) for path, name in zip(args.runs, names, strict=True)]
    there = of.trained_on(curves)
    families = of.selected(args.families, there)
    longest = max(float(curve.minutes[-1]) for curve in curves)
    minutes = args.minutes or of.round_minutes(longest)
    show(Report("Runs", of.run_table(curves), ["steps/s: over the last half of the time"]))
    rows = of.frontier_table(curves, families, minutes)
    show(Report("Frontier after so many minutes", rows, ["-: the run was shorter"]))
    usual = [name for name in ("box", "gap") if name in there]
    return frontier_figure(curves, families if args.families else usual or families)


def compare_success(args: Args) -> "Figure":
    """Shows the table of what `swap eval` measured and draws its figure."""
    from swap.evaluate import curves as of
    from swap.evaluate.figures import success_figure

    names = of.labels(args.eval, args.names)
    arms: dict[str, list[of.Row]] = {}
    for name, path in zip(names, args.eval, strict=True):
        arms |= of.by_speed(name, of.read_success(path))
    families = of.selected(args.families, of.measured_on(arms))
    show(Report("Success", of.success_table(arms, families), ["the figure has 95 % intervals"]))
    return success_figure(arms, families)
