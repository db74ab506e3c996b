"""Compares the mirror map with geometry: mirrored joint angles must give mirrored foot positions.

A wrong map can be perfectly consistent (it is still an involution, networks still obey it), so
consistency tests cannot find it. Forward kinematics can, since it does not use the map.
"""

import numpy as np
import pytest
import torch

from swap.errors import UserError
from swap.symmetry import PITCH, ROLL, ROTATION, VECTOR, Body, JointAxis, Rep, quadruped

HIPS = {
    "FL": (0.35, 0.08, 0),
    "FR": (0.35, -0.08, 0),
    "RL": (-0.35, 0.08, 0),
    "RR": (-0.35, -0.08, 0),
}
MIRROR = np.diag([1.0, -1.0, 1.0])


def rotation(axis, angle):
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def feet(body: Body, q: np.ndarray) -> np.ndarray:
    """Foot positions [4, 3] of a quadruped, from the robot's own joint axes."""
    positions = []
    for leg in body.legs:
        side = 1 if HIPS[leg][1] > 0 else -1
        links = [(0, 0.12 * side, 0), (0, 0, -0.35), (0, 0, -0.35)]
        p, R = np.array(HIPS[leg]), np.eye(3)
        mine = [k for k, joint in enumerate(body.joints) if joint.name.startswith(leg)]
        mine.sort(key=lambda k: ("abad", "hip", "knee").index(body.joints[k].name.split("_")[1]))
        for k, link in zip(mine, links, strict=True):
            R = R @ rotation(body.joints[k].axis, q[k])
            p = p + R @ link
        positions.append(p)
    return np.array(positions)


def feet_disagree(body: Body, joint_rep: Rep) -> float:
    """The largest distance, over random poses, between the feet of the mirrored joints and the
    mirrored feet."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        q = rng.uniform(-1.5, 1.5, len(body.joints))
        mirrored = feet(body, joint_rep(torch.from_numpy(q)).numpy())
        expected = (feet(body, q) @ MIRROR)[list(body.leg_rep.perm)]
        worst = max(worst, np.abs(mirrored - expected).max())
    return worst


def shuffled() -> Body:
    """Another order of joints and legs, and right-hand axes modelled the other way round."""
    joints = [
        JointAxis(f"{leg}_{part}", axis)
        for part, axis in (("knee", PITCH), ("abad", ROLL), ("hip", PITCH))
        for leg in ("RR", "FL", "RL", "FR")
    ]
    joints[3] = JointAxis("FR_knee", (0.0, -1.0, 0.0))
    joints[4] = JointAxis("RR_abad", (-1.0, 0.0, 0.0))
    return Body(tuple(joints), ("RR", "FL", "RL", "FR"), (("FL", "FR"), ("RL", "RR")))


@pytest.mark.parametrize("body", [quadruped(), shuffled()], ids=["paper", "shuffled"])
def test_mirrored_joints_put_feet_where_the_mirror_does(body):
    assert feet_disagree(body, body.joint_rep) < 1e-12


def test_axes_the_other_way_round_change_the_sign():
    body = shuffled()
    sign = dict(zip(body.joint_names, body.joint_rep.sign, strict=True))
    assert sign["FR_knee"] == sign["FL_knee"] == -1  # pitch, but opposite axes
    assert sign["RR_abad"] == sign["RL_abad"] == 1  # roll, but opposite axes
    assert sign["FR_abad"] == -1
    assert sign["RR_knee"] == 1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("abad not negated", lambda rep: abs(rep)),
        ("hips negated too", lambda rep: Rep(rep.perm, (-1, -1, 1) * 4)),
        (
            "front and rear swapped",
            lambda rep: Rep((6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5), rep.sign),
        ),
        ("legs not swapped", lambda rep: Rep(tuple(range(12)), rep.sign)),
    ],
)
def test_a_wrong_mirror_map_is_caught(name, wrong):
    body = quadruped()
    consistent = wrong(body.joint_rep)  # Rep accepts it: it is an involution
    assert feet_disagree(body, consistent) > 0.05, name


def test_vectors_and_rotations_mirror_as_geometry_says():
    rng = np.random.default_rng(1)
    for _ in range(10):
        axis, angle = rng.normal(size=3), rng.uniform(0.1, 2)
        axis /= np.linalg.norm(axis)
        turned = ROTATION(torch.from_numpy(axis)).numpy()
        # R(mirror of the rotation vector) = M R M, applied to any vector
        expected = MIRROR @ rotation(axis, angle) @ MIRROR
        assert np.allclose(rotation(turned, angle), expected, atol=1e-12)
        v = rng.normal(size=3)
        assert np.allclose(VECTOR(torch.from_numpy(v)).numpy(), MIRROR @ v)


def test_joints_on_the_midplane_mirror_into_themselves():
    spine = (JointAxis("spine_yaw", (0.0, 0.0, 1.0)), JointAxis("spine_pitch", PITCH))
    body = Body((*quadruped().joints, *spine), quadruped().legs, quadruped().sides)
    assert body.joint_rep.perm[12:] == (12, 13)
    assert body.joint_rep.sign[12:] == (-1, 1)


def test_mistakes_name_the_fix():
    legs = quadruped()
    with pytest.raises(UserError, match="joint 'FR_abad' has no mirror image 'FL_abad'; add it"):
        Body(legs.joints[1:], legs.legs, legs.sides)
    with pytest.raises(UserError, match="unknown joint 'FL_kne'; did you mean 'FL_knee'"):
        legs.index("FL_kne")
    with pytest.raises(UserError, match="correct one of the two axes"):
        Body((JointAxis("FL_x", ROLL), JointAxis("FR_x", PITCH)), ("FL", "FR"), legs.sides)
    with pytest.raises(UserError, match="joint 'FL_x' occurs twice"):
        Body((JointAxis("FL_x", ROLL),) * 2, ("FL", "FR"), legs.sides)
