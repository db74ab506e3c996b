"""Sets how many threads OpenMP has, which torch uses, and how they wait for each other.

OpenMP reads these settings once, when torch is first imported. A setting of the user stays.
"""

import os

THREADS = "OMP_NUM_THREADS"
OURS = "SWAP_OMP_NUM_THREADS"
"""Holds the number if it was set here. Processes that are started inherit both, perhaps on another
machine, and then set it anew."""
SPARED = 2
"""Cores that torch leaves to other programs, where there are at least twice as many."""


def usable_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def set_defaults() -> None:
    """Keeps training fast beside other programs.

    By default OpenMP has a thread for each core, and they spin while they wait for each other. If
    another program holds a core, all wait for the thread that has none: on four cores beside two
    busy loops a PPO update then takes three times as long. With two threads fewer it takes no
    longer than alone. Where there are fewer cores, threads that sleep soon are the best there is.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    if set_by_user():
        return
    for name in (THREADS, OURS):
        os.environ.pop(name, None)
    cores = usable_cores()
    if cores >= 2 * SPARED:
        os.environ[THREADS] = os.environ[OURS] = str(cores - SPARED)


def set_by_user() -> bool:
    """Whether the number of threads is the user's setting."""
    given = os.environ.get(THREADS)
    return given is not None and given != os.environ.get(OURS)
