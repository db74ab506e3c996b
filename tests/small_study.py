"""Studies small enough for a test, and commands that run in the test's own process."""

import contextlib
import io
import json
import shlex
import tomllib
from pathlib import Path

from swap.cli import main as cli
from swap.errors import UserError
from swap.study.study import SHIPPED

SMALL_NETS = (
    "--policy.actor-hidden 16 --policy.critic-hidden 16 --model.net.deter 16 "
    "--model.net.variables 4 --model.net.classes 4 --model.net.hidden 16 --model.net.channels 4 4 "
    "--model.net.prop-hidden 8 --model.net.decoder-hidden 8 --model.batch 2 --model.ticks 2 "
    "--model.updates 1 --model.memory 3 --amp.hidden 16 --amp.batch 8 --amp.updates 1 "
    "--amp.replay 64"
)
SMALL = (
    "--worlds 4 --ppo.steps 6 --ppo.epochs 1 --ppo.minibatches 2 --env.levels 2 --env.variants 1 "
    "--no-tensorboard"
)
STEPS = 96
"""Four iterations of these."""


class Done:
    """A process that is over."""

    def __init__(self, code: int) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code

    def terminate(self) -> None:
        pass


def here(command, log: Path) -> Done:
    """Starts a command without a process: torch is loaded once for all of them."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = cli.dispatch(list(command.words))
        except UserError as error:
            said.write(f"swap: {error}\n")
            code = 2
    with open(log, "a") as file:
        file.write(f"$ {command.line}\n{said.getvalue()}")
    return Done(code)


def written(path: Path, data: dict) -> Path:
    """A dict of plain values as a TOML file."""

    def text(x: object) -> str:
        return json.dumps(x, ensure_ascii=False)

    lines = [f"{k} = {text(x)}" for k, x in data.items() if not isinstance(x, dict)]
    for table, entries in data.items():
        if isinstance(entries, dict):
            lines += [f"[{table}]", *(f'"{k}" = {text(x)}' for k, x in entries.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def shrunk(name: str, path: Path) -> Path:
    """A study that ships: its first arm and its last, two seeds, four iterations, few trials."""
    data = tomllib.loads((SHIPPED / f"{name}.toml").read_text())
    arms = list(data["arms"])
    data["arms"] = {arm: data["arms"][arm] for arm in (arms[0], arms[-1])}
    data |= {"seeds": [0, 1], "steps": STEPS, "train": f"{SMALL} {SMALL_NETS}"}
    data.setdefault("film", {})
    data["measure"] = {key: fewer(words) for key, words in data["measure"].items()}
    films = {key: words.replace("--width 320", "--width 64") for key, words in data["film"].items()}
    data["film"] = {key: f"{words} --fps 10" for key, words in films.items()}
    return written(path, data)


def fewer(typed: str) -> str:
    """A measurement with two sizes and two trials."""
    words = shlex.split(typed)
    if "--sizes" in words:
        at = words.index("--sizes")
        rest = next((k for k in range(at + 1, len(words)) if words[k].startswith("--")), len(words))
        words = [*words[: at + 3], *words[rest:]]
    for flag, few in (("--trials", "2"), ("--robots", "2")):
        if flag in words:
            words[words.index(flag) + 1] = few
    more = {"reconstruct": ["--seconds", "0.2"], "check": ["--steps", "2"]}.get(words[0], [])
    return shlex.join([*words, *more])
