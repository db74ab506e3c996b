import mujoco
import numpy as np
import pytest

from swap.courses import FAMILIES, make
from swap.courses.rays import cast


@pytest.mark.parametrize("name", FAMILIES)
def test_rays_agree_with_mujoco(name):
    rng = np.random.default_rng(1)
    it = make(name, 0.8, rng)
    spec = mujoco.MjSpec()
    for pos, quat, half in zip(it.pos, it.quat, it.half, strict=True):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, quat=quat, size=half)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)

    origin = rng.uniform([-2, -2, 6], [it.goal_x + 3, 2, 8], (300, 3))
    ray = rng.normal(size=(300, 3)) - [0, 0, 2]
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    hits = cast(it.pos, it.quat, it.half, origin, ray)
    geom = np.zeros(1, np.int32)
    expected = [
        mujoco.mj_ray(model, data, o, r, None, 1, -1, geom)
        for o, r in zip(origin, ray, strict=True)
    ]
    found = np.where(np.isinf(hits.distance), -1.0, hits.distance)
    assert found == pytest.approx(np.array(expected), abs=1e-6)
    assert (found > 0).mean() > 0.2  # enough of them hit
    facing = np.einsum("ri,ri->r", hits.normal, ray)[hits.box >= 0]
    assert (facing < 0).all()


def test_one_origin_or_one_direction_serves_all():
    it = make("rocks", 1.0, np.random.default_rng(0))
    boxes = (it.pos, it.quat, it.half)
    origin = np.random.default_rng(0).uniform([0, -1, 1], [6, 1, 2], (50, 3))
    down = np.array([[0.0, 0.0, -1.0]])
    assert np.array_equal(
        cast(*boxes, origin, down).distance, cast(*boxes, origin, np.tile(down, (50, 1))).distance
    )
    fan = origin - [3, 0, 5]
    fan /= np.linalg.norm(fan, axis=1, keepdims=True)
    eye = np.array([[3.0, 0.0, 5.0]])
    assert np.array_equal(cast(*boxes, eye, fan).box, cast(*boxes, np.tile(eye, (50, 1)), fan).box)
