"""The command `swap`, and `python -m swap`, the same where nothing is installed."""

import signal


def main() -> None:
    # The command line is not there yet to tell of a Ctrl-C, and Python's own way is a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from swap.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
