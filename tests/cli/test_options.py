"""Every number of every config is checked: senseless values are refused before anything is
built."""

import dataclasses
import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swap.cli import main as cli
from swap.errors import UserError
from swap.presets import PRESETS

SIGNED: dict[str, str] = {}
"""Integers that may be negative, and why: none so far."""
COMMANDS = [name for name in cli.COMMANDS if name != "train"]  # its options are the presets'


def replaced(cfg: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same config, with another value at a path of fields and of places in tuples."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if dataclasses.is_dataclass(cfg):
        return dataclasses.replace(cfg, **{head: replaced(getattr(cfg, head), rest, value)})
    return tuple(replaced(x, rest, value) if i == head else x for i, x in enumerate(cfg))


def numbers(value: Any, hint: str = "", path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of numbers, also of those not set: path and kind, int or float."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name), str(field.type), (*path, field.name))
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        yield path, int if "float" not in hint else float
    elif isinstance(value, tuple) and value:
        for i, item in enumerate(value):
            yield from numbers(item, hint, (*path, i))
    elif value is None or value == ():  # not given by default: as if it were
        if value is None and ("float" in hint or "int" in hint) and "tuple" not in hint:
            yield path, float if "float" in hint else int
        elif "tuple" in hint and ("float" in hint or "int" in hint) and "str" not in hint:
            yield (*path, None), float if "float" in hint else int


def refusal(cfg: Any, path: tuple[Any, ...], value: float) -> str:
    if path[-1] is None:
        path, value = path[:-1], (value, value)  # type: ignore[assignment]
    with pytest.raises(UserError) as error:
        replaced(cfg, path, value)
    return str(error.value)


def assert_refused(cfg: Any) -> int:
    """Checks every number of a config, one after the other; returns how many there are."""
    count = 0
    for path, kind in numbers(cfg):
        name = [step for step in path if isinstance(step, str)][-1]
        for value in (math.nan, math.inf, -math.inf) if kind is float else (-1,):
            if kind is int and name in SIGNED:
                continue
            told = refusal(cfg, path, value)
            assert name in told.replace("-", "_"), (path, value, told)
            assert "\n" not in told
            count += 1
    return count


@pytest.mark.parametrize("preset", PRESETS)
def test_no_number_of_a_preset_may_be_senseless(preset):
    assert assert_refused(PRESETS[preset]) > 100


@pytest.mark.parametrize("name", COMMANDS)
def test_no_number_of_a_command_may_be_senseless(name):
    made = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}").Args
    needed = [f for f in dataclasses.fields(made) if f.default is dataclasses.MISSING]
    assert_refused(made(**{f.name: Path("x") for f in needed}))


def test_the_walk_finds_a_number_wherever_it_is():
    @dataclasses.dataclass(frozen=True)
    class Inner:
        pair: tuple[float, float] = (1.0, 2.0)
        several: tuple[int, ...] = ()
        flag: bool = True

    @dataclasses.dataclass(frozen=True)
    class Outer:
        inner: Inner = Inner()
        maybe: float | None = None
        named: tuple[tuple[str, float], ...] = (("a", 1.0),)

    assert set(numbers(Outer())) == {
        (("inner", "pair", 0), float),
        (("inner", "pair", 1), float),
        (("inner", "several", None), int),
        (("maybe",), float),
        (("named", 0, 1), float),
    }


TRAIN = ("train", "--preset", "swap", "--device", "cpu")


@pytest.mark.parametrize(
    "words",
    [
        *((*TRAIN, *x.split()) for x in (
            "--ppo.clip -1", "--ppo.clip 0", "--ppo.max-grad-norm 0", "--ppo.max-grad-norm nan",
            "--worlds -4", "--worlds 0", "--ppo.gamma nan", "--ppo.gamma 1.1",
            "--policy.init-std nan", "--policy.init-std 0", "--policy.init-std 3",
            "--amp.weight nan", "--amp.hidden", "--policy.actor-hidden", "--policy.actor-hidden 0",
            "--model.net.channels", "--env.rewards.terms headway nan",
            "--env.terminations.episode-length-s inf", "--env.noise.gravity -0.1",
            "--env.families box nan",
            "--model.lr inf", "--seed -1", "--minutes nan", "--ppo.desired-kl -1", "--steps inf",
            "--guard.fault-fraction nan", "--model.net.unimix 2", "--env.random.ranges.push -1",
            "--ppo.final-max-std 0.01", "--save-minutes -1", "--env.commands.yaw-limit-rps 0",
        )),
        *(tuple(x.split()) for x in (
            "eval swap --speed nan", "eval swap --speed 0", "eval swap --trials 0",
            "eval swap --points -1", "eval swap --seed -1", "eval swap --family box --sizes nan",
            "record swap --speed inf", "record swap --trials 0", "gait swap --speeds nan",
            "gait swap --robots 0", "gait swap --seconds inf", "play swap --fps nan",
            "play swap --width -2", "play swap --speed nan", "play swap --size nan",
            "motions --seconds nan", "motions --turn inf", "motions --speed nan",
            "curves x --minutes nan", "courses --seed -1", "check model --steps 0",
            "bench nn --repeats 0", "bench model --worlds -1", "bench sim --seconds nan",
            "bench sim --slots 0", "bench train --iterations 0", "bench train --warm-up -1",
        )),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_senseless_option_is_one_line_that_names_it(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cli.train.train", "presets.parkour.ParkourEnv", "presets.swap.transitions"):
        monkeypatch.setattr(f"swap.{name}", lambda *args, **more: pytest.fail("it was built"))
    option = [word for word in words if word.startswith("--")][-1]
    with pytest.raises(UserError) as error:
        cli.dispatch(list(words))
    last = option.lstrip("-").split(".")[-1].replace("-", "_")
    assert last in str(error.value).replace("-", "_") or "family" in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("train", "--preset", "tiny", "--worlds", "-4"),
                                   ("eval", "swap", "--trials", "-4")], ids=" ".join)  # fmt: skip
def test_the_advice_for_a_negative_number_would_be_taken(words):
    with pytest.raises(UserError, match="use 1 or more"):
        cli.dispatch(list(words))
