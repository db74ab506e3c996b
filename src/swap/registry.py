"""Keeps a table for each kind of thing that users can add, found by name or import string.

A word is a name or an import string. Names are known: built in, added from Python, or provided by
an installed package (an entry point). Import strings, `package.module:NAME` or
`path/file.py:NAME`, are code. Code only runs if the user names it on this command line
(`from_user`), and a line says so. `registry[word]`, which is for words from files, runs nothing.
"""

import importlib
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from swap.errors import UserError, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
Say = Callable[[str], None]
Accept = Callable[[object, str, str], T]
"""Takes an object, its name, and a text that says where it was found; returns the thing or raises a
UserError."""


class Registry(Generic[T]):
    """Reads like a dict of all names; an unknown name is a UserError that lists similar ones."""

    def __init__(
        self,
        kind: str,
        group: str,
        accept: Accept[T],
        *,
        how: str,
        built_in: Mapping[str, str] | None = None,
        attribute: str | None = None,
        label: Callable[[T], str] | None = None,
    ) -> None:
        """`group` is the group of entry points; `how` what to type to name code, with {} for the
        word; `built_in` our own import strings; `attribute` what to take from a bare `file.py`;
        `label` gives a thing's own name, under which it is then known too."""
        self.kind, self.group = kind, group
        self.added: dict[str, T] = {}
        self._accept, self._how, self._attribute, self._label = accept, how, attribute, label
        self._built_in = dict(built_in or {})
        self._by_word: dict[str, T] = {}
        self._word_of: dict[str, str] = {}  # by the names that code calls itself
        _REGISTRIES.append(self)

    # --- names ----------------------------------------------------------------------------------
    def __getitem__(self, word: str) -> T:
        word = self._word_of.get(word, word)
        for known in (self.added, self._by_word):
            if word in known:
                return known[word]
        if word in self._built_in:
            return self._accept(_imported(self._built_in[word]), word, f"'{word}'")
        if is_code(word):
            raise self.not_run(word, self._how.format(*2 * [shlex.quote(word)]))
        if (point := self._installed().get(word)) is not None:
            return self._from_package(point)
        raise unknown(self.kind, word, self)

    def __contains__(self, word: object) -> bool:
        here = (self.added, self._by_word, self._word_of, self._built_in)
        return any(word in known for known in here) or word in self._installed()

    def __iter__(self) -> Iterator[str]:
        """All names, without import strings."""
        return iter([*self._built_in, *self.added, *self._installed(), *self._word_of])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def keys(self) -> list[str]:
        return list(self)

    def values(self) -> list[T]:
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, T]]:
        return [(name, self[name]) for name in self]

    def check(self, word: str) -> None:
        """Check a word of a config: a name must be known; code is not run, it may not be needed."""
        if not is_code(word) and word not in self:
            raise unknown(self.kind, word, self)

    def add(self, name: str, thing: T) -> None:
        """Add a thing from Python."""
        if name in self.added or name in self._built_in:
            raise UserError(f"{self.kind} '{name}' exists already; choose another name")
        self.added[name] = thing

    def not_run(self, word: str, how: str) -> UserError:
        return UserError(
            f"the {self.kind} '{word}' is code, and is not run: a file names it, not you; "
            f"if you trust it, name it yourself: {how}"
        )

    # --- words from the user ----------------------------------------------------------------------
    def from_user(self, word: str, say: Say = print) -> T:
        """Return what the user named on this command line. Code is run, and is known by its word
        from then on, so that configs may contain it."""
        if not is_code(word):
            return self[word]
        place, name = _split(word, self._attribute)
        if place.endswith(".py") and not Path(place).is_file():
            raise UserError(f"no {self.kind} file '{place}'; give the path of a .py file")
        found = _attribute(_run(place, say), place, name)
        thing = self._accept(found, name, f"{name} in '{place}'")
        if self._label is not None:
            label = self._label(thing)
            if self._word_of.get(label) != word and label in self:
                raise UserError(f"'{word}' is called '{label}', as another {self.kind}; rename it")
            self._word_of[label] = word
        self._by_word[word] = thing
        return thing

    # --- installed packages -----------------------------------------------------------------------
    def _installed(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self._built_in or point.name in self.added or point.name in found:
                raise UserError(
                    f"entry point '{point.name}' of {self.group} ({point.value}) repeats a "
                    f"{self.kind}'s name; rename it in that package"
                )
            found[point.name] = point
        return found

    def _from_package(self, point: "EntryPoint") -> T:
        where = f"entry point '{point.name}' of {self.group}"
        try:
            found = point.load()
        except Exception as error:
            raise UserError(f"{where} ({point.value}): {describe_error(error)}") from error
        thing = self._accept(found, point.name, where)
        if self._label is not None and (name := self._label(thing)) != point.name:
            raise UserError(f"{where} is called '{name}'; let both names be the same")
        return thing


_REGISTRIES: list[Registry[Any]] = []
_FILES: dict[Path, tuple[int, ModuleType]] = {}
"""Files that have run, with their modification time at that moment."""


def forget() -> None:
    """Forget all code that the user has named, so that every command begins as if it were the
    first."""
    _FILES.clear()
    for registry in _REGISTRIES:
        registry._by_word.clear()
        registry._word_of.clear()


def is_code(word: str) -> bool:
    """Whether it is an import string: `package.module:NAME`, `file.py:NAME` or `file.py`."""
    return ":" in word or word.endswith(".py")


def instance_of(kind: type[T], known_as: str) -> Accept[T]:
    """Make an Accept that takes instances of a class."""

    def accept(found: object, name: str, where: str) -> T:
        if not isinstance(found, kind):
            raise UserError(f"{where} is a {type(found).__name__}; make it a {known_as}")
        return found

    return accept


def guarded(
    function: Callable[..., T], where: str, code: Callable[..., Any] | None = None
) -> Callable[..., T]:
    """Wrap a user's function so that its errors become a UserError of one line with a place: the
    last line in the file of `code`, by default the function's own file."""
    code = code or (vars(function).get("__init__") if isinstance(function, type) else function)
    file = getattr(getattr(code, "__code__", None), "co_filename", None)

    def call(*args: Any, **more: Any) -> T:
        try:
            return function(*args, **more)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{where}: {describe_error(error, file)}") from error

    return call


def describe_error(error: BaseException, file: str | None = None) -> str:
    """Describe an error: `my.py, line 3: ZeroDivisionError: division by zero`. The line is the last
    one of the traceback in `file`; there is none if a call had the wrong arguments."""
    lines = str(error).splitlines() or [""]
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    what = lines[0] if isinstance(error, UserError) else f"{type(error).__name__}: {lines[0]}"
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if file in (None, frame.filename)]
    if not frames or isinstance(error, ImportError):
        return what.removesuffix(": ")
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {what}".removesuffix(": ")


