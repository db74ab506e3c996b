"""Settings for every test."""

import os
import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

# Before anything imports Triton: without a GPU its kernels are interpreted.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Derandomised: a red run is red again when it is looked into. Torch is slow to wake: no deadline.
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
    """All kernels of Triton are used, on a GPU or interpreted; the names of those that were
    launched. Their plain twin is the same in double precision, which they leave alone."""
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
