"""Lists what is left to do in a study, as plain commands. The folder of a study:

    FOLDER/study.toml                 the study
    FOLDER/configs/ARM.json           what the options of an arm meant when its first run began
    FOLDER/runs/ARM-SEED/             run folders: large, needed only until a run is done
    FOLDER/models/ARM-SEED.*          the trained robots
    FOLDER/metrics/ARM-SEED.jsonl     how they learned; there once a run is done
    FOLDER/measured/NAME/ARM-SEED.json
    FOLDER/films/NAME/ARM-SEED.*      films, and strips of pictures of them
    FOLDER/logs/ARM-SEED.log          what training and keeping said
    FOLDER/logs/ARM-SEED-NAME.log     what a measurement or film said
    FOLDER/*.png, report.md           figures and tables

Tables and figures need only metrics and measurements; measurements need only models.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from swap.errors import UserError
from swap.files import replace_file
from swap.runs.checkpoint import FOLDER, latest_checkpoint, numbered
from swap.runs.metrics import read_metrics
from swap.study.study import FILE, Run, Study, by_option, check_same, command_of, read_study


class Kind(IntEnum):
    """What a command does; where several commands could run, the lowest kind goes first."""

    KEEP = 0
    MEASURE = 1
    FILM = 2
    RESUME = 3
    TRAIN = 4


@dataclass(frozen=True)
class CommandLine:
    """One command line of one run."""

    run: Run
    kind: Kind
    what: str
    """`train`, `keep`, or the name of a measurement or film."""
    words: tuple[str, ...]
    """The command line, without `swap`."""

    @property
    def label(self) -> str:
        return f"{self.run.name} {self.what}"

    @property
    def line(self) -> str:
        return shlex.join(["swap", *self.words])


@dataclass(frozen=True)
class Folder:
    """The paths in the folder of a study."""

    root: Path

    def config(self, arm: str) -> Path:
        return self.root / "configs" / f"{arm}.json"

    def run(self, run: Run) -> Path:
        return self.root / "runs" / run.name

    def model(self, run: Run) -> Path:
        return self.root / "models" / f"{run.name}.safetensors"

    def metrics(self, run: Run) -> Path:
        return self.root / "metrics" / f"{run.name}.jsonl"

    def measured(self, name: str, run: Run) -> Path:
        return self.root / "measured" / name / f"{run.name}.json"

    def film(self, name: str, run: Run, ending: str = ".png") -> Path:
        return self.root / "films" / name / f"{run.name}{ending}"

    def log(self, run: Run, name: str | None = None) -> Path:
        """`name`: that of a measurement or film, which may run beside others of its run."""
        end = "" if name is None else f"-{name.replace(' ', '-')}"
        return self.root / "logs" / f"{run.name}{end}.log"

    def log_of(self, command: CommandLine) -> Path:
        measures = command.kind in (Kind.MEASURE, Kind.FILM)
        return self.log(command.run, command.what if measures else None)

    @property
    def study(self) -> Path:
        return self.root / FILE


def check_folder(study: Study, folder: Folder) -> None:
    """Raises a UserError for the folder of another study or of a run; writes nothing."""
    if (folder.root / FOLDER).is_dir():
        raise UserError(f"'{folder.root}' holds a run, not a study; give another --out")
    if not folder.study.is_file():
        return
    there = read_study(folder.study)

    def begun(table: str, name: str) -> bool:
        if table != "arms":
            home = folder.root / {"measure": "measured", "film": "films"}[table] / name
            return any(home.glob("*.*"))
        runs = [Run(name, seed) for seed in there.seeds]
        return any(folder.run(run).exists() or folder.metrics(run).exists() for run in runs)

    check_same(study, there, folder.root, begun)


def create_folder(study: Study, folder: Folder) -> None:
    """Creates the folder and writes the study file into it; refuses a folder of another study."""
    check_folder(study, folder)
    for place in ("runs", "models", "metrics", "measured", "logs"):
        (folder.root / place).mkdir(parents=True, exist_ok=True)
    for home, names in (("measured", study.measure), ("films", study.film)):
        for name in names:
            (folder.root / home / name).mkdir(parents=True, exist_ok=True)
    text = study.as_toml().encode()
    if not folder.study.is_file() or folder.study.read_bytes() != text:
        replace_file(folder.study, text)


def commands_left(study: Study, folder: Folder, run: Run, device: str) -> list[CommandLine]:
    """The commands that are left of one run, in order. What was measured or filmed of a robot that
    is about to be trained anew is left, too."""
    out, done = [], folder.metrics(run).is_file()
    if not done:
        home = folder.run(run)
        if not trained(study, home):
            out.append(train(study, folder, run, device))
        words = ["keep", str(home), "--out", str(folder.model(run))]
        # A keep that was stopped, or a robot that is trained anew, has left its files.
        words += ["--metrics", str(folder.metrics(run)), "--overwrite"]
        out.append(CommandLine(run, Kind.KEEP, "keep", tuple(words)))
    for name, typed in study.measure.items():
        if not done or not folder.measured(name, run).is_file():
            command = command_of(typed)
            assert command is not None
            first = command.split()
            words = [*first, str(folder.model(run)), *typed[len(first) :], "--device", device]
            words += ["--json", str(folder.measured(name, run))]
            out.append(CommandLine(run, Kind.MEASURE, name, tuple(words)))
    for name, typed in study.film.items():
        still = folder.film(name, run)
        # A folder that was kept without its models goes on with the runs that are left.
        there = still.is_file() or not folder.model(run).is_file()
        if run.seed == study.seeds[0] and not (done and there):
            words = ["play", str(folder.model(run)), *typed, "--device", device]
            words += ["--out", str(folder.film(name, run, ".mp4")), "--still", str(still)]
            out.append(CommandLine(run, Kind.FILM, f"film {name}", tuple(words)))
    return out


def remove_stale(study: Study, folder: Folder, run: Run) -> list[Path]:
    """Removes what was measured and filmed of the robot that a run had before it is trained anew,
    and returns the files. Nothing can have been measured of a run that was not kept yet."""
    if folder.metrics(run).is_file():
        return []
    files = [folder.measured(name, run) for name in study.measure]
    files += [folder.film(name, run) for name in study.film]
    there = [file for file in files if file.is_file()]
    for file in there:
        file.unlink()
    return there


def train(study: Study, folder: Folder, run: Run, device: str) -> CommandLine:
    """The command that begins a run, or resumes it if there is a checkpoint."""
    home, options = folder.run(run), study.options(run)
    if numbered(home / FOLDER):
        words = ["train", *without(options, "--from"), "--resume", str(home), "--device", device]
        return CommandLine(run, Kind.RESUME, "train", tuple(words))
    words = ["train", *options, "--steps", f"{study.steps:.0f}", "--out", str(home)]
    return CommandLine(run, Kind.TRAIN, "train", (*words, "--device", device))


def without(options: Sequence[str], flag: str) -> list[str]:
    """The options without this one and its value, for a resumed run, which must not begin from a
    model again."""
    return [word for name, words in by_option(options) if name != flag for word in words]


def trained(study: Study, home: Path) -> bool:
    """Whether a run has made all its steps, and the last checkpoint is saved."""
    newest = latest_checkpoint(home / FOLDER)
    rows = read_metrics(home) if newest is not None and (home / "metrics.jsonl").is_file() else []
    if newest is None or not rows:
        return False
    return rows[-1]["iteration"] == int(newest.name) and rows[-1].get("steps", 0) >= study.steps


def missing_model(folder: Folder, commands: Sequence[CommandLine]) -> str | None:
    """Why the commands cannot run, or None: the model of a finished run is missing."""
    if not commands or commands[0].kind is not Kind.MEASURE:
        return None
    run = commands[0].run
    if folder.model(run).is_file():
        return None
    model, metrics = folder.model(run), folder.metrics(run)
    return f"{run.name} is done, but '{model}' is missing: put it back, or remove '{metrics}'"


def command_lines(
    study: Study, folder: Folder, device: str, file: Path, runs: Sequence[Run]
) -> list[str]:
    """One line for each run, to be run in any order on any machine that sees the folder; then one
    for the figures."""
    several = [commands_left(study, folder, run, device) for run in runs]
    out = [" && ".join(command.line for command in commands) for commands in several if commands]
    end = ["swap", "study", str(file), "--out", str(folder.root), "--only", "figures"]
    return [*out, shlex.join(end)]
