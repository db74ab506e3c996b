"""Reads a study file: the arms to compare, seeds, budget and measurements.

A study is a TOML file. Arms are options of `swap train`, measurements are commands on a trained
robot, both as one would type them:

    about = "What does the constraint buy?"
    seeds = [0, 1, 2]
    steps = 140e6                # control steps of all worlds together, the same for every arm
    train = "--worlds 4096"      # options of all arms that do not set them; may be left out

    [arms]
    swap = "--preset swap"
    plain = "--preset swap-no-eq --ppo.epochs 4"

    [measure]
    boxes = "eval --family box --sizes 1.0 1.5 --trials 1500"

    [reach]                      # sizes for the table of when they were reached; may be left out
    box = [1.0, 1.5]

    [film]                       # options of swap play, for the first seed; may be left out
    climbing = "--family box --size 1.2"

In options of training, {seed} stands for the seed of a run, so that one study can go on with the
robots of another: `--from out/study/walkers/models/swap-{seed}.safetensors`.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swap.errors import UserError, printable, unknown
from swap.registry import is_code

SHIPPED = Path(__file__).parent / "studies"
MEASURES = ("eval", "record", "gait", "reconstruct", "check model")
"""Commands that measure a trained robot."""
OURS = {
    "arms": ("seed", "steps", "minutes", "iterations", "out", "resume", "device"),
    "measure": ("json", "plot", "device"),
    "film": ("out", "still", "device"),
}
"""Options that the study sets itself."""
FILE = "study.toml"
"""Name of the study file in the folder of a study."""
HOW = {
    **dict.fromkeys(("about", "train"), "write it in quotation marks"),
    **dict.fromkeys(("arms", "measure", "film"), 'make it a table: [arms] with NAME = "OPTIONS"'),
    "reach": "make it a table: [reach] with FAMILY = [sizes]",
    "seeds": "give a list of whole numbers, e.g. [0, 1, 2]",
    "steps": "give a number without quotation marks, e.g. 140e6",
}
"""How each key of a study file is written."""
SEED = "{seed}"
"""Stands for the seed of a run in options of training."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Study:
    """The contents of a study file."""

    name: str
    seeds: tuple[int, ...]
    steps: float
    arms: Mapping[str, tuple[str, ...]]
    """Name -> words of `swap train`."""
    measure: Mapping[str, tuple[str, ...]]
    """Name -> words of a command, without `swap` and the robot."""
    reach: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Family -> sizes."""
    film: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> words of `swap play`."""
    train: tuple[str, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise self._wrong(f"seeds = {list(self.seeds)}; list some, each once, from 0 on")
        if not 0 < self.steps < 1e18:
            raise self._wrong(f"steps = {self.steps}; give the control steps of a run, e.g. 140e6")
        if not self.arms:
            raise self._wrong('no [arms]; give at least one, e.g. swap = "--preset swap"')
        for table in OURS:
            for name, words in getattr(self, table).items():
                if not NAME.fullmatch(name):
                    raise self._wrong(f"'{name}' in [{table}] is no file name; use a-z, 0-9, . - _")
                self._check_words(table, name, words)
        self._check_words("arms", "train", self.train)
        for name, words in self.measure.items():
            if not command_of(words):
                one = unknown("measurement", words[0] if words else "", MEASURES)
                raise self._wrong(f"{name} in [measure]: {one}")
            if any(name == "--course" for name, _ in by_option(words)):
                raise self._wrong(f"{name} in [measure] has --course; a study measures --family")

    def _check_words(self, table: str, name: str, words: tuple[str, ...]) -> None:
        for word in words:
            option = word.partition("=")[0].removeprefix("--").removeprefix("run.")
            if word.startswith("--") and option in OURS[table]:
                raise self._wrong(f"{name} has --{option}, which the study sets; leave it out")

    def _wrong(self, what: str) -> UserError:
        return UserError(f"study '{self.name}': {what}")

    @property
    def code(self) -> list[str]:
        """The words of the study that name code."""
        tables = (self.arms, self.measure, self.film)
        every = [*self.train, *(w for x in tables for words in x.values() for w in words)]
        parts = [part for word in every for part in word.split("=")]
        return list(dict.fromkeys(part for part in parts if is_code(part)))

    @property
    def runs(self) -> list["Run"]:
        """All runs, seed by seed, so that the arms can be compared as early as possible."""
        return [Run(arm, seed) for seed in self.seeds for arm in self.arms]

    def options(self, run: "Run") -> list[str]:
        """The options of `swap train` for the arm and seed of a run."""
        words = [*self.train_words(run.arm), "--seed", SEED]
        return [word.replace(SEED, str(run.seed)) for word in words]

    def train_words(self, arm: str) -> list[str]:
        """The arm's options, then those of all arms that it does not set itself."""
        own = self.arms[arm]
        names = {name for name, _ in by_option(own)}
        common = [words for name, words in by_option(self.train) if name not in names]
        return [*own, *(word for words in common for word in words)]

    def as_toml(self) -> str:
        def toml(value: Any) -> str:  # TOML writes strings, numbers and lists as JSON does
            words = isinstance(value, tuple) and all(isinstance(x, str) for x in value)
            text = shlex.join(value) if words and value else value or ""
            return json.dumps(text, ensure_ascii=False)  # TOML has no surrogate pairs

        lines = [f"about = {toml(self.about)}", f"seeds = {toml(list(self.seeds))}"]
        lines += [f"steps = {float(self.steps)}", f"train = {toml(self.train)}"]
        for table in OURS:
            pairs = getattr(self, table).items()
            lines += ["", f"[{table}]", *(f'"{name}" = {toml(words)}' for name, words in pairs)]
        sizes = (f'"{name}" = {json.dumps(list(x))}' for name, x in self.reach.items())
        return "\n".join([*lines, "", "[reach]", *sizes, ""])


def by_option(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Divides typed words into options: each one's name, and its words with the name first. Words
    before the first option have the name ''."""
    out: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--"):
            out.append((word.partition("=")[0], [word]))
        elif out:
            out[-1][1].append(word)
        else:
            out.append(("", [word]))
    return out


@dataclass(frozen=True)
class Run:
    """One training: an arm and a seed."""

    arm: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.seed}"


def command_of(words: tuple[str, ...]) -> str | None:
    """The command of MEASURES with which the words begin."""
    return next((x for x in MEASURES if tuple(x.split()) == words[: len(x.split())]), None)


def find_study(path: Path) -> Path:
    """Returns the file itself, the file in the folder of a study that has begun, or the file of
    that name that comes with swap."""
    if path.is_file():
        return path
    if (path / FILE).is_file():
        return path / FILE
    known = sorted(file.stem for file in SHIPPED.glob("*.toml"))
    if len(path.parts) == 1 and path.name in known:
        return SHIPPED / f"{path.name}.toml"
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UserError(f"no study file '{path}'; name a .toml file, or one of {', '.join(known)}")
    raise unknown("study", str(path), known)


def read_study(path: Path) -> Study:
    path = find_study(path)
    name = path.parent.name if path.name == FILE else path.stem
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read '{path}': {printable(error, 200)}") from None
    kinds: dict[str, Any] = {
        **dict.fromkeys(("about", "train"), str),
        **dict.fromkeys(("arms", "measure", "reach", "film"), dict),
        "seeds": list,
        "steps": (int, float),
    }
    for key, value in data.items():
        if key not in kinds:
            raise unknown(f"key of study '{name}'", key, kinds)
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise UserError(f"study '{name}': {key} = {value!r:.60} is of no use; {HOW[key]}")
    for key in ("seeds", "steps", "arms"):
        if key not in data:
            raise UserError(f"study '{name}' says nothing of {key}")
    try:
        return Study(
            name=name,
            seeds=tuple(map(_seed, data["seeds"])),
            steps=float(data["steps"]),
            arms={key: _words(text) for key, text in data["arms"].items()},
            measure={key: _words(text) for key, text in data.get("measure", {}).items()},
            reach={key: _sizes(x) for key, x in data.get("reach", {}).items()},
            film={key: _words(text) for key, text in data.get("film", {}).items()},
            train=_words(data.get("train", "")),
            about=data.get("about", ""),
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"study '{name}': {error}") from None


def _words(text: Any) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise ValueError(f"{printable(text, 60)} is no text; type options in quotation marks")
    return tuple(shlex.split(text))


def _sizes(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise ValueError(f"reach {value!r:.60} is no list; write e.g. box = [0.2, 0.4]")
    return tuple(map(float, value))


def _seed(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"seed {value!r:.60} is no whole number; write e.g. seeds = [0, 1, 2]")
    return value


def check_same(
    given: Study, there: Study, where: Path, begun: Callable[[str, str], bool] = lambda *_: True
) -> None:
    """Raises a UserError if a study that has begun was changed; only new arms, seeds and
    measurements may be added. What is left out would be forgotten, and could come back as something
    else. `begun` says of a table and a name whether anything of it exists; if not, it may change.
    """
    pairs = {"steps": (given.steps, there.steps), "train": (given.train, there.train)}
    if not any(begun("arms", arm) for arm in there.arms):
        pairs = {}
    for table in OURS:
        ours, theirs = getattr(given, table), getattr(there, table)
        there_now = {name: words for name, words in theirs.items() if begun(table, name)}
        if gone := [name for name in there_now if name not in ours]:
            raise UserError(
                f"'{where}' was begun with {gone[0]} in [{table}], which is missing now; put it "
                "back, or give another --out"
            )
        pairs |= {f"{table}.{name}": (ours[name], words) for name, words in there_now.items()}
    for what, (new, old) in pairs.items():
        if new != old:
            raise UserError(
                f"'{where}' was begun with another {what} ({_shown(old)}, not {_shown(new)}); "
                f"give another --out{', or another name' * ('.' in what)}"
            )


def _shown(value: Any) -> str:
    return shlex.join(value) if isinstance(value, tuple) else f"{value:g}"
