"""`swap view --bench` from a user's point of view."""

import contextlib
import json
import socket

import pytest

from command_line import swap
from ctrl_c import swap_until_ctrl_c
from swap.cli.view import Args
from swap.view.live import bench as bench_module
from swap.view.live.server import PageServer


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--json", "x.json"], "add --bench 10"),
        (["--json", "\udcff"], "add --bench 10"),
        (["--bench", "1e30"], "--bench 1e+30 is out of range; use 0.1 to 600 seconds"),
        (["--bench", "1e30", "--port", "1"], "--bench 1e+30 is out of range"),
        (["--bench", "1e-30"], "--bench 1e-30 is out of range"),
        (["--bench", "nan"], "--bench nan; give a finite number"),
        (["--seed", "2147483648"], "seed 2147483648 is too large here; use 0 to 2147483647"),
        (["--bench", "1", "--port", "1"], "omit --host, --port and --record"),
        (["--bench", "1", "--host", "0.0.0.0"], "omit --host, --port and --record"),
        (["--bench", "1", "--record", "x.html"], "omit --host, --port and --record"),
    ],
)
def test_options_that_do_not_fit_are_one_line(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PageServer, "__init__", None)  # it does not come to that
    done = swap("view", "teacher", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_measures_beside_a_page_that_is_open(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_module, "WARM_S", 0.5)
    file = tmp_path / "bench.json"
    with socket.socket() as page:
        with contextlib.suppress(OSError):  # or somebody has it already
            page.bind((Args.host, Args.port))
            page.listen()
        done = swap("view", "teacher", "--family", "flat", "--bench", "0.5", "--json", file)
    assert done.returncode in (0, 1), done.stderr  # a busy machine does not keep real time
    rows = json.loads(file.read_text())["rows"]
    assert len(rows) == 3
    assert all(row["of real time"] > 0 and row["received/s"] > 0 for row in rows)


@pytest.mark.parametrize("everyone", [True, False], ids=["terminal", "kill"])
@pytest.mark.parametrize("after_s", [0.3, 5.0], ids=["imports", "reads"])
def test_ctrl_c_is_one_line_whatever_the_visitor_does(after_s, everyone, tmp_path):
    words = ["view", "teacher", "--family", "flat", "--bench", "500"]
    _, *end = swap_until_ctrl_c(tmp_path, *words, after_s=after_s, everyone=everyone)
    assert end == [130, "swap: stopped\n"]
