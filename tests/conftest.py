"""Settings for every test."""

import os
import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

# Before anything imports Triton: without a GPU its kernels are interpreted.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Derandomised, so that a failure can be repeated. Torch is slow to start, so there is no deadline.
settings.register_profile(
    "swap", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("swap")

# Two test processes share the machine; one thread each keeps them out of each other's way.
torch.set_num_threads(1)

# Under nohup SIGHUP is ignored, and so it would be by the runs that tests start and hang up on.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def kernels(monkeypatch):
    """Enables all Triton kernels, on a GPU or interpreted, and gives the names of those that were
    launched. They are compared with the plain code in double precision, for which no kernel is
    used."""
    pytest.importorskip("triton")
    from swap.device import triton_launch

    assert triton_launch.works()
    launched, launch = [], triton_launch.launch

    def noted(kernel, *args, **options):
        launched.append(kernel.fn.__module__.split(".")[-1])
        launch(kernel, *args, **options)

    monkeypatch.setenv("SWAP_KERNELS", "all")
    monkeypatch.setattr(triton_launch, "launch", noted)
    return launched
