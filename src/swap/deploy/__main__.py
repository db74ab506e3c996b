"""`python -m swap.deploy`: a bundle on a robot, without torch: check it, run it, replay a log.

python -m swap.deploy check BUNDLE
python -m swap.deploy run BUNDLE --shm /dev/shm/robot        # dry: nothing is sent
python -m swap.deploy run BUNDLE --dds 0 --legs FR FL RR RL --armed --log run.log
python -m swap.deploy replay BUNDLE run.log
"""

import argparse
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from swap.deploy.bundle import Bundle, read_bundle
from swap.deploy.controller import Mode
from swap.deploy.depth import training_lens
from swap.deploy.log import LoggedController, replay
from swap.deploy.messages import Operator
from swap.deploy.runtime import Runtime, replay_vectors
from swap.deploy.transport import SharedMemory
from swap.deploy.vectors import TOLERANCE, unpack
from swap.errors import UserError

if TYPE_CHECKING:
    from swap.deploy.transport import Transport

CYCLE_S = 0.005
"""From one command to the next."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m swap.deploy", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    kinds = parser.add_subparsers(dest="what", required=True)
    check = kinds.add_parser("check", help="this machine's onnxruntime against torch's answers")
    run = kinds.add_parser("run", help="control a robot; dry unless --armed")
    again = kinds.add_parser("replay", help="whether a log gives the same commands again")
    for each in (check, run, again):
        each.add_argument("bundle", type=Path)
    again.add_argument("log", type=Path)
    where = run.add_mutually_exclusive_group(required=True)
    where.add_argument("--shm", type=Path, help="the robot's link in shared memory")
    where.add_argument("--dds", type=int, metavar="DOMAIN", help="the robot's DDS domain")
    run.add_argument("--legs", nargs=4, default=None, help="the order of the legs on DDS")
    run.add_argument("--armed", action="store_true", help="send commands; without it none leave")
    run.add_argument("--log", type=Path, help="write all that is heard and said to this file")
    run.add_argument("--seconds", type=float, default=float("inf"), help="then damp and end")
    args = parser.parse_args(argv)
    try:
        bundle = read_bundle(args.bundle)
        if args.what == "check":
            return self_check(bundle)
        if args.what == "replay":
            said, same = replay(bundle, args.log)
            print(f"{same} of {said} commands are the same again")
            return 0 if same == said else 1
        return control(bundle, link_of(bundle, args), args.armed, args.log, args.seconds)
    except UserError as error:
        print(f"swap.deploy: {error}", file=sys.stderr)
        return 2


def self_check(bundle: Bundle) -> int:
    vectors = unpack(bundle.vectors)
    actions, _ = replay_vectors(Runtime(bundle), vectors)
    error = float(np.abs(actions - vectors.action).max())
    fine = error <= TOLERANCE
    print(f"{vectors.steps} steps: actions differ by {error:.1e}; {'fine' if fine else 'too much'}")
    return 0 if fine else 1


def link_of(bundle: Bundle, args: argparse.Namespace) -> "Transport":
    if args.shm is not None:
        return SharedMemory.join(args.shm)
    try:
        from swap.deploy.dds import Dds
        from swap.deploy.unitree import ORDER, unitree_motors
    except ModuleNotFoundError:
        raise UserError("no module 'cyclonedds' here; install it: pip install cyclonedds") from None
    motors = unitree_motors(tuple(args.legs) if args.legs else ORDER)
    link = Dds(motors, training_lens(bundle.spec.camera), args.dds)
    link.listen()
    return link


def open_log(path: Path | None) -> BinaryIO:
    """A file for a log; never one that holds something, e.g. the log of an earlier run."""
    if path is None:
        return open("/dev/null", "wb")
    try:
        if path.is_file() and path.stat().st_size:
            raise UserError(f"log '{path}' is there; name another file")
        return open(path, "wb")
    except OSError as error:
        raise UserError(
            f"cannot write the log '{path}' ({error.strerror}); name another file"
        ) from None


def close_log(file: BinaryIO) -> None:
    try:
        file.close()
    except OSError as error:
        _say(f"the log is cut off: {error.strerror}")


def control(
    bundle: Bundle, link: "Transport", armed: bool, log: Path | None, seconds: float
) -> int:
    """Until a signal, e.g. Ctrl-C; tells every change of mode. However it ends, it damps."""
    with contextlib.ExitStack() as stack:
        stack.callback(link.close)
        file = open_log(log)
        stack.callback(close_log, file)
        controller = LoggedController(bundle, file, link.motors, link.lens)
        _say("armed: commands are sent" if armed else "dry run: no command is sent")
        stack.callback(_damp, controller, link, armed)
        began = due = time.monotonic()
        with stopped_by_signals():
            while (now := time.monotonic()) < began + seconds:
                if (state := link.get_state()) is not None:
                    controller.on_state(state, now)
                if (image := link.get_depth()) is not None:
                    controller.on_depth(image, now)
                if (operator := link.get_operator()) is not None:
                    controller.on_operator(operator, now)
                _send(controller, link, now, armed)
                due = max(due + CYCLE_S, now)
                time.sleep(max(0.0, due - time.monotonic()))
    return 0


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Ctrl-C, kill and a terminal that is closed end the body; nohup is respected."""
    kinds = (signal.SIGTERM, signal.SIGHUP)
    before = {kind: x for kind in kinds if (x := signal.getsignal(kind)) != signal.SIG_IGN}
    for kind in before:
        signal.signal(kind, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _damp(controller: LoggedController, link: "Transport", armed: bool) -> None:
    now = time.monotonic()
    controller.on_operator(Operator("damp"), now)
    _send(controller, link, now, armed)


def _send(controller: LoggedController, link: "Transport", now: float, armed: bool) -> None:
    command = controller.step(now)
    if armed and controller.controller.mode is not Mode.PASSIVE:
        link.put_command(command, now)
    for _, what in controller.controller.events:
        _say(what)
    controller.controller.events.clear()


def _say(what: str) -> None:
    with contextlib.suppress(OSError):  # who reads it may go away; the robot is still there
        print(what, flush=True)


if __name__ == "__main__":
    sys.exit(main())
