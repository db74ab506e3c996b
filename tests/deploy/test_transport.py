"""Messages cross shared memory and DDS as they are; nothing torn or forged is believed."""

import errno
import multiprocessing
import random
import time
from dataclasses import replace

import numpy as np
import pytest

from still_robot import Still
from swap.deploy.dds import Dds
from swap.deploy.depth import Lens
from swap.deploy.joints import MotorChannel
from swap.deploy.messages import DepthImage, MotorCommand, Operator, RobotState
from swap.deploy.transport import SharedMemory
from swap.deploy.unitree import COMMAND_LAYOUT, COMMAND_TOPIC, LowCmd, command_crc, mpeg2
from swap.errors import UserError

LENS = Lens(4, 6, 3.0, 3.0, 2.5, 1.5)
MOTORS = tuple(MotorChannel(f"j{k}", (-1) ** k, k / 10) for k in range(12))


def row(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


STATE = RobotState(1.0, row(4), row(3, seed=1), row(12, seed=2), row(12, seed=3), row(12, seed=4))
COMMAND = MotorCommand(1.0, *(row(12, seed=k) for k in range(4)))
IMAGE = DepthImage(0.9, np.abs(row(4, 6)))


def close(a, b, atol=0.0, skip=()):
    for name, x in vars(a).items():
        if name not in skip:
            np.testing.assert_allclose(getattr(b, name), x, atol=atol, err_msg=name)


def test_shared_memory_carries_each_kind_once(tmp_path):
    robot = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    mind = SharedMemory.join(tmp_path / "link")
    assert (mind.motors, mind.lens) == (MOTORS, LENS)
    assert mind.get_state() is None
    robot.put_state(STATE, 1.5)
    robot.put_depth(IMAGE, 1.5)
    mind.put_command(COMMAND, 2.0)
    robot.put_operator(Operator("run", 1.0, heading_rad=0.5), 1.5)
    close(STATE, mind.get_state())
    assert mind.now_s == 1.5
    close(IMAGE, mind.get_depth())
    close(COMMAND, robot.get_command())
    assert mind.get_operator() == Operator("run", 1.0, heading_rad=0.5)
    assert mind.get_state() is None
    robot.put_state(replace(STATE, time_s=2.0), 2.0)
    robot.put_state(replace(STATE, time_s=3.0), 3.0)
    assert mind.get_state().time_s == 3.0
    robot.close()
    assert not (tmp_path / "link").exists()


def test_whoever_starts_again_is_heard_at_once(tmp_path):
    """Either side has got many messages of the other's; new processes begin to write."""
    robot = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    mind = SharedMemory.join(robot.path)
    for _ in range(50):
        mind.put_command(COMMAND, 1.0)
        robot.put_state(STATE, 1.0)
        assert robot.get_command() is not None
        assert mind.get_state() is not None
    again = SharedMemory.join(robot.path)
    again.put_command(replace(COMMAND, time_s=2.0), 2.0)
    assert robot.wait("command", 0.0)
    assert robot.get_command().time_s == 2.0
    other = SharedMemory.join(robot.path)
    other.put_state(replace(STATE, time_s=3.0), 3.0)
    assert mind.get_state().time_s == 3.0
    assert again.get_state().time_s == 3.0


def ask(path, request):
    SharedMemory.join(path).put_operator(Operator(request), 0.0)


def test_any_process_may_ask_and_is_heard(tmp_path):
    """The robot's end has asked many times, then others ask once each, and it asks again."""
    robot = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    mind = SharedMemory.join(robot.path)
    for _ in range(50):
        robot.put_operator(Operator("stand"), 0.0)
        assert mind.get_operator() == Operator("stand")
    spawn = multiprocessing.get_context("spawn")
    for request in ("damp", "passive"):
        process = spawn.Process(target=ask, args=(robot.path, request))
        process.start()
        process.join()
        assert mind.get_operator() == Operator(request)
        assert mind.get_operator() is None
    robot.put_operator(Operator("stop"), 0.0)
    assert mind.get_operator() == Operator("stop")


def test_an_old_request_is_not_obeyed_by_a_controller_that_starts_again(tmp_path):
    robot = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    robot.put_operator(Operator("stand"), 0.0)
    mind = SharedMemory.join(robot.path)
    assert mind.get_operator() is None
    robot.put_operator(Operator("stand"), 0.0)
    assert mind.get_operator() == Operator("stand")


def write_states(path, stop):
    """A robot whose every state is one number many times."""
    link, k = SharedMemory.join(path), 0
    while not stop.is_set():
        k += 1
        same = np.full(12, k % 1000, np.float32)
        link.put_state(RobotState(float(k), same[:4], same[:3], same, same, same), float(k))


def test_no_state_is_torn(tmp_path):
    """Another process writes as fast as it can; every state that is read is of one piece."""
    link = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()
    writer = spawn.Process(target=write_states, args=(link.path, stop))
    writer.start()
    seen, deadline = 0, time.monotonic() + 120
    while seen < 1000 and time.monotonic() < deadline:
        state = link.get_state()
        if state is not None:
            seen += 1
            numbers = {*state.pos, *state.vel, *state.quat, float(state.time_s % 1000)}
            assert len(numbers) == 1
    stop.set()
    writer.join()
    assert writer.exitcode == 0
    assert seen == 1000


def test_a_torn_message_is_not_believed(tmp_path):
    robot = SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    mind = SharedMemory.join(tmp_path / "link")
    robot.put_state(STATE, 1.0)
    robot._map[robot._at["state"] + 40] ^= 1
    assert mind.get_state() is None


def test_no_robot_and_no_link_are_one_line(tmp_path):
    with pytest.raises(UserError, match="no robot at"):
        SharedMemory.join(tmp_path / "nothing", timeout_s=0.05)
    (tmp_path / "file").write_bytes(b"x" * 5000)
    with pytest.raises(UserError, match="no link"):
        SharedMemory.join(tmp_path / "file")


def test_only_a_link_is_replaced(tmp_path):
    """What a robot's end left behind, of this format or another, and nothing else."""
    path = tmp_path / "link"
    SharedMemory.make(path, MOTORS, LENS)
    path.write_bytes(path.read_bytes().replace(b"swap-link-2", b"swap-link-1"))
    with pytest.raises(UserError, match="another version"):
        SharedMemory.join(path)
    SharedMemory.make(path, MOTORS, LENS).close()
    assert not any(tmp_path.iterdir())
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "astray").symlink_to(tmp_path / "nothing")
    for name in ("notes.txt", "folder", "astray"):
        with pytest.raises(UserError, match=r"is no link; name another file, e\.g\."):
            SharedMemory.make(tmp_path / name, MOTORS, LENS)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(x.name for x in tmp_path.iterdir()) == ["astray", "folder", "notes.txt"]


