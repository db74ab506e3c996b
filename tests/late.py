"""Commands that send themselves a signal at an audit event, as with early.py, but after their
imports: each is a fork, so that torch is loaded once.

`python late.py CASES FOLDER`, where CASES is a JSON list of [event, word, signal, words], prints
exit codes and stderr as JSON for tests/cli/test_signals.py. FOLDER holds what they print.
"""

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import swap.__main__
from swap.cli import train as train_command  # noqa: F401  loaded before the forks


def stopped(event: str, word: str, sig: int, words: list[str], log: Path) -> tuple[int, str]:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(log, os.O_CREAT | os.O_WRONLY), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sent = False

        def hook(name: str, args: tuple[Any, ...]) -> None:
            nonlocal sent
            if not sent and name == event and word in str(args[0]):
                sent = True
                os.kill(os.getpid(), sig)

        sys.addaudithook(hook)
        sys.argv = ["swap", *words]
        try:
            swap.__main__.main()
        except SystemExit as end:  # as Python's own exit, but without ending the parent's threads
            sys.stderr.flush()
            os._exit(int(end.code or 0))
        os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, log.read_text()


def main(cases: list[tuple[str, str, int, list[str]]], folder: Path) -> None:
    gc.collect()
    print(json.dumps([stopped(*case, folder / f"{k}.log") for k, case in enumerate(cases)]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
