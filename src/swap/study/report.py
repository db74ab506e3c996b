"""Writes report.md and figures of a study, from nothing but what lies in its folder."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from swap.evaluate.figures import drawable, write
from swap.evaluate.statistics import COVERAGE
from swap.files import atomic_write
from swap.study import figures, films, tables
from swap.study.plan import Folder
from swap.study.results import Results, read_results
from swap.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECTIONS: tuple[tuple[str, str, Callable[[Results], list[tables.Row]]], ...] = (
    (
        "Success",
        "In percent: the interquartile mean over seeds, and its interval by resampling seeds.",
        tables.success_table,
    ),
    ("All sizes together", "As above, over all sizes of a family.", tables.summary_table),
    (
        "Probability of improvement",
        "In percent: how likely a seed of the row's arm does better than one of the column's, at "
        "the same size.",
        tables.improvement_table,
    ),
    (
        "How fast they learned",
        "The frontier of training, in the unit of the family: the mean over seeds, the lowest and "
        "the highest.",
        tables.frontier_table,
    ),
    (
        "When sizes were reached",
        "By the frontier of training, seed by seed. Minutes are those of runs that may have shared "
        "a GPU.",
        tables.reach_table,
    ),
    ("Records", "`swap record`, in metres, seed by seed.", tables.record_table),
    (
        "How they walk",
        "On flat ground, means over seeds; `swap gait` says what the columns mean.",
        tables.gait_table,
    ),
    (
        "How they move",
        "`swap gait` says what the columns mean. (1 of 3): of one seed of three, since no robot of "
        "the others got so far.",
        tables.motion_table,
    ),
    (
        "Mirrored trials",
        "Pairs of trials on a course and its mirror image, with mirrored random numbers. same "
        "end: the share that ends for the same reason; 5 cm apart: whose bases were at some time.",
        tables.mirrored_table,
    ),
    (
        "Reconstruction",
        "Mean |decoded - clean|; of an equivariant world model the last column is 0.",
        tables.reconstruction_table,
    ),
)


def write_report(study: Study, folder: Folder) -> list[Path]:
    """Writes the report and returns the files that were written; the report comes last."""
    results = read_results(study, folder)
    drawable(folder.root / "success.png")
    drawn: dict[str, Figure | None] = {
        "success": figures.success_figure(results),
        "learning": figures.learning_figure(results),
        **figures.reconstruction_figures(results),
    }
    out = []
    for name, figure in drawn.items():
        if figure is not None:
            out.append(folder.root / f"{name}.png")
            write(figure, out[-1])
    out += films.write_strips(study, folder)
    report = folder.root / "report.md"
    with atomic_write(report) as file:
        file.write_text(text(study, folder, results, [path.name for path in out]))
    return [*out, report]


def text(study: Study, folder: Folder, results: Results, pictures: list[str]) -> str:
    seeds = ", ".join(map(str, study.seeds))
    lines = [f"# {study.name}", "", study.about, "", "| arm | `swap train` |", "|---|---|"]
    lines += [f"| {arm} | `{' '.join(study.train_words(arm))}` |" for arm in study.arms]
    lines += ["", f"Seeds {seeds}, {study.steps / 1e6:g} M control steps each.", ""]
    lines += coverage(results)
    lines += [f"![{name}]({name})\n" for name in pictures]
    for title, note, table in SECTIONS:
        if rows := table(results):
            lines += [f"## {title}", "", note, "", tables.markdown(rows), ""]
    rows = tables.runs_table(results, folder)
    lines += ["## Runs", "", tables.markdown(rows), ""]
    return "\n".join(lines)


def coverage(results: Results) -> list[str]:
    """Returns a note on the intervals of as few seeds as the arms have."""
    seeds = Counter(run.arm for run in results.success)
    few = [n for n in sorted(set(seeds.values())) if n in COVERAGE]
    if not few:
        return []
    counts = [f"{COVERAGE[n]} of 100 cases with {n} seeds" for n in few]
    said = ", in ".join(counts)
    return [
        f"Intervals of few seeds are too narrow: those of one size hold the true value in {said}; "
        "the others are too narrow as well.",
        "",
    ]
