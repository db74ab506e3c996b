"""Configs as JSON and back, and what is refused on the way."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest

from swap.errors import UserError
from swap.runs.config import changes, from_json, to_json


@dataclass(frozen=True)
class Inner:
    lr: float = 1e-3
    epochs: int = 5
    kind: Literal["adam", "sgd"] = "adam"


@dataclass(frozen=True)
class Outer:
    seed: int
    inner: Annotated[Inner, "a note for somebody else"] = field(default_factory=Inner)
    sizes: tuple[int, ...] = (256, 128)
    span: tuple[float, str] = (0.5, "m")
    many: tuple[Inner, ...] = ()
    maybe: Inner | None = None
    limit: float | None = None
    either: int | str = 3
    weights: dict[str, float] = field(default_factory=dict)
    where: Path = Path("out")
    on: bool = True


FULL = Outer(
    seed=2**40,
    inner=Inner(lr=0.1 + 0.2, kind="sgd"),
    sizes=(),
    span=(1e-300, "s"),
    many=(Inner(epochs=1), Inner()),
    maybe=Inner(),
    limit=3.0,
    either="x",
    weights={"lin_vel": 1.5},
    where=Path("a/b"),
    on=False,
)


@pytest.mark.parametrize("cfg", [Outer(1), FULL])
def test_round_trip_is_exact(cfg):
    back = from_json(Outer, json.loads(json.dumps(to_json(cfg))))
    assert back == cfg
    assert type(back.sizes) is tuple
    assert type(back.where) is type(cfg.where)


def test_missing_keys_take_their_defaults():
    assert from_json(Outer, {"seed": 1}) == Outer(1)
    assert from_json(Outer, {"seed": 1, "inner": {"epochs": 2}}).inner == Inner(epochs=2)
    assert type(from_json(Outer, {"seed": 1, "inner": {"lr": 1}}).inner.lr) is float


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"sed": 1}, "unknown config key 'sed'; did you mean 'seed'?"),
        ({"seed": 1, "inner": {"epoch": 3}}, "unknown inner key 'epoch'; did you mean 'epochs'?"),
        ({}, "config key 'seed' is missing"),
        ({"seed": True}, "config key 'seed' must be int, not True"),
        ({"seed": 1.0}, "config key 'seed' must be int, not 1.0"),
        ({"seed": None}, "config key 'seed' must be int, not None"),
        ({"seed": 1, "on": 1}, "config key 'on' must be bool, not 1"),
        ({"seed": 1, "inner": 3}, "config key 'inner' must be a table of Inner, not 3"),
        ({"seed": 1, "inner": {"lr": "big"}}, "config key 'inner.lr' must be float, not 'big'"),
        ({"seed": 1, "inner": {"kind": "adm"}}, "unknown inner.kind 'adm'; did you mean 'adam'?"),
        ({"seed": 1, "sizes": [1, "2"]}, "config key 'sizes[1]' must be int, not '2'"),
        ({"seed": 1, "sizes": 3}, "config key 'sizes' must be a list, not 3"),
        ({"seed": 1, "span": [1.0]}, "config key 'span' must be a list of 2, not [1.0]"),
        ({"seed": 1, "many": [{"lt": 1}]}, "unknown many[0] key 'lt'; known: lr, epochs, kind"),
        ({"seed": 1, "maybe": {"epochs": 1.5}}, "config key 'maybe.epochs' must be int, not 1.5"),
        ({"seed": 1, "limit": "x"}, "config key 'limit' must be float, not 'x'"),
        ({"seed": 1, "either": 1.5}, "config key 'either' must be int or str, not 1.5"),
        ({"seed": 1, "weights": {"a": "b"}}, "config key 'weights.a' must be float, not 'b'"),
        ([1], "config key 'Outer' must be a table of Outer, not [1]"),
    ],
)
def test_what_does_not_fit_is_one_line_with_its_full_name(data, says):
    with pytest.raises(UserError) as error:
        from_json(Outer, data)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_changes_name_what_differs():
    assert changes(to_json(FULL), to_json(FULL)) == []
    assert changes(to_json(Outer(1)), to_json(Outer(2, Inner(lr=0.1)))) == [
        "seed 1 -> 2",
        "inner.lr 0.001 -> 0.1",
    ]
