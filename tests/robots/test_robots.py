"""Robots have symmetric facts, wrong facts are refused in one line, and users can add robots."""

import importlib
import math
import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from swap.cli.main import dispatch
from swap.errors import UserError
from swap.robots import Joint, Motor, from_user, load, names
from swap.robots.kinematics import leg_points_in_base
from swap.robots.mjcf import build_spec, force_groups, group_of_geom

DOC = Path(__file__).parents[2] / "docs" / "your-robot.md"
ROBOTS = pytest.mark.parametrize("robot", [load("apollo"), load("go2")], ids=lambda r: r.name)


def doc_block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOC.read_text(), re.S)
    assert found
    return found[1]


def test_apollo_has_the_papers_sizes():
    apollo = load("apollo")
    assert apollo.mass == pytest.approx(72)
    assert apollo.hip_to_hip == pytest.approx(0.70)
    assert apollo.hip_height == pytest.approx(0.55, abs=1e-3)
    assert apollo.stance == pytest.approx(apollo.h_des, abs=1e-3)
    assert apollo.joint_names[:4] == ("FL_abad", "FL_hip", "FL_knee", "FR_abad")


def test_go2_has_its_weight():
    assert load("go2").mass == pytest.approx(15.2, abs=0.05)
    assert load("go2").hip_to_hip == pytest.approx(0.387, abs=1e-3)


@ROBOTS
def test_model_is_exactly_symmetric(robot):
    model = build_spec(robot, slots=1).compile()
    for name in robot.joint_names:
        i, j = model.body(name).id, model.body(robot.body.mirror_name(name)).id
        y = np.array([1, -1, 1])
        assert np.array_equal(model.body_pos[i] * y, model.body_pos[j])
        assert np.array_equal(model.body_ipos[i] * y, model.body_ipos[j])
        for field in ("body_mass", "body_inertia", "body_iquat", "body_quat"):
            assert np.array_equal(getattr(model, field)[i], getattr(model, field)[j])
    assert model.body_mass.sum() == pytest.approx(robot.mass)


@ROBOTS
def test_model_has_the_facts(robot):
    model = build_spec(robot, slots=5).compile()
    assert [model.geom(k).name for k in range(5)] == [f"box{k}" for k in range(5)]
    assert [model.joint(k + 1).name for k in range(12)] == list(robot.joint_names)
    assert [model.actuator(k).name for k in range(12)] == list(robot.joint_names)
    shapes = {mujoco.mjtGeom(kind) for kind in model.geom_type[5:]}
    assert shapes == {mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE}
    for k, joint in enumerate(robot.joints):
        assert tuple(model.jnt_range[k + 1]) == joint.range
        assert model.dof_armature[6 + k] == joint.motor.armature
        assert model.dof_damping[6 + k] == joint.motor.damping
    groups = group_of_geom(robot, model)
    assert set(groups[:5]) == {-1}
    assert set(groups[5:]) == set(range(len(force_groups(robot))))


@ROBOTS
def test_kinematics_match_mujoco(robot):
    model = build_spec(robot, slots=1).compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-1, 1, 12)
        data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *q]
        mujoco.mj_kinematics(model, data)
        points = leg_points_in_base(robot, q)
        for i, leg in enumerate(robot.legs):
            want = [
                data.body(f"{leg.name}_hip").xpos,
                data.body(f"{leg.name}_knee").xpos,
                data.geom(f"{leg.name}_foot").xpos,
            ]
            np.testing.assert_allclose(points[i], want, atol=1e-12)


def test_camera_looks_ahead_and_down():
    apollo = load("apollo")
    model = build_spec(apollo, slots=1).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    frame = data.cam_xmat[0].reshape(3, 3)
    pitch = apollo.camera.pitch
    np.testing.assert_allclose(-frame[:, 2], [np.cos(pitch), 0, -np.sin(pitch)], atol=1e-9)
    np.testing.assert_allclose(frame[:, 0], [0, -1, 0], atol=1e-9)


def test_leg_order_and_axes_are_free():
    """With right legs first and knee axes reversed, the mirror is still correct."""
    go2 = load("go2")
    fl, fr, rl, rr = go2.legs
    robot = replace(go2, legs=(fr, fl, rr, rl))
    assert robot.joint_names[0] == "FR_abad"

    def turned(leg):
        knee = leg.joints[2]
        low, high = knee.range
        knee = replace(knee, axis=(0.0, -1.0, 0.0), range=(-high, -low), default=-knee.default)
        return replace(leg, joints=(*leg.joints[:2], knee))

    robot = replace(go2, legs=(fl, turned(fr), rl, rr))
    assert robot.body.joint_rep.sign[:6] == (-1, 1, -1, -1, 1, -1)
    assert robot.stance == pytest.approx(go2.stance)


def edited(which, **facts):
    go2 = load("go2")
    legs = [replace(leg, **facts) if leg.name == which else leg for leg in go2.legs]
    return replace(go2, legs=tuple(legs))


def flipped(leg):
    x, y, z = leg.mount
    return replace(leg, mount=(x, -y, z))


