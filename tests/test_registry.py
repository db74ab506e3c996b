"""Tests what names and import strings find, what they refuse, and what they never run."""

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from swap import registry
from swap.courses import FAMILIES
from swap.env import REWARDS
from swap.errors import UserError
from swap.presets import PRESETS
from swap.registry import Registry, forget, guarded, instance_of, is_code
from swap.robots.registry import ROBOTS


@dataclass(frozen=True)
class Thing:
    name: str


@pytest.fixture
def things(tmp_path, monkeypatch):
    """A separate registry, and a file that leaves a mark whenever it is run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTRIES", list(registry._REGISTRIES))
    monkeypatch.setattr(sys, "path", list(sys.path))
    made = Registry(
        "thing",
        "swap.test_things",
        instance_of(Thing, "Thing"),
        how="--thing {}",
        built_in={"one": "test_registry:ONE"},
        attribute="THING",
        label=lambda thing: thing.name,
    )
    write("mine.py", "THING = Thing('mine')\nOTHER = Thing('other')\nCLASH = Thing('one')")
    yield made
    forget()


def write(name, text):
    mark = "with open('ran', 'a') as file:\n    file.write('.')\n"
    Path(name).write_text(f"from test_registry import Thing\n{mark}{text}\n")


def ran():
    return len(Path("ran").read_text()) if Path("ran").exists() else 0


ONE = Thing("one")
sys.modules["test_registry"] = sys.modules[__name__]  # where the files above find it


# --- names ---------------------------------------------------------------------------------------
def test_it_reads_like_a_dict_of_names(things):
    things.add("two", Thing("two"))
    assert list(things) == ["one", "two"]
    assert (things["one"], things["two"].name, len(things)) == (ONE, "two", 2)
    assert "two" in things
    assert "three" not in things
    assert dict(things.items()) == dict(zip(things.keys(), things.values(), strict=True))
    with pytest.raises(UserError, match=r"^unknown thing 'tow'; did you mean 'two'"):
        things["tow"]
    for name in ("one", "two"):
        with pytest.raises(UserError, match=f"^thing '{name}' exists already; choose another"):
            things.add(name, ONE)


def test_all_tables_of_the_project_are_of_this_kind():
    for table, group in (
        (ROBOTS, "swap.robots"),
        (FAMILIES, "swap.courses"),
        (REWARDS, "swap.rewards"),
        (PRESETS, "swap.presets"),
    ):
        assert isinstance(table, Registry)
        assert table.group == group
        assert all(table[name] is not None for name in table)


# --- code ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("box", False),
        ("swap-no-eq", False),
        ("dog.py", True),
        ("a/dog.py:ROBOT", True),
        ("pkg.mod:fn", True),
    ],
)
def test_what_is_code(word, code):
    assert is_code(word) is code


def test_a_word_of_a_file_runs_nothing_and_one_of_the_users_runs_and_is_told(things, capsys):
    for word in ("mine.py", "mine.py:THING", "mine:THING", "./mine.py:THING"):
        with pytest.raises(UserError, match="is code, and is not run: a file names it") as error:
            things[word]
        assert str(error.value).endswith(f"--thing {word}")
        assert word not in things
        things.check(word)  # a config may hold it all the same
    assert ran() == 0
    assert "mine" not in sys.modules
    found = things.from_user("mine.py:THING")
    assert capsys.readouterr().out == "running mine.py\n"
    assert things["mine.py:THING"] is things["mine"] is found
    assert list(things) == ["one", "mine"]  # words are no names
    with pytest.raises(UserError, match="is not run"):
        things["mine.py:OTHER"]  # another word of the same file
    assert things.from_user("mine.py:OTHER").name == "other"
    assert ran() == 1  # once for all it defines
    assert capsys.readouterr().out == ""


def test_every_command_begins_with_nothing_named(things):
    things.from_user("mine.py:THING")
    forget()
    with pytest.raises(UserError, match="is not run"):
        things["mine.py:THING"]
    assert "mine" not in things
    things.from_user("mine.py:THING")
    assert ran() == 2


def test_an_edited_file_is_run_again(things):
    things.from_user("mine.py:THING")
    write("mine.py", "THING = Thing('edited')")
    assert things.from_user("mine.py:THING").name == "edited"


def test_a_module_of_the_working_folder_is_found_after_installed_ones(things, capsys):
    Path("my_things").mkdir()
    write("my_things/deep.py", "class Box:\n    THING = Thing('deep')")
    write("math.py", "THING = Thing('wrong')")
    importlib.invalidate_caches()
    assert things.from_user("my_things.deep:Box.THING").name == "deep"
    assert capsys.readouterr().out == "importing my_things.deep\n"
    with pytest.raises(UserError, match=r"'math' defines no THING; it has: .*cos"):
        things.from_user("math:THING")


def test_a_file_finds_what_lies_beside_it_and_is_a_module_of_its_own(things):
    """The classes of a user's file can be looked up by module, as typed configs need."""
    from swap.runs import from_json, to_json

    Path("sub").mkdir()
    Path("sub/beside_it.py").write_text("NAME = 'beside'")
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from test_registry import Thing\nimport beside_it\n"
        "@dataclass(frozen=True)\nclass Cfg(Thing):\n    size: int | None = None\n"
        "THING = Cfg(beside_it.NAME)\n"
    )
    Path("sub/mine.py").write_text(text)
    found = things.from_user("sub/mine.py")
    assert found.name == "beside"
    assert from_json(type(found), {**to_json(found), "size": 3}).size == 3


