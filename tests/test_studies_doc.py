"""The study in docs/studies.md is one, its first command runs as printed, and it says what reports
say of few seeds."""

import re
import shlex
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.evaluate.statistics import COVERAGE
from swap.study.study import MEASURES, OURS, read_study

TEXT = (Path(__file__).parents[1] / "docs" / "studies.md").read_text()
COMMANDS = [line.split("#")[0] for line in re.findall(r"^swap .*", TEXT, re.MULTILINE)]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    Path("my.toml").write_text(text)


def test_the_file_is_a_study_and_has_every_table(reader):
    study = read_study(Path("my.toml"))
    assert len(study.runs) == 6
    assert study.about
    assert study.train
    assert study.reach
    assert all(getattr(study, table) for table in OURS)


def test_its_commands_can_be_run(reader, capsys):
    assert cli.dispatch(shlex.split(COMMANDS[0])[1:]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert all("--ppo.epochs 4" in line for line in lines[:6] if "four-" in line)
    for line in COMMANDS:
        cli.prepare(shlex.split(line)[1:])


def test_it_says_what_reports_say():
    assert all(f"`{name}`" in TEXT for name in MEASURES)
    for seeds in (2, 3, 5):
        assert re.search(rf"{COVERAGE[seeds]} (hold the true value )?with {seeds}", TEXT)
