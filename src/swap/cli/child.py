"""`python -m swap.cli.child PARENT WORDS...`: runs `swap WORDS...`, which gets a signal to stop
when the process that started it is gone.

A study that is killed cannot stop its runs, so on Linux the kernel sends them the signal. They then
save.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = int(sys.argv.pop(1))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # Slurm's, for submitit: it then sends SIGTERM
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent had ended before the call
            sys.exit(143)
    from swap.__main__ import main as command

    command()


if __name__ == "__main__":
    main()
