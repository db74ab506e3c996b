"""Checks clips by kinematics: feet on the ground, velocities that match positions, joint limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from swap.errors import UserError
from swap.motions import GAITS, Clip, GaitCommand, Motion, clips, get_gait
from swap.motions.effort import (
    SPEED_FRACTION,
    is_feasible,
    room_rad,
    speed_fraction,
    torque_fraction,
)
from swap.robots import from_user, load
from swap.robots.kinematics import LegPoints
from swap.robots.mjcf import build_spec
from swap.sim import CONTROL_DT

APOLLO, GO2 = load("apollo"), load("go2")
ROBOTS = pytest.mark.parametrize("robot", [APOLLO, GO2], ids=lambda r: r.name)


def legs(robot, clip):
    """Hip, knee and foot of each leg in the world [T, 4, 3, 3], by forward kinematics."""
    joints = clip.joint_pos + robot.default_pose
    return LegPoints(robot).in_world(clip.base_pos, clip.base_quat, joints)


@pytest.fixture(scope="module")
def every():
    return {robot.name: clips(robot) for robot in (APOLLO, GO2)}


@ROBOTS
def test_every_gait_is_there_with_its_speeds(robot, every):
    mine = every[robot.name]
    for gait in GAITS:
        forward = {clip.command.forward_mps for clip in mine if clip.gait == gait.name}
        assert len(forward) >= len(gait.forward_mps)
    turns = [clip.command.turn_rps for clip in mine]
    assert min(turns) == -max(turns) < -0.9
    assert all(clip.seconds == pytest.approx(4.0) for clip in mine)


@ROBOTS
def test_feet_that_stand_stand_on_the_ground_and_do_not_slide(robot, every):
    radius = np.array([leg.foot_radius for leg in robot.legs])
    for clip in every[robot.name]:
        points = legs(robot, clip)
        feet = points[:, :, 2]
        sole = feet[..., 2] - radius
        assert sole.min() > -1e-9, clip.gait
        assert np.abs(sole[clip.stands]).max() < 1e-9
        # A foot that stands in two successive frames does not move between them.
        both = clip.stands[1:] & clip.stands[:-1]
        assert (np.abs(np.diff(feet, axis=0)[both]) / CONTROL_DT).max() < 1e-6  # m/s
        # Knees and hips stay above the ground, legs bend backwards as in the default pose.
        assert points[:, :, :2, 2].min() > 0.05
        knees = (clip.joint_pos + robot.default_pose).reshape(-1, 4, 3)[..., 2]
        assert (knees < 0).all()


@ROBOTS
def test_feet_that_swing_are_lifted(robot, every):
    for clip in every[robot.name]:
        height = legs(robot, clip)[:, :, 2, 2].max(0)
        if clip.gait == "stand":
            assert clip.stands.all()
        else:
            lift = height - [leg.foot_radius for leg in robot.legs]
            assert (np.abs(lift / clip.timing.lift_m - 1) < 0.1).all()


@ROBOTS
def test_joints_stay_within_range_speed_and_torque(robot, every):
    low, high = np.array([joint.range for joint in robot.joints]).T
    no_load = np.array([joint.motor.speed for joint in robot.joints])
    for clip in every[robot.name]:
        angle = clip.joint_pos + robot.default_pose
        assert ((low < angle) & (angle < high)).all()
        assert (np.abs(clip.joint_vel) <= SPEED_FRACTION * no_load).all()
        assert torque_fraction(robot, clip) <= 1


def with_motors(robot, speed):
    return replace(
        robot,
        legs=tuple(
            replace(
                leg,
                joints=tuple(
                    replace(joint, motor=replace(joint.motor, speed=speed)) for joint in leg.joints
                ),
            )
            for leg in robot.legs
        ),
    )


def test_what_is_too_fast_is_slowed_down_and_what_cannot_be_is_left_out():
    slow = with_motors(APOLLO, 7.0)
    fast = Motion(slow, get_gait("trot"), GaitCommand(1.5)).clip(2.0)
    assert not is_feasible(slow, fast)
    mine = clips(slow, ["trot", "bound"])
    assert all(is_feasible(slow, clip) for clip in mine)
    top = max(clip.command.forward_mps for clip in mine if clip.gait == "trot")
    assert 0.5 < top < 1.0
    assert not any(clip.gait == "bound" and clip.command.forward_mps > 2 for clip in mine)
    with pytest.raises(UserError, match="apollo can do none of bound"):
        clips(with_motors(APOLLO, 0.5), ["bound"])


def test_out_of_reach_is_not_within():
    clip = Motion(replace(APOLLO, h_des=0.78), get_gait("trot"), GaitCommand(0.5)).clip(1.0)
    assert np.isnan(speed_fraction(APOLLO, clip))
    assert not is_feasible(APOLLO, clip)


def test_limits_see_what_is_beyond_them():
    clip = Motion(APOLLO, get_gait("walk"), GaitCommand(0.4)).clip(1.0)
    assert is_feasible(APOLLO, clip)
    knee = 2
    bent = clip.joint_pos.copy()
    bent[5, knee] = APOLLO.joints[knee].range[0] - APOLLO.default_pose[knee] - 0.1
    assert room_rad(APOLLO, replace(clip, joint_pos=bent)) == pytest.approx(-0.1)
    assert torque_fraction(APOLLO, replace(clip, push_b=8 * clip.push_b)) > 1


@ROBOTS
def test_velocities_are_those_of_the_positions(robot):
    """Velocities integrated over two steps, by MuJoCo, lead from each frame to the next but one."""
    import mujoco

    model = build_spec(robot, slots=1).compile()
    for clip in clips(robot, ["trot", "canter_left", "pronk"]):
        joints = clip.joint_pos + robot.default_pose
        w, u = clip.base_quat[:, :1], clip.base_quat[:, 1:]
        twice = 2 * np.cross(u, clip.lin_vel_b)
        vel_w = clip.lin_vel_b + w * twice + np.cross(u, twice)
        qpos = np.concatenate([clip.base_pos, clip.base_quat, joints], 1)
        qvel = np.concatenate([vel_w, clip.ang_vel_b, clip.joint_vel], 1)
        scale = np.maximum(np.abs(qvel).max(0), 0.5)
        for k in range(0, len(clip) - 2, 7):
            simpson, found = (qvel[k] + 4 * qvel[k + 1] + qvel[k + 2]) / 6, np.zeros(model.nv)
            mujoco.mj_differentiatePos(model, found, 2 * CONTROL_DT, qpos[k], qpos[k + 2])
            assert (np.abs(found - simpson) / scale).max() < 0.03, clip.gait


@pytest.mark.parametrize("robot", [APOLLO, GO2], ids=lambda r: r.name)
def test_the_base_goes_where_it_was_told(robot):
    command = GaitCommand(0.4, 0.1, 0.3)
    clip = Motion(robot, get_gait("trot"), command).clip(20.0)
    turned = 2 * np.unwrap(np.arctan2(clip.base_quat[:, 3], clip.base_quat[:, 0]))
    assert turned[-1] == pytest.approx(0.3 * 20.0, abs=0.01)
    assert clip.lin_vel_b.mean(0)[:2] == pytest.approx([0.4, 0.1], abs=0.01)
    assert clip.base_pos[:, 2].mean() == pytest.approx(robot.h_des, abs=0.01)
    assert np.linalg.norm(clip.base_quat, axis=1) == pytest.approx(1)


def test_a_robot_file_and_other_leg_orders_work(tmp_path):
    doc = Path(__file__).parents[2] / "docs" / "your-robot.md"
    text = doc.read_text().split("```python\n")[1].split("```")[0]
    text = text.replace(
        'legs=(FL, FL.mirrored("FR"), RL, RL.mirrored("RR"))',
        'legs=(RL.mirrored("RR"), FL, RL, FL.mirrored("FR"))',
    )
    file = tmp_path / "dog.py"
    file.write_text(text)
    robot = from_user(str(file))
    trot = next(c for c in clips(robot, ["trot"]) if c.command.forward_mps > 1)
    assert [leg.name for leg in robot.legs] == ["RR", "FL", "RL", "FR"]
    assert (trot.stands[:, 0] == trot.stands[:, 1]).all()
    assert (trot.stands[:, 2] == trot.stands[:, 3]).all()
    assert (trot.stands[:, 0] != trot.stands[:, 2]).any()


def test_a_length_of_zero_is_refused():
    with pytest.raises(UserError, match="give a positive length"):
        clips(APOLLO, seconds=0.0)


def test_a_clip_knows_its_length():
    clip = Motion(APOLLO, get_gait("stand"), GaitCommand()).clip(1.0)
    assert isinstance(clip, Clip)
    assert len(clip) == 51


def test_what_the_page_shows_runs():
    page = (Path(__file__).parents[2] / "docs" / "motions.md").read_text()
    names: dict = {}
    exec(compile(page.split("```python\n")[1].split("```")[0], "docs/motions.md", "exec"), names)
    assert names["pairs"].shape[1:] == (2, names["rep"].dim)
    assert names["clip"].gait == "canter_left"
