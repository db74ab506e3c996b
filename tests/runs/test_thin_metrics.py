"""Thinned metrics: few lines, evenly taken, that curves can be read from."""

import itertools
import json

import pytest

from swap.errors import UserError
from swap.evaluate.curves import read_curve
from swap.runs.thin_metrics import thinned, write_thinned


def rows(n):
    return [
        {"iteration": k, "wall_s": 1.5 * k, "steps": 100.0 * k, "frontier/box": 1e-3 * k / 3}
        for k in range(1, n + 1)
    ]


@pytest.mark.parametrize("n", [1, 2, 7, 200, 201, 5505])
def test_first_and_last_stay_and_the_rest_is_even(n):
    kept = [row["iteration"] for row in thinned(rows(n))]
    assert kept[0] == 1
    assert kept[-1] == n
    assert len(kept) == min(n, 200)
    steps = [b - a for a, b in itertools.pairwise(kept)]
    assert max(steps, default=1) - min(steps, default=1) <= 1


def test_a_curve_can_be_read_from_them(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(1000)))
    write_thinned(tmp_path, tmp_path / "few.jsonl")
    whole, few = (read_curve(tmp_path / name, "x") for name in ("metrics.jsonl", "few.jsonl"))
    assert few.iterations == whole.iterations
    assert few.minutes[-1] == pytest.approx(whole.minutes[-1])
    assert few.after("box", 12.0) == pytest.approx(whole.after("box", 12.0), rel=0.01)
    text = (tmp_path / "few.jsonl").read_text()
    assert max(len(line) for line in text.splitlines()) < 100  # no digits that say nothing


def test_a_folder_without_metrics_is_told_in_one_line(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(UserError, match="no metrics in"):
        write_thinned(tmp_path, tmp_path / "few.jsonl")
