"""Random values for the options of every command: each ends with 0, 1 or 2, in time, and without a
traceback; a page that is served is visited, and ends with 130 after Ctrl-C. Every try is a fork of
this process, which has imported what is slow to import."""

import dataclasses
import importlib
import os
import queue
import re
import resource
import shlex
import shutil
import signal
import sys
import time
import types
import typing
from collections import Counter
from pathlib import Path
from random import Random

from soak.tally import Tally
from swap.cli import main as cli
from swap.presets.table import get_preset
from swap.study.study import by_option

MODELS = Path(__file__).parents[2] / "models"
LIMIT_S = 90.0
COMPILE_S = 600.0
"""A compiler works for two minutes on a quiet core."""
PAGE = "; Ctrl-C ends it"
"""`swap view` says so once it serves its page, and does so until it is stopped."""
MEMORY = 12 << 30
"""Bytes of address space: the machine is not ours alone."""
BASE = {
    "eval": "--family flat --points 1 --trials 1 --device cpu",
    "record": "--trials 1 --device cpu",
    "gait": "--robots 1 --seconds 1.5 --speeds 1.0 --device cpu",
    "reconstruct": "--trials 1 --seconds 0.2 --device cpu",
    "study": "arms --print",
    "play": "--width 64 --fps 10 --device cpu",
    "courses": "--family box --size 16x16",
    "train": "--preset tiny --worlds 2 --ppo.steps 4 --ppo.minibatches 1 --iterations 1 "
    "--no-tensorboard --device cpu",
    "check nn": "--device cpu",
    "check sim": "--device cpu",
    "check model": "--device cpu",
    "bench nn": "--batch 2 --images 1 --repeats 1 --device cpu",
    "bench model": "--worlds 1 --batch 1 --ticks 2 --repeats 1 --device cpu",
    "bench sim": "--worlds 1 --seconds 0 --device cpu",
    "bench train": "--preset tiny --worlds 2 --iterations 1 --warm-up 0 --device cpu",
}
"""What keeps a command short; what is drawn takes its place."""
ROBOTS = ("eval", "record", "gait", "reconstruct", "play", "check model", "keep")
"""Commands of a trained robot."""
SLOW = ("check nn", "check sim", "check model", "bench sim", "bench train", "record")
"""Minutes on a small machine: these get a bad value more often than a good one."""
LONG = ("trials", "repeats", "iterations", "seconds", "minutes", "points", "steps", "warm_up")
"""A large value of these asks for long work, and rightly gets it."""
NUMBERS = ("-1", "0", "1", "2", "3", "7")
LARGE = ("1000000000", "1000000000000", "9223372036854775808")
FRACTIONS = ("nan", "inf", "-inf", "-0.5", "0", "0.5", "1", "1e-30", "1e30")
WORDS = ("", "x", "box", "gap", "flat", "apollo", "go2", "cpu", "auto", "trot", "tiny", "no such")
ODD = ("", " ", "-", "--", "é", "\udcff", "0x10", "1,2", "None", "[1]", "a" * 5000, "\n", "%s")


def options(count: int, home: Path, chance: Random) -> list[Tally]:
    home.mkdir(parents=True)
    for name in cli.COMMANDS:
        importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
    files = ["teacher", "models/teacher.json", "/dev/null", "/proc/x.json", "", "no/such"]
    files += [str(home / name) for name in ("x.json", "x.png", "x.mp4", "x.gif", "x.safetensors")]
    tally, codes = Tally("random options"), Counter[int]()
    here = Path.cwd()
    os.chdir(home)  # some of them write into the folder they are in
    for k in range(count):
        shutil.copytree(MODELS, home / "models", dirs_exist_ok=True)  # or over a model
        name = list(cli.COMMANDS)[k % len(cli.COMMANDS)]
        words = [*name.split(), *drawn(name, files, chance)]
        if name == "train":
            words += ["--out", str(home / f"run-{k}")]
        codes[judge(words, home / "said", tally)] += 1
    os.chdir(here)
    tally.what += f", exit codes {', '.join(f'{n} x {code}' for code, n in sorted(codes.items()))}"
    return [tally]


