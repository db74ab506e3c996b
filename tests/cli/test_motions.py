"""`swap motions` from a user's point of view."""

import json

import numpy as np
import pytest
from PIL import Image

from swap.cli.main import dispatch
from swap.errors import UserError
from swap.motions import GAIT_NAMES


@pytest.mark.parametrize("robot", ["apollo", "go2"])
def test_it_lists_the_gaits(robot, capsys, tmp_path):
    file = tmp_path / "motions.json"
    assert dispatch(["motions", "--robot", robot, "--seconds", "1", "--json", str(file)]) == 0
    shown, rows = capsys.readouterr().out, json.loads(file.read_text())["rows"]
    assert [row["gait"] for row in rows] == list(GAIT_NAMES)
    assert all(name in shown for name in GAIT_NAMES)
    for row in rows:
        assert 0 < row["speed fraction"] <= 0.8
        assert 0 < row["torque fraction"] <= 1
        assert row["duty factor"]


def test_it_plays_them(capsys, tmp_path):
    file = tmp_path / "played.json"
    words = ["motions", "--robot", "go2", "--replay", "--seconds", "1", "--json", str(file)]
    assert dispatch(words) == 0
    assert "upright" in capsys.readouterr().out
    rows = {(row["gait"], row["command"]): row for row in json.loads(file.read_text())["rows"]}
    stood = rows["stand", "0.00 m/s"]
    assert stood["upright s"] == pytest.approx(1.0)
    assert stood["moved m"] < 0.05


def test_it_draws_a_row_for_each_gait(tmp_path):
    file = tmp_path / "rows.png"
    assert dispatch(["motions", "--render", "trot", "pronk", "--out", str(file)]) == 0
    with Image.open(file) as drawn:
        picture = np.asarray(drawn)
    assert picture.shape == (2 * 150 + 3, 6 * 220 + 5 * 3, 3)
    left, right = np.array([0.98, 0.62, 0.16]), np.array([0.25, 0.62, 0.88])
    for colour in (left, right):  # legs of both sides are to be seen
        hue = colour / np.linalg.norm(colour)
        pixels = picture.reshape(-1, 3) / 255
        like = pixels @ hue / np.maximum(np.linalg.norm(pixels, axis=1), 1e-6)
        assert (like > 0.995).sum() > 100


def test_it_films(tmp_path):
    file = tmp_path / "trot.gif"
    words = ["motions", "--robot", "go2", "--render", "trot", "--seconds", "0.1"]
    assert dispatch([*words, "--out", str(file)]) == 0
    with Image.open(file) as film:
        assert film.n_frames == 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--render", "trott"], "unknown gait 'trott'; did you mean 'trot'"),
        (["--render", "trot", "--speed", "9"], "apollo cannot trot at 9.00 m/s; go slower"),
        (["--render", "stand", "--speed", "1"], "stand goes nowhere"),
        (["--render", "trot", "--out", "/no/such/x.mp4"], "cannot write"),
        (["--render", "trot", "--out", "x.txt"], "end it in"),
        (["--robot", "appollo"], "unknown robot"),
        (["--seconds", "0"], "--seconds 0.0; use more than 0"),
    ],
)
def test_mistakes_are_one_line(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=says):
        dispatch(["motions", *words])