def test_wrong_facts_are_one_line_with_the_fix():
    go2 = load("go2")
    fl, fr, rl, rr = go2.legs
    cases = [
        (lambda: replace(go2, legs=(fl, rl, rr)), "'FL_abad' has no mirror image 'FR_abad'; add"),
        (lambda: edited("RR", joints=rr.joints[1:]), "leg 'RR' has joints hip, knee and 3 links"),
        (lambda: edited("FR", shank=0.2), r"differ in shank.*use FL.mirrored\('FR'\)"),
        (lambda: edited("FR", mount=fl.mount), "differ in mount"),
        (
            lambda: edited("FR", joints=(replace(fr.joints[0], range=(-1.0, 1.1)), *fr.joints[1:])),
            "differ in range",
        ),
        (
            lambda: edited("FL", joints=(replace(fl.joints[0], default=2.0), *fl.joints[1:])),
            "'FL_abad' has its default 2.0 outside its range",
        ),
        (lambda: replace(go2.camera, pos=(0.3, 0.01, 0.0)), "midplane"),
        (lambda: replace(go2.camera, pitch=2.0), "looks backwards"),
        (lambda: replace(go2, trunk_shapes=go2.trunk_shapes[:2]), "no mirror image"),
        (lambda: replace(go2, trunk=replace(go2.trunk, com=(0.0, 0.01, 0.0))), "y=0"),
        (lambda: replace(go2, legs=(fl, fr)), "has 2 legs; give four"),
        (lambda: edited("FL", links=fl.links[:2]), "one link each"),
        (lambda: edited("FL", thigh=0.0), "thigh"),
        (
            lambda: edited("FL", links=(replace(fl.links[0], mass=0.0), *fl.links[1:])),
            "greater than zero",
        ),
        (
            lambda: edited("FL", joints=(*fl.joints[:2], replace(fl.joints[2], axis=(0, 0.6, 0)))),
            "neither the axis|make it",
        ),
        (
            lambda: replace(
                go2,
                legs=tuple(
                    replace(leg, joints=(*leg.joints[:2], replace(leg.joints[2], axis=(0, 0.6, 0))))
                    for leg in go2.legs
                ),
            ),
            r"'FL_knee' turns about \(0, 0.6, 0\); make it \+1 or -1 along y",
        ),
        (lambda: replace(go2, kp=0.0), "kp=0.0; give"),
        (lambda: replace(go2, trunk=replace(go2.trunk, mass=-1.0)), "give mass and box"),
        (lambda: replace(go2, sides=()), "leg 'FL' is its own mirror image"),
        (lambda: replace(go2, h_des=math.inf), "robot.h_des=inf; give a finite number"),
        (lambda: edited("FL", offset=math.nan), r"robot.legs\[0\].offset=nan; give a finite"),
        (lambda: replace(go2, kp="80"), "robot.kp='80'; give a number"),
        (lambda: replace(go2, h_des=3.8), r"h_des=3.8 is out of reach: .* base at 0.45"),
        (
            lambda: replace(go2, legs=(*(flipped(leg) for leg in go2.legs[:2]), rl, rr)),
            "leg 'FL' is a left one by its name, and its mount is at y=-",
        ),
        (lambda: Motor(1.0, 1.0, 1.0, -0.1), "motor damping=-0.1; give 0 or more"),
        (lambda: Motor(0.0, 1.0, 1.0), "motor torque=0.0; give"),
        (lambda: load("appolo"), "did you mean 'apollo'"),
        (lambda: from_user("nowhere.py"), "no robot file"),
        (lambda: load("nowhere.py"), "the robot 'nowhere.py' is code, and is not run"),
    ]
    for make, message in cases:
        with pytest.raises(UserError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)


def test_a_user_adds_a_robot_by_one_file(tmp_path, capsys):
    """Uses the file in docs/your-robot.md as it is written there."""
    path = tmp_path / "dog.py"
    path.write_text(doc_block("python"))
    dog = from_user(str(path))
    assert capsys.readouterr().out == f"running {path}\n"
    assert dog.name == "dog"
    assert build_spec(dog, slots=2).compile().nu == 12
    assert dispatch(["robots", "--robot", str(path)]) == 0
    assert "dog" in capsys.readouterr().out
    for text, message in (
        ("x = 1", "defines no ROBOT"),
        ("ROBOT = 3", "is a int"),
        ("ROBOT = (", "never closed"),
        ("ROBOT = 1 / 0", "division by zero"),
        ("raise SystemExit", "SystemExit"),
        (doc_block("python").replace(', RL.mirrored("RR")', ""), "no mirror image 'RR_abad'"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=message) as caught:
            from_user(str(path))
        assert "\n" not in str(caught.value)


def test_a_package_adds_a_robot_by_entry_point(tmp_path, monkeypatch):
    (tmp_path / "my_robots").mkdir()
    (tmp_path / "my_robots" / "dog.py").write_text(doc_block("python"))
    info = tmp_path / "my_robots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-robots\nVersion: 1.0\n")
    group, line = doc_block("toml").strip().splitlines()
    assert group == '[project.entry-points."swap.robots"]'
    (info / "entry_points.txt").write_text(f"[swap.robots]\n{line.replace(chr(34), '')}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert names() == ("apollo", "go2", "dog")
    assert load("dog").name == "dog"
    (info / "entry_points.txt").write_text("[swap.robots]\ngo2 = my_robots.dog:ROBOT\n")
    with pytest.raises(UserError, match="repeats a robot's name"):
        names()


def test_swap_robots_lists_them(capsys):
    assert dispatch(["robots"]) == 0
    out = capsys.readouterr().out
    for text in ("apollo", "go2", "72", "15.2", "23.7", "360"):
        assert text in out


def test_mirrored_joint_changes_sign_only_about_x():
    leg = load("go2").legs[0]
    tilted = Joint("abad", (1.0, 0.0, 0.0), (-0.5, 1.0), 0.2, leg.joints[0].motor)
    right = replace(leg, joints=(tilted, *leg.joints[1:])).mirrored("FR")
    assert right.joints[0].range == (-1.0, 0.5)
    assert right.joints[0].default == -0.2
    assert right.joints[1:] == leg.joints[1:]
