"""How many threads torch gets, by the number of cores and by what the user says."""

import os

import pytest

from swap import openmp
from swap.study.work import threads


@pytest.fixture
def cores(monkeypatch):
    """Sets the number of cores and calls `set_defaults`, with nothing set before."""
    for name in (openmp.THREADS, openmp.OURS, "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)

    def start(count):
        monkeypatch.setattr(openmp, "usable_cores", lambda: count)
        openmp.set_defaults()

    yield start
    for name in (openmp.THREADS, openmp.OURS, "GOMP_SPINCOUNT"):  # set_defaults may have set them
        os.environ.pop(name, None)


@pytest.mark.parametrize(
    ("count", "given"), [(1, None), (2, None), (3, None), (4, "2"), (5, "3"), (16, "14")]
)
def test_two_of_four_cores_or_more_are_left_to_others(cores, count, given):
    cores(count)
    assert os.environ.get(openmp.THREADS) == given
    assert not openmp.set_by_user()


def test_what_the_user_says_is_kept(cores, monkeypatch):
    monkeypatch.setenv(openmp.THREADS, "16")
    cores(16)
    assert os.environ[openmp.THREADS] == "16"
    assert openmp.set_by_user()
    assert threads(on_gpu=False, at_once=4) == {}


@pytest.mark.parametrize(("at_once", "each"), [(2, "4"), (3, "2"), (9, "1")])
def test_runs_of_a_study_share_all_cores(cores, at_once, each):
    cores(8)
    assert threads(on_gpu=False, at_once=at_once) == {openmp.THREADS: each}


def test_one_run_of_a_study_has_what_any_run_has(cores):
    cores(8)
    assert threads(on_gpu=False, at_once=1) == {}
    assert threads(on_gpu=True, at_once=4) == {}


@pytest.mark.parametrize(("count", "given"), [(2, None), (4, "2"), (64, "62")])
def test_a_process_that_is_started_elsewhere_counts_its_own_cores(cores, count, given):
    cores(16)
    cores(count)  # with the environment of the process before it, as a job of slurm has
    assert os.environ.get(openmp.THREADS) == given
    assert not openmp.set_by_user()
