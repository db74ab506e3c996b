"""The documents name files, functions and options that exist."""

import dataclasses
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swap.cli.main import COMMANDS
from swap.presets import PRESETS
from swap.runs.migrations import RUN

ROOT = Path(__file__).parent.parent
DOCS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*.md")]
HISTORY = ROOT / "docs/log.md"
"""It tells how things were: its commands and files are of today, but not the names it mentions."""
YOURS = re.compile(r"^(my|my_\w+|dog|file|FILE|NAME)\.\w+$")
"""Files that only the reader has."""
OTHERS = frozenset({"vel_b", "pos_w", "_rad", "taskset"})
"""Suffixes of names, and names of other programs."""


def code(text: str) -> Iterator[str]:
    """All that is set as code: lines of blocks, and words within a sentence."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL)
    yield from (line for block in blocks for line in block.splitlines())
    yield from re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@functools.cache
def words_of_the_sources() -> set[str]:
    folders = ("src/**/*.py", "tests/**/*.py", "tools/*.py")
    files = (file for folder in folders for file in ROOT.glob(folder) if file != Path(__file__))
    return {word for file in files for word in re.findall(r"\w+", file.read_text())}


def options(kind: Any, prefix: str = "") -> Iterator[str]:
    """The options of a dataclass and of those within it."""
    for field in dataclasses.fields(kind):
        given = [x.name for x in getattr(field.type, "__metadata__", ()) if hasattr(x, "name")]
        name = f"{prefix}{given[0] if given else field.name}".replace("_", "-")
        value = getattr(kind, field.name, None)
        if value is None and field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if dataclasses.is_dataclass(value):
            yield from options(value, f"{name}.".removeprefix(RUN).lstrip("."))
        yield name
        yield re.sub(r"[^.]+$", r"no-\g<0>", name)


@functools.cache
def known_options() -> dict[str, set[str]]:
    known = {}
    for name in COMMANDS:
        module = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
        known[name] = {*options(module.Args), "help"}
    known["train"] |= {word for preset in PRESETS.values() for word in options(preset)}
    return known


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.name)
def test_files_exist(doc):
    text = doc.read_text()
    every = {str(path.relative_to(ROOT)) for path in ROOT.glob("[a-z]*/**/*") if path.is_file()}
    named = [x for x in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if ":" not in x]
    for span in code(text):
        named += re.findall(r"(?<![\w./*{<-])[\w./-]+\.(?:py|md|toml|sh)\b", span)
    for name in named:
        if YOURS.match(name) or name.startswith(("out/", "/")):
            continue
        there = (ROOT / name).exists() or (doc.parent / name).exists()
        assert there or any(path.endswith(f"/{name}") for path in every), name


@pytest.mark.parametrize("doc", [x for x in DOCS if x != HISTORY], ids=lambda doc: doc.name)
def test_names_of_classes_and_functions_exist(doc):
    known = words_of_the_sources() | OTHERS
    for span in code(doc.read_text()):
        if re.fullmatch(r"[A-Za-z_][\w.]*(\([^)]*\))?", span) and not YOURS.match(span):
            for part in re.findall(r"[A-Za-z_]\w+", span.partition("(")[0]):
                assert span in known or part in known, span


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.name)
def test_options_exist(doc):
    known = known_options()
    words = "|".join(sorted(COMMANDS, key=len, reverse=True))
    for span in code(doc.read_text()):
        for name, rest in re.findall(rf"\bswap ({words})\b([^|;&]*)", span):
            if ".py:" in rest:  # with the options of the reader's own code
                continue
            for option in re.findall(r"(?<=\s)--([a-z][\w.-]*)", rest):
                assert option in known[name], f"swap {name} --{option}"
