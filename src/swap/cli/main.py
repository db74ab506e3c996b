"""`swap COMMAND [options]`: finds the command's file, parses its options, runs it.

Each command is a file in this folder with a frozen dataclass `Args` (its docstring is the help)
and `run(args) -> int`, the exit code; it may bring its own `parse(options)`.
Nothing heavy is imported before the command is known.
"""

import contextlib
import importlib
import io
import re
import shlex
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import swap
from swap import openmp, signals
from swap.errors import UserError, unknown
from swap.registry import forget
from swap.streams import lost_output, prepare_streams

T = TypeVar("T")

COMMANDS = {
    "mirror": "how every quantity of a robot changes when left and right trade places",
    "robots": "the known robots with their mass, sizes, limits and motors",
    "courses": "the obstacle families, as a table or as a gallery of pictures",
    "motions": "the reference gaits of a robot, as a table, played in physics, or drawn",
    "rewards": "every term of the reward: equation, origin, weights",
    "arms": "the arms of the ablation: what each constrains, and how large its networks are",
    "train": "train a preset, or --from a robot: progress, metrics; Ctrl-C saves, --resume goes on",
    "study": "train, measure and draw all arms and seeds of a study; called again it goes on",
    "eval": "how often a trained robot succeeds, by obstacle and size",
    "record": "the largest box and gap a trained robot masters, beside published ones",
    "gait": "how a trained robot walks, by speed, beside the reference gaits",
    "reconstruct": "the error of the depth that a world model decodes, on courses of both sides",
    "curves": "compare how runs learned, or what swap eval measured, as table and figure",
    "view": "drive a trained robot in the browser, and see what it sees and imagines",
    "play": "film a trained robot on a course, and what it imagines",
    "keep": "a trained robot as one file with a card: to act, and to start new runs from",
    "export": "a trained robot as a bundle of ONNX graphs and facts that runs without torch",
    "sim2sim": "how often a bundle succeeds in another simulator, as a process of its own",
    "check nn": "mirror every network layer and report the error, which must be exactly zero",
    "check model": "mirror what a robot observes: its networks and behaviour must mirror too",
    "check sim": "mirror whole scenes in both engines and compare; compare the engines",
    "bench nn": "time the equivariant layers against dense ones",
    "bench model": "count and time the world model, beside its plain twin",
    "bench sim": "time control steps, depth images and height maps, beside mujoco-warp's own",
    "bench train": "time each part of a training iteration",
    "bench deploy": "how long a bundle's policy, world model and controller take on one core",
    "doctor": "what this machine has, what is missing, and the command that installs it",
}
"""Each command's name and one line about it. `check nn` is in the file check_nn.py."""


def main() -> None:
    """The entry point: exit code 0 done, 1 a check or a run failed, 2 bad input; 130, 143 and 129
    after SIGINT, SIGTERM and SIGHUP."""
    signals.handle_stop_signals(signals.exit_now)
    openmp.set_defaults()
    prepare_streams()
    unwinding = signals.RaiseOnSignal()
    try:
        work = prepare(sys.argv[1:])
        signals.handle_stop_signals(unwinding)
        code = work()
    except BaseException as error:
        code = exit_code_of(error, unwinding.signal)
    # Everything is saved; from now on a signal simply ends the process.
    signals.handle_stop_signals(signal.SIG_DFL)
    if (lost := lost_output()) and code == 0:
        code = exit_code_of(lost, None)
    sys.exit(code)


def exit_code_of(error: BaseException, sig: int | None) -> int:
    """Prints the line for an error and returns its exit code; raises our own mistakes again."""
    if sig is not None:  # whatever error a library raised for it
        print("swap: stopped", file=sys.stderr)
        return signals.exit_code(sig)
    if isinstance(error, UserError):
        print(f"swap: {error}", file=sys.stderr)
        return 2
    if isinstance(error, ModuleNotFoundError) and (error.name or "swap").split(".")[0] != "swap":
        why = f"the library {error.name} is missing here; pip install -c constraints.txt ."
        print(f"swap: {why} in a clone of swap installs all it needs", file=sys.stderr)
        return 1
    if isinstance(error, SystemExit) and not error.code:  # --help
        return 0
    if isinstance(error, BrokenPipeError):  # `--json /dev/stdout | head`: the reader has ended
        return 0
    if isinstance(error, OSError):  # a full disk, an unreadable file
        print(f"swap: {describe_error(error)}", file=sys.stderr)
        return 2 if isinstance(error, PermissionError) else 1  # a wrong path, or the machine
    raise error


