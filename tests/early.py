"""`python early.py EVENT WORD SIGNAL COMMAND ...`: swap, and a signal at a chosen moment: the first
audit event of that name (import, open, os.mkdir, ...) whose first argument has WORD in it."""

import os
import sys
from typing import Any

import swap.__main__

wanted, word, sig = sys.argv[1], sys.argv[2], int(sys.argv[3])
sent = False


def hook(event: str, args: tuple[Any, ...]) -> None:
    global sent
    if not sent and event == wanted and word in str(args[0]):
        sent = True
        os.kill(os.getpid(), sig)


sys.addaudithook(hook)
sys.argv[1:] = sys.argv[4:]
swap.__main__.main()
