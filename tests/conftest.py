"""Settings for every test."""

import gc
import os
import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

# Set before anything imports Triton: without a GPU its kernels are interpreted.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Derandomised, so that a failure can be reproduced. No deadline, because torch starts slowly.
settings.register_profile(
    "swap", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("swap")

# Two test processes share the machine; with one thread each they do not slow each other down.
torch.set_num_threads(1)

# Under nohup SIGHUP is ignored; the runs that tests start and hang up on would ignore it too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module", autouse=True)
def keep_what_is_imported():
    """Before each file of tests: what is there stays, so the garbage collector need not search it
    again and again, which would take a fifth of the time of some tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def kernels(monkeypatch):
    """Switches all Triton kernels on, on a GPU or interpreted, and returns the names of those that
    were launched. Kernels do not run in double precision, so tests compare with that."""
    pytest.importorskip("triton")
    import triton_interpreter
    from swap.device import triton_launch

    assert triton_launch.works()
    launched, launch = [], triton_launch.launch
    begin_launch = triton_interpreter.prepare_once(monkeypatch)

    def noted(kernel, *args, **options):
        launched.append(kernel.fn.__module__.split(".")[-1])
        begin_launch()
        launch(kernel, *args, **options)

    monkeypatch.setenv("SWAP_KERNELS", "all")
    monkeypatch.setattr(triton_launch, "launch", noted)
    return launched


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    """The bundle of a robot as small as can be."""
    import tiny_swap
    from swap.export.write import export

    return export(tiny_swap.robot(), tmp_path_factory.mktemp("bundle") / "tiny.bundle")


@pytest.fixture
def short_trials(monkeypatch):
    """Trials and films end soon, for robots that have learned nothing and only stand about."""
    from swap.view.play import play

    monkeypatch.setattr("swap.evaluate.success.time_limit_s", lambda courses, speed_mps: 0.2)
    monkeypatch.setattr("swap.evaluate.paired_trials.TIME_S", 0.2)
    monkeypatch.setitem(play.__kwdefaults__, "time_s", 0.5)
