"""Carries messages between a robot and its controller: the interface, and shared memory.

A link holds the newest message of each kind; older ones are overwritten, because a controller wants
what is true now. The robot's end makes a link and says which motors and which camera it has; the
controller's end joins it and matches them by name.
"""

import contextlib
import json
import mmap
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, Protocol

from swap.deploy.depth import Lens
from swap.deploy.joints import MotorChannel
from swap.deploy.messages import Codec, DepthImage, MotorCommand, Operator, RobotState
from swap.errors import UserError
from swap.files import beside, replace_file

Kind = Literal["state", "depth", "command", "operator"]
KINDS: tuple[Kind, ...] = ("state", "depth", "command", "operator")
EXAMPLE = "/dev/shm/robot"
PAUSE_S = 2e-5
"""Between two looks of one who waits."""


@contextlib.contextmanager
def _told(what: str, fix: str) -> Iterator[None]:
    """Tells in one line what the machine refuses."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what} ({error.strerror}); {fix}") from None


class Transport(Protocol):
    """Both ends of a link, each of which uses its half of it."""

    motors: tuple[MotorChannel, ...]
    lens: Lens

    def put_state(self, message: RobotState, now_s: float) -> None: ...
    def put_depth(self, message: DepthImage, now_s: float) -> None: ...
    def put_command(self, message: MotorCommand, now_s: float) -> None: ...
    def put_operator(self, message: Operator, now_s: float) -> None: ...
    def get_state(self) -> RobotState | None:
        """The newest, if there is one that was not got yet; so do the other three."""

    def get_depth(self) -> DepthImage | None: ...
    def get_command(self) -> MotorCommand | None: ...
    def get_operator(self) -> Operator | None: ...
    def close(self) -> None: ...


class SharedMemory:
    """A link through a file that both processes map, e.g. /dev/shm/robot.

    A slot for each kind: an id, the sender's time, a checksum, the message. A reader that meets a
    slot in the middle of being written finds the checksum wrong, and looks again. A message is new
    if its id is not that of the last one that was got. Ids are random and not counted: whoever
    starts again, or writes beside another process, is heard at once.
    """

    KIND, FORMAT = b"swap-link-", b"2"
    MAGIC, HEAD, PAGE = KIND + FORMAT, struct.Struct("<8sdI"), 4096
    NO_ID = bytes(8)
    LOOKS = 100

    def __init__(
        self, path: Path, motors: Sequence[MotorChannel], lens: Lens, *, create: bool
    ) -> None:
        """Use `make` or `join`."""
        self.path, self.motors, self.lens = path, tuple(motors), lens
        self.now_s = 0.0
        """When the newest message that was got was sent, on its sender's clock."""
        codec = self._codec = Codec(len(self.motors), (lens.rows, lens.cols))
        sizes = {kind: getattr(codec, kind).itemsize for kind in KINDS}
        self._at, self._size, end = {}, sizes, self.PAGE
        for kind, size in sizes.items():
            self._at[kind] = end
            end += -(-(self.HEAD.size + size) // 64) * 64
        if create:
            self._make_file(end)
        with _told(f"cannot use the link '{path}'", "run both of its ends as one user"):
            if path.stat().st_size != end:
                raise UserError(f"'{path}' is a link of another size; start the robot's end again")
            with open(path, "r+b") as file:
                self._map = mmap.mmap(file.fileno(), end)
        self._got = dict.fromkeys(KINDS, self.NO_ID)
        # A request is for who hears it: a controller that starts again does not obey an old one.
        self._got["operator"] = self._id("operator")
        self._creator = create

    @classmethod
    def make(cls, path: Path, motors: Sequence[MotorChannel], lens: Lens) -> "SharedMemory":
        """The robot's end."""
        return cls(path, motors, lens, create=True)

    @classmethod
    def join(cls, path: Path, timeout_s: float = 5.0) -> "SharedMemory":
        """The controller's end; waits until the robot's is there."""
        until, page = time.monotonic() + timeout_s, b""
        while len(page) < cls.PAGE:
            with (
                _told(f"'{path}' is no link of a robot", f"name that of its end, e.g. {EXAMPLE}"),
                contextlib.suppress(FileNotFoundError),
                open(path, "rb") as file,
            ):
                page = file.read(cls.PAGE)
            if len(page) < cls.PAGE and time.monotonic() > until:
                raise UserError(f"no robot at '{path}'; start its end of the link first")
            time.sleep(0.01)
        magic, _, facts = page.rstrip(b"\0").partition(b"\n")
        if magic != cls.MAGIC and magic.startswith(cls.KIND):
            raise UserError(f"'{path}' is of another version of swap; run both ends with one")
        try:
            told = json.loads(facts) if magic == cls.MAGIC else {}
            motors, lens = [MotorChannel(**motor) for motor in told["motors"]], Lens(**told["lens"])
        except (ValueError, KeyError, TypeError):
            raise UserError(
                f"'{path}' is no link of a robot; name that of its end, e.g. {EXAMPLE}"
            ) from None
        return cls(path, motors, lens, create=False)

    def _make_file(self, size: int) -> None:
        """Anew. Of what is there only a link is replaced, which a robot's end left behind."""
        path, data = self.path, self._facts()
        fix = f"name another file, e.g. {EXAMPLE}"
        with _told(f"cannot make a link at '{path}'", fix):
            if os.path.lexists(path) and not self._is_link(path):
                raise UserError(f"'{path}' is there and is no link; {fix}")
            try:
                replace_file(path, data + bytes(size - len(data)))
            except OSError:  # a full disk
                beside(path).unlink(missing_ok=True)
                raise

    def _is_link(self, path: Path) -> bool:
        """Of this format or another."""
        if not path.is_file():
            return False
        with open(path, "rb") as file:
            return file.read(len(self.KIND)) == self.KIND

    def _facts(self) -> bytes:
        told = {"motors": [asdict(motor) for motor in self.motors], "lens": asdict(self.lens)}
        page = self.MAGIC + b"\n" + json.dumps(told).encode()
        if len(page) > self.PAGE:
            raise UserError("the names of the motors do not fit into a link; use shorter ones")
        return page + bytes(self.PAGE - len(page))

    # --- messages -------------------------------------------------------------------------------
    def put_state(self, message: RobotState, now_s: float) -> None:
        self._write("state", self._codec.pack_state(message), now_s)

    def put_depth(self, message: DepthImage, now_s: float) -> None:
        self._write("depth", self._codec.pack_depth(message), now_s)

    def put_command(self, message: MotorCommand, now_s: float) -> None:
        self._write("command", self._codec.pack_command(message), now_s)

    def put_operator(self, message: Operator, now_s: float) -> None:
        self._write("operator", self._codec.pack_operator(message), now_s)

    def get_state(self) -> RobotState | None:
        data = self._read("state")
        return None if data is None else self._codec.unpack_state(data)

    def get_depth(self) -> DepthImage | None:
        data = self._read("depth")
        return None if data is None else self._codec.unpack_depth(data)

    def get_command(self) -> MotorCommand | None:
        data = self._read("command")
        return None if data is None else self._codec.unpack_command(data)

    def get_operator(self) -> Operator | None:
        data = self._read("operator")
        return None if data is None else self._codec.unpack_operator(data)

    def wait(self, kind: Kind, timeout_s: float) -> bool:
        """Whether there is a message of this kind that was not got yet, within the time."""
        until = time.monotonic() + timeout_s
        while True:
            for _ in range(3):
                if self._id(kind) != self._got[kind]:
                    return True
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)

    def peek(self, kind: Kind) -> bool:
        """Whether there has ever been a message of this kind."""
        return self._id(kind) != self.NO_ID

    def close(self) -> None:
        self._map.close()
        if self._creator:
            self.path.unlink(missing_ok=True)

    # --- slots ----------------------------------------------------------------------------------
    def _id(self, kind: Kind) -> bytes:
        at = self._at[kind]
        return self._map[at : at + 8]

    def _write(self, kind: Kind, data: bytes, now_s: float) -> None:
        fresh = os.urandom(8)
        check = zlib.crc32(self.HEAD.pack(fresh, now_s, 0) + data)
        head = self.HEAD.pack(fresh, now_s, check)
        at = self._at[kind]
        # The message first, the id that tells of it last.
        self._map[at + self.HEAD.size : at + self.HEAD.size + len(data)] = data
        self._map[at + 8 : at + self.HEAD.size] = head[8:]
        self._map[at : at + 8] = head[:8]

    def _read(self, kind: Kind) -> bytes | None:
        at, end = self._at[kind], self._at[kind] + self.HEAD.size + self._size[kind]
        for _ in range(self.LOOKS):
            whole = self._map[at:end]
            found, sent_s, check = self.HEAD.unpack_from(whole)
            if found == self._got[kind]:
                return None
            data = whole[self.HEAD.size :]
            if zlib.crc32(self.HEAD.pack(found, sent_s, 0) + data) == check:
                self._got[kind] = found
                self.now_s = sent_s
                return data
            os.sched_yield()
        return None
