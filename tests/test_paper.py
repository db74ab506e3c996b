"""docs/paper.md is true: its commands exist, its links lead to pictures, and missing results name a
study that ships."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.study.study import read_study

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "docs" / "paper.md"
TEXT = PAPER.read_text()
COMMANDS = sorted(set(re.findall(r"`(swap [^`]*)`", TEXT)))
VERDICTS = ("reproduced", "not reproduced", "not comparable", "missing")


def rows_with_verdicts() -> list[list[str]]:
    """The rows of all tables whose last column is the verdict."""
    rows: list[list[str]] = []
    inside = False
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == "verdict":
            inside = True
        elif inside and not line.startswith("|-"):
            rows.append(cells)
    return rows


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_has_options_that_exist(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, options = cli.match_command(shlex.split(line)[1:])
    module = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
    if not options:
        return
    if hasattr(module, "parse"):
        module.parse(options)
    else:
        cli.parse(module.Args, f"swap {name}", options)


def test_every_row_has_a_verdict_and_what_is_missing_a_study():
    rows = rows_with_verdicts()
    assert len(rows) > 40
    for _, ours, command, verdict in rows:
        assert verdict.startswith(VERDICTS), verdict
        if verdict.startswith("missing"):
            assert "missing" in ours
            names = re.findall(r"`swap study ([\w./-]+)", command)
            assert names
            for name in names:
                assert read_study(ROOT / name if "/" in name else Path(name)).arms
        if verdict.startswith("reproduced"):
            assert command


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    return {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in page.read_text().splitlines()
        if line.startswith("#")
    }


def test_every_link_leads_somewhere():
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        path, _, anchor = link.partition("#")
        there = PAPER.parent / path
        assert there.exists(), link
        assert not anchor or anchor in headings(there), link


def test_no_picture_of_a_study_without_its_runs():
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", TEXT):
        folder = (PAPER.parent / picture).parent
        assert (folder / "study.toml").is_file(), picture
        assert list(folder.glob("metrics/*.jsonl")), picture
