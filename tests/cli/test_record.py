"""`swap record` from a user's point of view."""

import json
import re
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.cli import record as of
from swap.courses import size_of
from swap.errors import UserError
from swap.evaluate import record as searched
from swap.evaluate.record import Probe

TEACHER = str(Path(__file__).parents[2] / "models" / "teacher.safetensors")


def test_tables_and_file(monkeypatch, tmp_path, capsys):
    def measure(robot, wanted, *, trials, on_progress, **rest):
        for family, difficulty in wanted:
            size = size_of(family, difficulty)
            # Gaps hold out to the end; boxes do worse at half a metre than at one.
            box = 1.0 if size < 0.3 else 0.2 if size < 0.9 else 0.6 if size < 1.2 else 0.0
            yield {"success": 1.0 if family == "gap" else box}

    monkeypatch.setattr(searched, "measure", measure)
    file = tmp_path / "record.json"
    words = ["record", TEACHER, "--trials", "40", "--speed", "1.5", "--device", "cpu"]
    assert cli.dispatch([*words, "--json", str(file)]) == 0
    text, told = capsys.readouterr().out, json.loads(file.read_text())
    assert "records at 1.5 m/s, simulated" in text
    assert "at least 3.60" in text
    ours, published = text.split("Published records of real robots")
    for one in searched.PUBLISHED:
        assert one.who not in ours
        assert re.search(rf"{one.who} +│ +{one.gap:.2f} +│.*│ +{one.box:.2f} +│", published)
    assert "box: success does not fall as sizes grow" in text
    assert "gap: success" not in text
    rows = {(row["family"], row["fraction"]): row for row in told["rows"]}
    assert rows["gap", 0.9]["at_least"] is True
    for row in told["rows"]:
        probes = {p["size"]: p for p in told["facts"]["probes"][row["family"]]}
        assert len(probes) == row["probes"]
        assert probes[row["size"]]["won"] >= 40 * row["fraction"]
    assert len(told["facts"]["published"]) == len(searched.PUBLISHED)


def test_words_for_open_ends():
    assert of.interval(0.5, 0.75) == "0.50 to 0.75"
    assert of.interval(None, 0.75) == "up to 0.75"
    assert of.interval(0.5, None) == "0.50 or more"
    assert of.interval(None, None) == "unknown"
    assert of.size(None, False) == "none"
    assert of.size(2.2, True) == "at least 2.20"
    assert of.size(1.634, False) == "1.63"
    assert of.doubts({"box": [Probe(0.5, 40, 40), Probe(0.6, 1, 40)]}) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nope.safetensors"], "nope.safetensors"),
        ([TEACHER, "--trials", "0"], "--trials 0; use 1 or more"),
        ([TEACHER, "--speed", "nan"], "--speed nan; give a finite number"),
        ([TEACHER, "--speed", "-1"], "--speed -1.0; use more than 0"),
        ([TEACHER, "--speed", "1e-30"], "1e-30 m/s leads to no goal; use 0.1 to 10"),
        ([TEACHER, "--seed", "-1"], "--seed -1; use 0 or more"),
        ([TEACHER, "--json", "no/such/x.json"], "cannot write 'no/such/x.json'"),
    ],
)
def test_mistakes_name_the_fix(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        cli.dispatch(["record", *words, "--device", "cpu"])
    assert says in str(error.value)
    assert "\n" not in str(error.value)