@pytest.mark.parametrize(
    ("text", "word", "says"),
    [
        ("", "none.py:THING", "no thing file 'none.py'; give the path of a .py file"),
        ("X = 1", "a.py", "'a.py' defines no THING; it has: Thing, file, X"),
        ("THING = 3", "a.py", "THING in 'a.py' is a int; make it a Thing"),
        ("x = (", "a.py", "a.py, line 4: '(' was never closed"),
        ("\ny = 1 / 0", "a.py", "a.py, line 5: ZeroDivisionError: division by zero"),
        ("def f():\n    return {}['k']\nf()", "a.py", "a.py, line 5: KeyError: 'k'"),
        ("raise SystemExit", "a.py", "a.py, line 4: SystemExit"),
        ("import no_such", "a.py", "ModuleNotFoundError: No module named 'no_such'"),
        ("CLASH = Thing('one')", "a.py:CLASH", "'a.py:CLASH' is called 'one', as another thing"),
        ("", "no.such:THING", "cannot import 'no.such': ModuleNotFoundError: No module named"),
        ("", "a.py:", "'a.py:' is no import string; use package.module:NAME or file.py:NAME"),
        ("", ":x", "':x' is no import string"),
        ("", "a.py:x y", "'a.py:x y' is no import string"),
    ],
)
def test_what_goes_wrong_is_one_line(text, word, says, things):
    write("a.py", text)
    with pytest.raises(UserError) as error:
        things.from_user(word)
    assert says in str(error.value)
    assert "\\n" not in str(error.value)


def test_a_bare_file_needs_a_name_where_no_name_is_usual(things):
    with pytest.raises(UserError, match=r"'a.py' is a file; say what to take .* as in a.py:NAME"):
        FAMILIES.from_user("a.py")


def test_two_files_may_not_call_their_things_alike(things):
    things.from_user("mine.py:THING")
    write("yours.py", "THING = Thing('mine')")
    with pytest.raises(UserError, match=r"'yours.py:THING' is called 'mine', as another thing"):
        things.from_user("yours.py:THING")


def test_what_goes_wrong_later_names_the_line_of_the_user(things):
    write("mine.py", "import json\ndef read(x):\n    return json.loads(x)\nTHING = Thing('a')")
    things.from_user("mine.py")
    read = guarded(sys.modules[str(Path("mine.py").resolve())].read, "read in 'mine.py'")
    assert read("[1]") == [1]
    with pytest.raises(UserError, match=r"^read in 'mine.py': mine.py, line 6: JSONDecodeError: "):
        read("[")


# --- installed packages --------------------------------------------------------------------------
@pytest.fixture
def package(things, tmp_path):
    """Installs a package with the file mine.py and these entry points."""
    info = tmp_path / "my_things-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-things\nVersion: 1.0\n")
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()

    def install(*lines, group="swap.test_things"):
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")

    yield install
    sys.modules.pop("mine", None)


def test_an_installed_package_offers_things_by_name(things, package):
    package("mine = mine:THING")
    assert list(things) == ["one", "mine"]
    assert "mine" in things
    assert ran() == 0  # not before it is asked for
    assert things["mine"] == things.from_user("mine") == Thing("mine")
    for line, says in (
        ("one = mine:THING", r"of swap.test_things \(mine:THING\) repeats a thing's name"),
        ("his = mine:THING", "'his' of swap.test_things is called 'mine'; let both names"),
        ("bad = mine:NONE", r"\(mine:NONE\): .*AttributeError"),
        ("odd = mine:Thing", "'odd' of swap.test_things is a type; make it a Thing"),
    ):
        package(line)
        with pytest.raises(UserError, match=says):
            things.items()


def test_families_rewards_and_presets_of_an_installed_package(things, package):
    Path("mine.py").write_text(
        "from dataclasses import replace\nfrom swap.courses import FAMILIES\n"
        "from swap.presets import get_preset\n"
        "TALL = replace(FAMILIES['box'], name='tall')\n"
        "FEW = replace(get_preset('tiny'), worlds=8)\n"
        "def calm(frame):\n    'w^2'\n    return frame.ang_vel_b.square().sum(1)\n"
    )
    package("tall = mine:TALL", group="swap.courses")
    assert FAMILIES["tall"].size == FAMILIES["box"].size
    package("still = mine:calm", group="swap.rewards")
    assert (REWARDS["still"].name, REWARDS["still"].equation) == ("still", "w^2")
    package("few = mine:FEW", group="swap.presets")
    assert PRESETS["few"].worlds == 8
