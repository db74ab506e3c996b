"""Converts configs (frozen dataclasses) to JSON and back, and checks every key.

It handles nested dataclasses, tuples, lists, dicts, Literals, paths and None. A key or value that
does not fit, or a number that is not finite, is refused by its full name before anything is built.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from swap.errors import UserError, printable, unknown

T = TypeVar("T")
HUGE = 2.0**63
"""Numbers of a config must be smaller than this."""


def to_json(value: Any) -> Any:
    """Turns a dataclass, or any part of one, into what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in init_fields(type(value))}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def from_json(cls: type[T], data: Any, where: str = "") -> T:
    """Returns the dataclass that `to_json` was given; missing keys take their defaults."""
    if not isinstance(data, Mapping):
        raise _misfit(where or cls.__name__, f"a table of {cls.__name__}", data)
    hints = typing.get_type_hints(cls)
    known = {f.name: f for f in init_fields(cls)}
    for key in data:
        if key not in known:
            raise unknown(f"{where or 'config'} key", key, known)
    for key, field in known.items():
        given = field.default is not dataclasses.MISSING
        if key not in data and not given and field.default_factory is dataclasses.MISSING:
            raise UserError(f"config key '{_join(where, key)}' is missing")
    values = {key: _fit(hints[key], item, _join(where, key)) for key, item in data.items()}
    return cls(**values)


def changes(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two configs, as `ppo.lr 0.001 -> 0.0003`."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = dict.fromkeys([*old, *new])
        return [
            line for key in keys for line in changes(old.get(key), new.get(key), _join(where, key))
        ]
    if _tables(old) and _tables(new) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for i, (a, b) in pairs for line in changes(a, b, f"{where}[{i}]")]
    return [] if old == new else [f"{where} {old} -> {new}"]


def _tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def init_fields(cls: Any) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(cls) if f.init]


def _fit(hint: Any, value: Any, where: str) -> Any:
    """Converts a value to its type, or raises a UserError that says why it does not fit."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _one_of(args, value, where)
    if origin is Literal:
        if value in args and any(type(value) is type(arg) for arg in args if arg == value):
            return value
        if isinstance(value, str):
            raise unknown(where, value, [str(arg) for arg in args])
        raise _misfit(where, " or ".join(map(repr, args)), value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value, where)
    if origin is tuple or origin is list:
        return _sequence(origin, args, value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise _misfit(where, "a table", value)
        return {key: _fit(args[1], item, _join(where, key)) for key, item in value.items()}
    if hint is Any:
        return value
    if hint is Path and isinstance(value, str):
        return Path(value)
    if type(value) in (int, float) and not abs(value) < HUGE:  # NaN and infinities, too
        raise _misfit(where, "a finite number", value)
    if hint is float and type(value) is int:
        return float(value)
    kind = type(None) if hint is None else hint
    if type(value) is kind:  # not isinstance: True must not pass as an integer
        return value
    raise _misfit(where, getattr(kind, "__name__", str(kind)), value)


def _one_of(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    rest = [hint for hint in hints if hint is not type(None)]
    if len(rest) == 1:  # so that the error says what is wrong inside
        return _fit(rest[0], value, where)
    for hint in sorted(rest, key=lambda hint: hint is not type(value)):
        try:
            return _fit(hint, value, where)
        except UserError:
            continue
    raise _misfit(where, " or ".join(getattr(h, "__name__", str(h)) for h in rest), value)


def _sequence(origin: Any, args: tuple[Any, ...], value: Any, where: str) -> Any:
    if not isinstance(value, list | tuple):
        raise _misfit(where, "a list", value)
    if origin is tuple and (len(args) != 2 or args[1] is not Ellipsis):
        if len(value) != len(args):
            raise _misfit(where, f"a list of {len(args)}", value)
        hints = list(args)
    else:
        hints = [args[0]] * len(value)
    return origin(
        _fit(hint, item, f"{where}[{i}]")
        for i, (hint, item) in enumerate(zip(hints, value, strict=True))
    )


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else str(key)


def _misfit(where: str, wanted: str, value: Any) -> UserError:
    return UserError(f"config key '{where}' must be {wanted}, not {printable(repr(value), 80)}")
