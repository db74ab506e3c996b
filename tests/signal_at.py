"""Runs a swap command that sends itself a signal.

`python signal_at.py EVENT WORD SIGNAL COMMAND ...` sends it at the first audit event of that name
(import, open, os.mkdir, ...) whose first argument contains WORD.
"""

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
