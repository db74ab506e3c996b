"""Checks the numbers of a config or of a command's options, and says in one line what is wrong.

`__post_init__` of every config calls this. Numbers that are not finite and negative counts are
always refused; other rules are given field by field.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from swap.errors import UserError

Names = Sequence[str]
MOST = 2**63 - 1
"""The largest integer that fits into 64 bits."""
OPTION = "--"
"""The value of `where` if fields are options of a command."""


def check_numbers(
    cfg: Any,
    where: str = "",
    *,
    positive: Names = (),
    not_negative: Names = (),
    at_least_1: Names = (),
    fractions: Names = (),
    filled: Names = (),
    signed: Names = (),
) -> None:
    """Check every number in the fields of a dataclass, inside tuples too; None is allowed.

    `where` goes before a field's name: `ppo.`, or `--` for an option. `filled` tuples must not be
    empty. Integers are counts, 0 or more, unless they are `signed`. Nested configs check
    themselves.
    """
    ruled = {*signed, *at_least_1, *positive}  # may be negative, or have a rule below
    for field in dataclasses.fields(cfg):
        for x in _numbers(getattr(cfg, field.name)):
            if isinstance(x, int) and abs(x) > MOST:  # no library could take it
                raise _refused(cfg, where, field.name, f"use at most {MOST}")
            if not math.isfinite(x):
                raise _refused(cfg, where, field.name, "give a finite number")
            if isinstance(x, int) and x < 0 and field.name not in ruled:
                raise _refused(cfg, where, field.name, "use 0 or more")
    rules: tuple[tuple[Names, Callable[[float], bool], str], ...] = (
        (positive, lambda x: x > 0, "use more than 0"),
        (not_negative, lambda x: x >= 0, "use 0 or more"),
        (at_least_1, lambda x: x >= 1, "use 1 or more"),
        (fractions, lambda x: 0 <= x <= 1, "it is a fraction, use 0 to 1"),
    )
    for names, fine, says in rules:
        for name in names:
            if not all(map(fine, _numbers(getattr(cfg, name)))):
                raise _refused(cfg, where, name, says)
    for name in filled:
        if not getattr(cfg, name):
            raise _refused(cfg, where, name, "give at least one")


def _numbers(value: Any) -> Iterator[float]:
    """All numbers in a value, at any depth of tuples and lists; booleans do not count."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            yield from _numbers(item)


def _refused(cfg: Any, where: str, name: str, says: str) -> UserError:
    value = getattr(cfg, name)
    if where == OPTION:
        given = " ".join(map(str, value)) if isinstance(value, tuple) else value
        return UserError(f"--{name.replace('_', '-')} {given}; {says}")
    return UserError(f"{where}{name}={value}; {says}")
