"""The files in docs/extend.md work, and its commands run as printed, in the reader's folder."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from swap import registry
from swap.cli import main as cli
from swap.errors import UserError
from swap.runs import read_metrics
from swap.study.study import by_option

TEXT = (Path(__file__).parents[1] / "docs" / "extend.md").read_text()
FILES = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", TEXT, re.DOTALL))
SECTIONS = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = {
    title: [line for _, text in BLOCK.findall(body) for line in re.findall("^swap .*", text, re.M)]
    for title, body in SECTIONS
}
SHORTER = {
    "train": "--iterations 2 --worlds 8 --ppo.steps 4 --env.levels 2 --env.variants 1 --device cpu",
    "eval": "--trials 1 --points 1 --device cpu",
    "play": "--width 64 --fps 10",
    "check": "--steps 2",
    "courses": "--size 16x16",
    "bench": "--iterations 1 --warm-up 0 --worlds 2 --device cpu",
}
"""Options of a command, which replace those that are printed."""
PACKAGED = "In a package"


@pytest.fixture
def reader(tmp_path, monkeypatch, short_trials):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    yield tmp_path
    registry.forget()
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def run(line):
    words = shlex.split(line)[1:]
    cli.check_repeated(words)
    options = dict(by_option(words)) | dict(by_option(SHORTER.get(words[0], "").split()))
    assert cli.dispatch([word for typed in options.values() for word in typed]) == 0, line


def test_every_part_has_a_file_and_a_training_of_one_minute():
    for title, lines in COMMANDS.items():
        if lines and title != PACKAGED:
            assert any("swap train" in line and "--minutes 1 " in line for line in lines), title
    assert len(FILES) >= 6
    every = " ".join(line for lines in COMMANDS.values() for line in lines)
    named = {word.split(":")[0] for word in every.split()}
    assert set(FILES) <= named


@pytest.mark.parametrize("title", [title for title in COMMANDS if title != PACKAGED])
def test_the_commands_run_as_printed(title, reader):
    for line in COMMANDS[title]:
        run(line)
    logged = {
        "A reward": ("out/soft", "reward/soft_landing"),
        "A course": ("out/hurdles", "frontier/hurdles"),
        "A preset": ("out/hurdler", "reward/soft_landing"),
    }
    if title in logged:
        folder, key = logged[title]
        assert key in read_metrics(Path(folder))[-1]


def test_a_network_that_breaks_the_mirror_is_told_as_the_document_says(reader):
    with Path("my_network.py").open("a") as file:
        file.write("\n\nclass Dense(nn.Linear):\n    def __init__(self, spec):\n")
        file.write("        super().__init__(spec.rep_in.dim, spec.rep_out.dim)\n")
    with pytest.raises(UserError) as error:
        run("swap train --preset tiny --policy.actor my_network.py:Dense")
    (printed,) = re.findall(r"swap: (Dense .*?); \.\.\.", TEXT)
    pattern = re.sub(r"\d+\\\.\d+", r"[\\d.]+", re.escape(printed))
    assert re.match(pattern, str(error.value))


def test_what_a_package_offers_is_known_by_name(reader, capsys):
    package = reader / "my_package"
    package.mkdir()
    names = {"reward": "rewards", "course": "courses", "network": "networks", "robot": "robots"}
    names |= {"encoder": "encoders", "presets": "presets"}
    for file, text in FILES.items():
        what = file.removesuffix(".py").removeprefix("my_")
        inside = text.replace("my_course.py:HURDLES", "hurdles")
        inside = inside.replace("my_reward.py:soft_landing", "soft_landing")
        (package / f"{names.get(what, what)}.py").write_text(inside)
    (toml,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    groups = tomllib.loads(toml)["project"]["entry-points"]
    lines = [
        f"[{group}]\n{name} = {place}" for group, x in groups.items() for name, place in x.items()
    ]
    info = reader / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    sys.path.insert(0, str(reader))
    run(f"{COMMANDS[PACKAGED][0]} --policy.actor skip --env.robot loaded_go2 --out out/hurdler")
    run(COMMANDS[PACKAGED][1])
    run("swap courses --family hurdles")
    run("swap rewards")
    shown = capsys.readouterr().out
    assert "two thin walls to step over" in shown
    assert "feet that come down hard" in shown
    assert "running" not in shown
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]
