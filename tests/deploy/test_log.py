"""A log plays again: the same commands, to the last bit, and a changed one is found."""

import numpy as np
import pytest

from still_robot import QUICK, Still
from swap.deploy.log import LoggedController, replay
from swap.deploy.messages import Codec, DepthImage, MotorCommand, Operator, RobotState
from swap.errors import UserError


class Wires:
    """A controller that hears without a clock, on one that logs with it."""

    def __init__(self, logged):
        self.logged, self.now_s, self.runtime = logged, 0.0, logged.controller.runtime

    def on_state(self, state):
        self.logged.on_state(state, self.now_s)

    def on_depth(self, image):
        self.logged.on_depth(image, self.now_s)

    def on_operator(self, told, now_s):
        self.logged.on_operator(told, now_s)

    def step(self, now_s):
        self.now_s = now_s
        return self.logged.step(now_s)

    @property
    def events(self):
        return self.logged.controller.events


@pytest.fixture
def log(bundle, tmp_path):
    path = tmp_path / "run.log"
    with path.open("wb") as file:
        still = Still(bundle, Wires(LoggedController(bundle, file, cfg=QUICK)))
        draw = np.random.default_rng(0)
        still.change = lambda x: RobotState(
            x.time_s, x.quat, draw.normal(size=3), x.pos + draw.normal(size=12) / 50, x.vel, x.vel
        )
        still.run().live(0.5)
        still.tell("damp")
        still.live(0.1)
    return path


def test_a_log_gives_the_same_commands_again(bundle, log):
    said, same = replay(bundle, log)
    assert said == same > 150


def test_a_log_that_was_cut_off_plays_as_far_as_it_is_whole(bundle, log):
    said, _ = replay(bundle, log)
    log.write_bytes(log.read_bytes()[:-100])
    shorter, same = replay(bundle, log)
    assert shorter == same == said - 1


def test_a_log_without_a_command_is_refused(bundle, log):
    """As one that was cut off in its first line, or right after it."""
    data = log.read_bytes()
    end = data.index(b"\n")
    for length, why in ((end - 1, "no log"), (end, "before its first"), (end + 50, "before its")):
        log.write_bytes(data[:length])
        with pytest.raises(UserError, match=why):
            replay(bundle, log)


def test_another_command_is_found(bundle, log):
    data = bytearray(log.read_bytes())
    data[-3] ^= 1
    log.write_bytes(bytes(data))
    said, same = replay(bundle, log)
    assert same == said - 1


def test_a_log_of_another_bundle_or_none_is_refused(bundle, log, tmp_path):
    log.write_bytes(log.read_bytes().replace(bundle.seal.encode(), b"0" * 64, 1))
    with pytest.raises(UserError, match="another bundle"):
        replay(bundle, log)
    (tmp_path / "x").write_bytes(b'{"format": 1}\n')
    with pytest.raises(UserError, match="another bundle"):
        replay(bundle, tmp_path / "x")
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(UserError, match="no log"):
        replay(bundle, tmp_path / "x")


def test_messages_come_out_as_they_went_in():
    codec, draw = Codec(12, (4, 6)), np.random.default_rng(0)

    def row(*shape):
        return draw.normal(size=shape).astype(np.float32)

    for message, pack, unpack in (
        (RobotState(1.5, row(4), row(3), row(12), row(12), row(12)), "pack_state", "unpack_state"),
        (DepthImage(2.5, row(4, 6)), "pack_depth", "unpack_depth"),
        (MotorCommand(3.5, row(12), row(12), row(12), row(12)), "pack_command", "unpack_command"),
        (Operator("run", 1.0, -0.5, 0.25), "pack_operator", "unpack_operator"),
        (Operator("", 1.0, heading_rad=0.0), "pack_operator", "unpack_operator"),
    ):
        data = getattr(codec, pack)(message)
        again = getattr(codec, unpack)(data)
        for name, value in vars(message).items():
            np.testing.assert_array_equal(getattr(again, name), value)
        with pytest.raises(UserError, match="bytes instead of"):
            getattr(codec, unpack)(data[:-1])
