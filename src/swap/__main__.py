"""Runs the command `swap`; `python -m swap` is the same without an installation."""

import signal


def main() -> None:
    # Until the command line is loaded nothing handles Ctrl-C, and Python would print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from swap.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