def describe_error(error: OSError) -> str:
    """The error in one line, with the file it is about."""
    why = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return (
        f"'{error.filename}': {why}" if error.filename else f"cannot write what is printed: {why}"
    )


def dispatch(argv: list[str]) -> int:
    return prepare(argv)()


def prepare(argv: list[str]) -> Callable[[], int]:
    """Imports the command and parses its options; returns the work to do, which has not begun."""
    forget()
    if not argv or argv[0] in ("-h", "--help"):
        return lambda: print_text(overview())
    if argv[0] == "--version":
        return lambda: print_text(f"swap {swap.__version__}")
    name, options = match_command(argv)
    module = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
    if hasattr(module, "parse"):  # for options that depend on each other
        args = module.parse(options)
    else:
        args = parse(module.Args, f"swap {name}", options)
    return lambda: run_command(module, args)


def run_command(module: Any, args: Any) -> int:
    """Runs a command, unless its --json would replace what is no report."""
    from swap.cli.show import check_json

    check_json(getattr(args, "json", None))
    return int(module.run(args))


def print_text(text: str) -> int:
    print(text)
    return 0


def overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()]
    return "\n".join(
        ["usage: swap COMMAND [options]", "", *lines, "", "swap COMMAND --help shows its options."]
    )


def match_command(argv: list[str]) -> tuple[str, list[str]]:
    """Returns the command's name, one word or two, and the words after it."""
    for words in (2, 1):
        name = " ".join(argv[:words])
        if len(argv) >= words and name in COMMANDS:
            return name, argv[words:]
    group = [name for name in COMMANDS if name.split()[0] == argv[0]]
    if group:
        given = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else None
        subjects = [name.split()[1] for name in group]
        if given is None:
            raise UserError(f"swap {argv[0]} needs a subject: {', '.join(subjects)}")
        raise unknown(f"subject of swap {argv[0]}", given, subjects)
    raise unknown("command", argv[0], COMMANDS)


def parse(
    args: type[T],
    prog: str,
    options: list[str],
    default: T | None = None,
    description: str | None = None,
) -> T:
    """Parses options into the command's dataclass; a mistake becomes one line."""
    import tyro

    check_repeated(options)
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            start: Any = {} if default is None else {"default": default}
            parsed: T = tyro.cli(args, prog=prog, args=options, description=description, **start)
            return parsed
    except SystemExit as stop:
        if stop.code in (0, None):  # --help
            raise
        raise UserError(one_line(complaint.getvalue(), prog)) from None


def check_repeated(options: list[str]) -> None:
    """Raises a UserError for an option that is given twice: the parser would drop one of them."""
    given: dict[str, list[str]] = {}
    repeated: list[str] = []
    flag = ""
    for word in options:
        if word.startswith("--") and word != "--":
            name, equals, value = word.partition("=")
            flag = name.replace("_", "-")
            repeated += [flag] if flag in given else []
            given.setdefault(flag, []).extend([value] if equals else [])
        else:
            given.setdefault(flag, []).append(word)
    for flag in repeated:
        values = shlex.join(given[flag])
        several = f", or all its values after one: {flag} {values}" if values else ""
        raise UserError(f"{flag} is given twice; give it once{several}")


def one_line(box: str, prog: str) -> str:
    """Turns the parser's boxed message into one line, without frame, repeated help and title. The
    frame is made of dashes where the output cannot show box characters."""
    lines = "\n".join(line.strip("│| ") for line in box.splitlines())
    _, *sections = re.split(r"^.*[─-]{5,}.*$", lines, flags=re.MULTILINE)  # the title comes first
    parts = [" ".join(part.split()) for part in sections if "helptext" not in part]
    parts = [re.sub(r"^Error parsing [\w.]+: ", "", part) for part in parts if part]
    return f"{'; '.join(parts) or 'cannot read these options'} (see {prog} --help)"
