"""Writes all that a controller receives and sends to a file, and replays it: the same commands.

A line of JSON (bundle, motors, settings), then records: a letter, the time, the length, a message.
A file that was cut off, as by a power cut, is read as far as it is whole.
"""

import contextlib
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from swap.deploy.bundle import Bundle
from swap.deploy.controller import Controller, ControllerCfg
from swap.deploy.depth import Lens
from swap.deploy.joints import MotorChannel, plain_motors
from swap.deploy.messages import Codec, DepthImage, MotorCommand, Operator, RobotState
from swap.errors import UserError

HEAD = struct.Struct("<cdI")
STATE, DEPTH, OPERATOR, COMMAND = b"s", b"d", b"o", b"c"
FORMAT = 1


class LoggedController:
    """A controller whose every word goes into a file, too."""

    def __init__(
        self,
        bundle: Bundle,
        file: BinaryIO,
        motors: Sequence[MotorChannel] | None = None,
        lens: Lens | None = None,
        cfg: ControllerCfg | None = None,
    ) -> None:
        self.controller = Controller(bundle, motors, lens, cfg)
        motors = motors or plain_motors(bundle.spec)
        eye = self.controller.prepare.lens
        head = {
            "format": FORMAT,
            "bundle": bundle.seal,
            "motors": [asdict(motor) for motor in motors],
            "lens": asdict(eye),
            "cfg": asdict(self.controller.cfg),
        }
        self._file, self._codec = file, Codec(len(motors), (eye.rows, eye.cols))
        file.write(json.dumps(head).encode() + b"\n")

    def on_state(self, state: RobotState, now_s: float) -> None:
        # It hears what is in the file: a message in float64 would be rounded there.
        data = self._codec.pack_state(state)
        self._write(STATE, now_s, data)
        self.controller.on_state(self._codec.unpack_state(data))

    def on_depth(self, image: DepthImage, now_s: float) -> None:
        data = self._codec.pack_depth(image)
        self._write(DEPTH, now_s, data)
        self.controller.on_depth(self._codec.unpack_depth(data))

    def on_operator(self, operator: Operator, now_s: float) -> None:
        self._write(OPERATOR, now_s, self._codec.pack_operator(operator))
        self.controller.on_operator(operator, now_s)

    def step(self, now_s: float) -> MotorCommand:
        command = self.controller.step(now_s)
        self._write(COMMAND, now_s, self._codec.pack_command(command))
        return command

    def _write(self, kind: bytes, now_s: float, data: bytes) -> None:
        if not self._file.closed:
            try:
                self._file.write(HEAD.pack(kind, now_s, len(data)) + data)
            except OSError as error:  # a full disk: the robot must be controlled all the same
                with contextlib.suppress(OSError):
                    self._file.close()
                self.controller.events.append((now_s, f"the log is cut off: {error.strerror}"))


def records(path: Path) -> tuple[dict[str, Any], Iterator[tuple[bytes, float, bytes]]]:
    """The first line, and the records that are whole."""
    try:
        data = path.read_bytes()
        line, _, rest = data.partition(b"\n")
        head = json.loads(line)
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise ValueError("it is of another format")
    except (OSError, ValueError) as error:
        raise UserError(f"'{path}' is no log of a controller ({error})") from None
    return head, _split(rest)


def _split(data: bytes) -> Iterator[tuple[bytes, float, bytes]]:
    at = 0
    while at + HEAD.size <= len(data):
        kind, now_s, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + size > len(data):
            return
        yield kind, now_s, data[at : at + size]
        at += size


def replay(bundle: Bundle, path: Path) -> tuple[int, int]:
    """How many commands a log holds, and how many come out the same again, to the last bit."""
    head, rest = records(path)
    if head.get("bundle") != bundle.seal:
        raise UserError(f"'{path}' was made with another bundle than '{bundle.path}'")
    try:
        motors = [MotorChannel(**motor) for motor in head["motors"]]
        lens, cfg = Lens(**head["lens"]), ControllerCfg(**head["cfg"])
    except (KeyError, TypeError) as error:
        raise UserError(f"'{path}' is no log of a controller ({error})") from None
    controller, codec = Controller(bundle, motors, lens, cfg), Codec(len(motors), _size(lens))
    said = same = 0
    for kind, now_s, data in rest:
        if kind == STATE:
            controller.on_state(codec.unpack_state(data))
        elif kind == DEPTH:
            controller.on_depth(codec.unpack_depth(data))
        elif kind == OPERATOR:
            controller.on_operator(codec.unpack_operator(data), now_s)
        elif kind == COMMAND:
            said += 1
            again = codec.pack_command(controller.step(now_s))
            same += again == data
        else:
            raise UserError(f"'{path}' holds a record {kind!r}, which is none")
    if not said:
        raise UserError(f"log '{path}' was cut off before its first command; name another log")
    return said, same


def _size(lens: Lens) -> tuple[int, int]:
    return lens.rows, lens.cols
