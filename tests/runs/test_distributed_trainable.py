"""Runs of two processes: one leads and writes, both resume to the last bit, nobody hangs."""

import pytest

from swap.distributed import ProcessGroup
from swap.errors import UserError
from swap.runs.distributed_trainable import DistributedTrainable
from two_processes import run_scenarios


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("pair")


@pytest.fixture(scope="module")
def seen(home):
    return run_scenarios("two_process_runs.py", home)


@pytest.mark.parametrize("name", ["blind", "sees"])
def test_two_and_two_iterations_are_four(seen, name):
    lead, _ = seen[name]
    assert lead["iteration"] == 4
    assert lead["names"]
    assert lead["differ"] == []
    assert lead["figures"]


@pytest.mark.parametrize("name", ["blind", "sees"])
def test_of_the_other_process_only_what_is_its_own_is_kept(seen, name):
    """What is equal is not written again; so all that was learned is equal."""
    kept = {key.removeprefix("process/1/") for key in seen[name][0]["others"]}
    learned = ("policy/", "ppo/", "model/", "learner/", "amp/net", "amp/adam")
    assert not [key for key in kept if key.startswith(learned)]
    assert {"env/generator", "env/engine/qpos", "generator", "obs/privileged"} <= kept
    if name == "sees":
        assert {"replay/prop", "amp/ring/rows", "style/pair"} <= kept


def test_a_signal_ends_the_run_of_all(seen, home):
    lead, _ = seen["interrupted"]
    assert lead == {"interrupted": True, "iteration": 3}
    assert (home / "interrupted/run/checkpoints/latest").read_text() == "000003\n"


def test_who_is_left_behind_does_not_wait(seen):
    lead, _ = seen["crashed"]
    assert lead["lost"].startswith("process 0 has lost another: ")
    assert "\n" not in lead["lost"]


@pytest.mark.parametrize(
    ("processes", "numbers", "start"),
    [
        (
            ProcessGroup(0, 1),
            {"crew": [{}]},
            "that run has 2 processes, now there are 1; .*torchrun",
        ),
        (
            ProcessGroup(1, 2),
            {},
            "that run has 1 processes, now there are 2; go on with: swap train",
        ),
    ],
)
def test_another_number_of_processes_is_refused(processes, numbers, start):
    with pytest.raises(UserError, match=start):
        DistributedTrainable(None, processes).check(numbers)
