"""One run locks its folder, and notices when the folder is moved."""

import shutil
from pathlib import Path

import pytest

from swap.errors import UserError
from swap.presets import RunCfg
from swap.runs import load
from swap.runs.lock import LOCK, locked
from toy_run import Silent, toy_run


class Meddler(Silent):
    """Does something to the folder when an iteration has been shown."""

    def __init__(self, meddle, at: int = 3) -> None:
        super().__init__()
        self.meddle, self.at = meddle, at

    def show(self, run_clock, metrics, faults):
        if run_clock.iteration == self.at:
            self.meddle()


def test_a_link_in_place_of_the_lock_is_told_and_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(precious)
    with (
        pytest.raises(UserError, match=r"run\.lock' is a link; remove it"),
        locked(tmp_path / "run"),
    ):
        pass
    assert precious.read_text() == "mine"


def test_a_second_run_is_refused_until_the_first_ends(tmp_path):
    with locked(tmp_path), pytest.raises(UserError, match="another run"), locked(tmp_path):
        pass
    with locked(tmp_path) as lock:
        assert not lock.lost


@pytest.mark.parametrize("save_minutes", [0.0, 60.0])
@pytest.mark.parametrize("tensorboard", [False, True])
def test_a_run_whose_folder_is_moved_stops_and_writes_no_more(tmp_path, save_minutes, tensorboard):
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    cfg = RunCfg(iterations=50, save_minutes=save_minutes, tensorboard=tensorboard)
    outcome = toy_run(run, cfg, board=Meddler(lambda: run.rename(elsewhere)))
    assert outcome.fault is not None
    assert f"'{run}' was moved or removed" in outcome.fault
    assert outcome.iteration < 50
    assert not run.exists()
    # What was saved before is whole where it now is.
    assert load(elsewhere).iteration == (2 if save_minutes == 0.0 else 0)


def test_a_run_whose_folder_is_replaced_leaves_the_other_alone(tmp_path):
    run = tmp_path / "run"

    def replace() -> None:
        shutil.rmtree(run)
        run.mkdir()

    outcome = toy_run(run, RunCfg(iterations=50, tensorboard=False), board=Meddler(replace))
    assert "moved or removed" in str(outcome.fault)
    assert list(Path(run).iterdir()) == []


def test_a_folder_that_goes_with_the_last_iteration_is_told_too(tmp_path):
    run = tmp_path / "run"
    board = Meddler(lambda: shutil.rmtree(run), at=5)
    outcome = toy_run(run, RunCfg(iterations=5, save_minutes=60.0, tensorboard=False), board=board)
    assert "moved or removed" in str(outcome.fault)
    assert not run.exists()