def test_what_the_machine_refuses_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing" / "x", tmp_path / "file" / "x"):
        with pytest.raises(UserError, match=r"cannot make a link at .*; name another file"):
            SharedMemory.make(path, MOTORS, LENS)
    with pytest.raises(UserError, match=r"is no link of a robot .*; name that of its end"):
        SharedMemory.join(tmp_path)

    def full(path, data):
        path.write_bytes(data[:9])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("swap.files.write_file", full)
    with pytest.raises(UserError, match="No space left"):
        SharedMemory.make(tmp_path / "link", MOTORS, LENS)
    assert [x.name for x in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def dds():
    """Both ends, in a domain of their own."""
    domain = random.Random(time.time_ns()).randrange(20, 180)
    ends = Dds(MOTORS, LENS, domain), Dds(MOTORS, LENS, domain)
    for end in ends:
        end.listen()
    time.sleep(0.3)
    yield ends
    for end in ends:
        end.close()


def arrives(get, put):
    """What comes of a message that is sent until it does."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        put()
        time.sleep(0.02)
        if (found := get()) is not None:
            return found
    raise AssertionError("nothing came")


def test_dds_over_loopback(dds):
    robot, mind = dds
    now = time.monotonic()
    state = arrives(mind.get_state, lambda: robot.put_state(STATE, now))
    close(STATE, state, skip=("time_s",))
    assert 0 <= time.monotonic() - state.time_s < 5
    command = arrives(robot.get_command, lambda: mind.put_command(COMMAND, now))
    close(COMMAND, command, skip=("time_s",))
    image = arrives(mind.get_depth, lambda: robot.put_depth(IMAGE, IMAGE.time_s + 0.1))
    close(IMAGE, image, atol=0.00051, skip=("time_s",))
    assert time.monotonic() - image.time_s == pytest.approx(0.1, abs=0.5)
    told = Operator("run", 1.0, heading_rad=0.5)
    assert arrives(mind.get_operator, lambda: robot.put_operator(told, now)) == told


def test_dds_refuses_a_command_whose_crc_is_wrong(dds):
    robot, mind = dds
    arrives(robot.get_command, lambda: mind.put_command(COMMAND, 0.0))
    wrong = LowCmd()
    wrong.crc = command_crc(wrong) ^ 1
    for _ in range(20):
        mind._write(COMMAND_TOPIC, wrong)
        time.sleep(0.02)
        found = robot.get_command()
        assert found is None or np.any(found.kp)
    assert robot.bad_crc > 0


def test_the_crc_is_mpeg2():
    """Its published check value, and the size of a command in a robot's memory."""
    assert mpeg2(b"123456789") == 0x0376E6E7
    assert COMMAND_LAYOUT.size == 812


def test_a_controller_runs_a_robot_over_dds(bundle, dds):
    """State and image in, command out, all through the wires."""
    robot_end, mind_end = dds
    robot_end.lens = mind_end.lens = None
    still = Still(bundle)
    camera = bundle.spec.camera
    lens = Lens(camera.rows, camera.cols, 1 / camera.pixel, 1 / camera.pixel, 0, 0)
    robot_end.lens = mind_end.lens = lens
    still.now_s = time.monotonic()
    heard = arrives(mind_end.get_state, lambda: robot_end.put_state(still.state(), 0.0))
    still.controller.on_state(heard)
    image = arrives(mind_end.get_depth, lambda: robot_end.put_depth(still.image(), still.now_s))
    still.controller.on_depth(image)
    still.controller.on_operator(Operator("stand"), time.monotonic())
    sent = arrives(
        robot_end.get_command,
        lambda: mind_end.put_command(still.controller.step(heard.time_s), 0.0),
    )
    np.testing.assert_allclose(sent.kp, [joint.kp for joint in bundle.spec.joints])
