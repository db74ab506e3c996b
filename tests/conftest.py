"""Settings for every test."""

import signal

import torch
from hypothesis import HealthCheck, settings

# Derandomised: a red run is red again when it is looked into. Torch is slow to wake: no deadline.
settings.register_profile(
    "swap", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("swap")

# Two test processes share the machine; one thread each keeps them out of each other's way.
torch.set_num_threads(1)

# Under nohup SIGHUP is ignored, and so it would be by the runs that tests start and hang up on.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