def _split(word: str, attribute: str | None) -> tuple[str, str]:
    if word.endswith(".py"):
        if attribute is None:
            raise UserError(f"'{word}' is a file; say what to take of it, as in {word}:NAME")
        return word, attribute
    place, _, name = word.rpartition(":")
    if not place or not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"'{word}' is no import string; use package.module:NAME or file.py:NAME")
    return place, name


def _run(place: str, say: Say) -> ModuleType:
    """Run a file or import a module. Like Python scripts, they can import modules beside them and
    in the working folder; installed packages come first."""
    if not place.endswith(".py"):
        return _module(place, say)
    path = Path(place).resolve()
    changed = path.stat().st_mtime_ns
    if path in _FILES and _FILES[path][0] == changed:
        return _FILES[path][1]
    say(f"running {place}")
    _findable(path.parent)
    module = ModuleType(str(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look for their module there
    try:
        exec(compile(path.read_bytes(), place, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # any error of a user's file becomes one line
        raise UserError(describe_error(error, place)) from error
    _FILES[path] = changed, module
    return module


def _module(place: str, say: Say) -> ModuleType:
    _findable(Path.cwd())
    if place not in sys.modules:
        say(f"importing {place}")
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        raise UserError(f"cannot import '{place}': {describe_error(error)}") from error


def _findable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _imported(word: str) -> object:
    place, _, name = word.partition(":")
    return getattr(importlib.import_module(place), name)


def _attribute(module: ModuleType, place: str, name: str) -> object:
    try:
        found: object = reduce(getattr, name.split("."), module)
    except AttributeError:
        there = ", ".join(key for key in vars(module) if not key.startswith("_"))
        raise UserError(f"'{place}' defines no {name}; it has: {there or 'nothing'}") from None
    return found
