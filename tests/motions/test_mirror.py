"""Mirrored clips are clips of the mirrored command, and the set is its own mirror image."""

import numpy as np
import pytest
import torch

from swap.env import Spaces
from swap.env.observation_terms import OBSERVATIONS
from swap.motions import GaitCommand, Motion, clips, frame_layout, get_gait, transitions
from swap.motions.gaits import GAITS, MIRRORED
from swap.motions.reference import frames
from swap.robots import load

ARRAYS = (
    *("base_pos", "base_quat", "lin_vel_b", "ang_vel_b", "joint_pos", "joint_vel"),
    *("stands", "push_b"),
)
ROBOTS = pytest.mark.parametrize("robot", [load("apollo"), load("go2")], ids=lambda r: r.name)


@ROBOTS
@pytest.mark.parametrize("gait", GAITS, ids=lambda g: g.name)
def test_the_mirror_image_is_what_the_mirrored_gait_does_half_a_cycle_later(robot, gait):
    """The oracle is a clip generated for the mirrored command, not the mirrored clip."""
    command = GaitCommand() if gait.stands else GaitCommand(gait.forward_mps[-1] / 2, 0.1, 0.3)
    motion = Motion(robot, gait, command)
    here = motion.clip(3.0).mirrored(robot)
    there = Motion(robot, get_gait(MIRRORED.get(gait.name, gait.name)), command.mirrored())
    assert here.command == there.command
    assert here.gait == there.gait.name
    if gait.stands:
        return  # its sway has a handedness; the mirror image is another clip
    shift = 0.0 if (here.timing.touchdown == there.timing.touchdown).all() else 0.5
    later = shift / motion.timing.frequency_hz
    time = np.arange(len(here)) * 0.02 + later
    pos, _, joints = there.at(time)
    start = there.at(np.array([later]))[0][0]
    back = -there.command.turn_rps * later  # seen from where it is then
    turn = np.array([[np.cos(back), -np.sin(back)], [np.sin(back), np.cos(back)]])
    moved = (pos[:, :2] - start[:2]) @ turn.T
    assert np.abs(joints - robot.default_pose - here.joint_pos).max() < 1e-9
    assert np.abs(pos[:, 2] - here.base_pos[:, 2]).max() < 1e-9
    assert np.abs(moved - (here.base_pos - here.base_pos[0])[:, :2]).max() < 1e-9


@ROBOTS
def test_mirroring_twice_changes_nothing(robot):
    clip = Motion(robot, get_gait("canter_left"), GaitCommand(1.0, 0.1, 0.2)).clip(1.0)
    twice = clip.mirrored(robot).mirrored(robot)
    assert (clip.gait, clip.command) == (twice.gait, twice.command)
    for name in ARRAYS:
        assert np.array_equal(getattr(clip, name), getattr(twice, name)), name


@ROBOTS
def test_the_set_of_transitions_is_its_own_mirror_image_to_the_last_bit(robot):
    pairs, rep = transitions(robot, seconds=1.0), frame_layout(robot).rep
    assert pairs.shape[1:] == (2, 30)
    mirrored = rep(pairs)
    assert not torch.equal(pairs, mirrored)

    def key(x):
        rows = (x + 0.0).flatten(1).numpy()  # + 0: no negative zeros
        return rows[np.lexsort(rows.T[::-1])]

    assert np.array_equal(key(pairs), key(mirrored))
    assert pairs[..., frame_layout(robot)["lin_vel"]][..., 1].mean().abs() < 1e-6


@ROBOTS
def test_transitions_are_frames_of_clips_in_the_layout_of_the_discriminator(robot):
    layout = frame_layout(robot)
    assert layout.rep * 2 == Spaces(robot.body).style.rep
    (clip, _), pairs = clips(robot, ["stand"], 1.0), transitions(robot, ["stand"], 1.0)
    assert len(pairs) == 2 * 50
    at = 17
    here, there = pairs[at, 0], pairs[at, 1]
    for name, source in zip(
        layout.names, (clip.joint_pos, clip.lin_vel_b, clip.ang_vel_b, clip.joint_vel), strict=True
    ):
        for frame, k in ((here, at), (there, at + 1)):
            want = torch.from_numpy(source[k] * OBSERVATIONS[name].scale).float()
            assert torch.equal(frame[layout[name]], want), name


def test_a_gait_asked_for_twice_or_by_both_leads_comes_once():
    robot = load("apollo")
    both = clips(robot, ["canter_left", "canter_right", "canter_left"], 1.0)
    one = clips(robot, ["canter_right"], 1.0)
    assert len(both) == len(one) == 2 * 9
    assert {clip.gait for clip in one} == {"canter_left", "canter_right"}
    assert frames(both[0], robot).shape == (51, 30)
