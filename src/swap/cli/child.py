"""`python -m swap.cli.child PARENT WORDS...`: the command `swap WORDS...`, which is told to stop
when the process that started it is gone.

A study that is killed outright cannot stop its runs; on Linux the kernel does. They then save.
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
        if os.getppid() != parent:  # it was gone before we asked
            sys.exit(143)
    from swap.__main__ import main as command

    command()


if __name__ == "__main__":
    main()