def drawn(name: str, files: list[str], chance: Random) -> list[str]:
    """What is always there, what has no flag, and one to three options."""
    module = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
    words: list[str] = []
    fields = dict(leaves(module.Args))
    if name == "train":
        fields |= dict(leaves(type(get_preset("tiny"))))
        del fields["out"]
    if "run" in fields and name in ROBOTS:
        words.append(chance.choice(["teacher"] * 40 + files))
        del fields["run"]
    fields.pop("study", None)
    typed = dict(by_option(BASE.get(name, "").split()))
    for key in chance.sample(sorted(fields), min(len(fields), chance.randint(1, 3))):
        flag = f"--{key.replace('_', '-')}"
        typed[flag] = [flag, *value(key, fields[key], files, chance)]
    if name in SLOW and chance.random() < 0.8:
        typed["--device"] = ["--device", chance.choice(("tpu", "cuda:99", ""))]
    return [*words, *(word for one in typed.values() for word in one)]


def leaves(kind: type, before: str = "") -> list[tuple[str, object]]:
    """Every option of a dataclass and of those within it; a run's stand without a name before."""
    out: list[tuple[str, object]] = []
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        own = "" if field.name in ("run", "cfg") and before == "" else f"{before}{field.name}."
        if dataclasses.is_dataclass(hints[field.name]):
            out += leaves(hints[field.name], own)
        else:
            out.append((f"{before}{field.name}", hints[field.name]))
    return out


def value(key: str, kind: object, files: list[str], chance: Random) -> list[str]:
    if chance.random() < 0.1:
        return [chance.choice(ODD)]
    if key == "device":
        return [chance.choice(("cpu", "cpu", "auto", "cuda:99", "tpu"))]
    parts = typing.get_args(kind)
    if kind is bool:
        return []
    if typing.get_origin(kind) is tuple:
        return [w for _ in range(chance.randint(0, 3)) for w in value(key, parts[0], files, chance)]
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return value(key, next(p for p in parts if p is not type(None)), files, chance)
    if typing.get_origin(kind) is typing.Literal:
        return [chance.choice([str(p) for p in parts])]
    if kind is int:
        small = key.split(".")[-1] in LONG
        return [chance.choice(NUMBERS if small else NUMBERS + LARGE)]
    if kind is float:
        small = key.split(".")[-1] in LONG
        return [chance.choice(FRACTIONS if not small else ("nan", "-1", "0", "0.01", "2"))]
    if kind is Path:
        return [chance.choice(files)]
    return [chance.choice(WORDS)]


def judge(words: list[str], said: Path, tally: Tally) -> int:
    """Its exit code; -1 if it has none."""
    tally.tried += 1
    told = " ".join(map(shlex.quote, words))[:300]
    status = run(words, said)
    text = said.read_text(errors="replace")
    codes = (130,) if PAGE in text else (0, 1, 2)
    if status is None:
        tally.fault("late", told)
    elif "Traceback (most recent call last)" in text:
        tally.fault("tracebacks", f"{told}: {text.strip().splitlines()[-1][:200]}")
    elif os.WIFSIGNALED(status) or os.WEXITSTATUS(status) not in codes:
        tally.fault("lost", f"{told}: status {status}")
    elif os.WEXITSTATUS(status) == 2 and not text.strip():
        tally.fault("silent", told)
    return -1 if status is None or os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def run(words: list[str], said: Path) -> int | None:
    """The status of the command; None if it did not end in time. If it serves a page, somebody
    visits it, and then it is stopped as by Ctrl-C."""
    sys.stdout.flush()
    said.write_bytes(b"")  # what the last one said is not of this one
    child = os.fork()
    if child == 0:
        code = 70
        try:
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.setsid()  # what it starts ends with it
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            sys.argv = ["swap", *words]
            try:
                cli.main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
            except BaseException:
                import traceback

                os.write(2, traceback.format_exc().encode(errors="replace"))
        finally:
            os._exit(code)
    serves = words[0] == "view"
    compiled = any("compile" in word for word in words)
    end = time.monotonic() + (COMPILE_S if compiled else LIMIT_S)
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            if serves and PAGE in (text := said.read_text(errors="replace")):
                serves = False
                if visited(text):  # or it has ended by itself, or is late
                    os.killpg(child, signal.SIGINT)
            time.sleep(0.02)
    except BaseException:  # whoever stops the soak stops this too
        os.killpg(child, signal.SIGKILL)
        raise
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def visited(text: str) -> bool:
    """Whether a visitor, in a process of its own, could read the page for a second."""
    url = re.search(r"http://\S+:\d+", text)
    assert url is not None, text
    child = os.fork()
    if child == 0:
        code = 1
        try:
            from swap.view.live.bench import visit

            visit(url[0], 0.0, 1.0, queue.SimpleQueue())
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0
