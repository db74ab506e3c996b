"""`swap gait` from a user's point of view."""

import json
from pathlib import Path

import pytest

from swap.cli.main import dispatch
from swap.errors import UserError

TEACHER = Path(__file__).parents[2] / "models" / "teacher.safetensors"


def test_it_shows_the_robot_then_the_reference_gaits(capsys, tmp_path):
    file = tmp_path / "gait.json"
    words = ["gait", str(TEACHER), "--speeds", "0.5", "1", "--robots", "2", "--seconds", "2.5"]
    assert dispatch([*words, "--json", str(file)]) == 0
    shown, written = capsys.readouterr().out, json.loads(file.read_text())
    rows = written["rows"]
    assert [(row["gait"], row["command_mps"]) for row in rows[:2]] == [
        ("teacher", 0.5),
        ("teacher", 1.0),
    ]
    assert {row["gait"] for row in rows[2:]} == {
        f"reference {x}" for x in ("walk", "trot", "bound")
    }
    columns = list(rows[0])
    assert columns[2:] == [
        *("speed_mps", "cadence_hz", "clearance_m", "slip_mps", "duty"),
        *("asymmetry", "power_w", "cost_of_transport", "fallen"),
    ]
    assert all(list(row) == columns[:-1] for row in rows[2:])  # a plan does not fall
    assert all(name in shown for name in (*columns, "teacher", "reference trot"))
    assert written["facts"] == {"robots": 2, "seconds": 2.5, "seed": 1}


def test_mistakes_are_one_line(tmp_path):
    with pytest.raises(UserError, match=r"no checkpoint in .*; name the folder of a run"):
        dispatch(["gait", str(tmp_path)])
    with pytest.raises(UserError, match="--robots 0; use 1 or more"):
        dispatch(["gait", str(TEACHER), "--robots", "0"])
    with pytest.raises(UserError, match="unknown device 'tpu'"):
        dispatch(["gait", str(TEACHER), "--device", "tpu"])
    with pytest.raises(UserError, match="cannot write"):
        dispatch(["gait", str(TEACHER), "--json", "/no/such/folder/x.json"])


def test_at_an_edge_there_is_a_column_for_each_size_and_speed(capsys, tmp_path):
    file = tmp_path / "edge.json"
    words = ["gait", str(TEACHER), "--family", "box", "--sizes", "0.2", "--speeds", "1", "1.5"]
    assert dispatch([*words, "--robots", "2", "--json", str(file)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = json.loads(file.read_text())["rows"]
    (head,) = [line for line in lines if "figure" in line]
    assert " ".join(head).count("0.2 m at 1") == 2
    table = {line[1]: line[3::2] for line in lines if line and line[0] == "\u2502"}
    assert set(table) == set(rows[0]) - {"gait", "family", "unit", "size"}
    shown = [float(x) for x in table["hind_up_ns"]]
    assert shown == pytest.approx([row["hind_up_ns"] for row in rows], rel=1e-2)
