"""`randomise_bodies` during an episode changes the masked worlds correctly, and no others."""

import mujoco
import numpy as np
import pytest
import torch
import warp as wp

from swap.robots.mjcf import build_spec
from swap.sim import BODY_PARTS, Ranges, draw
from swap.sim.gpu_models import PER_WORLD

N = 4


def luck(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def walking(engine_name, w, steps: int = 12):
    """An engine in the middle of a run, with different worlds."""
    engine = w.make(engine_name, bank=[w.FLAT, w.ROUGH], n=N)
    engine.assign(w.everyone(engine), torch.tensor([0, 1, 0, 1]))
    engine.randomise(w.everyone(engine), draw(Ranges(), engine.robot, N, luck(0)))
    engine.reset(w.everyone(engine))
    go_on(engine, steps)
    return engine


def go_on(engine, steps: int) -> None:
    generator, pose = luck(1), torch.tensor(engine.robot.default_pose)
    for _ in range(steps):
        engine.step(pose + 0.2 * torch.randn(N, 12, generator=generator))


def model_fields(engine) -> dict[str, torch.Tensor]:
    m, _ = engine.mujoco
    return {name: wp.to_torch(getattr(m, name)).clone() for name in PER_WORLD}


def test_only_body_parts_of_the_masked_worlds_change(engine_name, w):
    engine = walking(engine_name, w)
    given = draw(Ranges(), engine.robot, N, luck(5))
    mask = w.only(engine, 1, 2)
    before = {name: x.clone() for name, x in engine.state_dict().items()}
    engine.randomise_bodies(mask, given)
    for name, x in engine.state_dict().items():
        part = name.removeprefix("drawn/")
        if name.startswith("drawn/") and part in BODY_PARTS:
            assert torch.equal(x[mask], getattr(given, part)[mask]), name
            assert torch.equal(x[~mask], before[name][~mask]), name
        else:
            assert torch.equal(x, before[name]), name


def test_the_others_do_not_notice(engine_name, w):
    alone, renewed = (walking(engine_name, w) for _ in range(2))
    mask = w.only(alone, 1, 2)
    renewed.randomise_bodies(mask, draw(Ranges(), alone.robot, N, luck(5)))
    for engine in (alone, renewed):
        go_on(engine, 10)
    for name, x in vars(alone.state).items():
        assert torch.equal(x[~mask], getattr(renewed.state, name)[~mask]), name
    assert (alone.state.base_pos - renewed.state.base_pos)[mask].abs().amax(1).min() > 1e-5


def test_the_model_is_that_of_an_engine_made_with_these_bodies(w):
    engine = walking("gpu", w)
    before, mask = model_fields(engine), w.only(engine, 1, 2)
    engine.randomise_bodies(mask, draw(Ranges(), engine.robot, N, luck(5)))
    fresh = w.make("gpu", bank=[w.FLAT, w.ROUGH], n=N)
    fresh.assign(w.everyone(fresh), engine.course_id)
    fresh.randomise(w.everyone(fresh), engine.drawn)
    want = model_fields(fresh)
    for name, x in model_fields(engine).items():
        assert torch.equal(x, want[name]), name
        assert torch.equal(x[~mask], before[name][~mask]), name
    for name in ("body_mass", "body_inertia", "body_ipos", "body_invweight0", "dof_invweight0"):
        assert (want[name] != before[name])[mask].flatten(1).any(1).all(), name


@pytest.mark.parametrize("world", range(N))
def test_mujoco_derives_the_same(w, world):
    engine = walking("gpu", w)
    engine.randomise_bodies(w.only(engine, 1, 2), draw(Ranges(), engine.robot, N, luck(5)))
    model = build_spec(engine.robot, w.SLOTS).compile()
    drawn = {name: getattr(engine.drawn, name)[world].double().numpy() for name in BODY_PARTS}
    trunk = 1 + drawn["payload"] / model.body_mass[1]
    factor = np.concatenate([[trunk], drawn["link_mass"]])
    model.body_mass[1:] *= factor
    model.body_inertia[1:] *= factor[:, None]
    model.body_ipos[1] += drawn["com"]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    fields = model_fields(engine)
    for name in ("body_mass", "body_subtreemass", "body_invweight0", "dof_invweight0"):
        want = torch.tensor(getattr(model, name)).float()
        found = fields[name][world].view_as(want)
        torch.testing.assert_close(found, want, rtol=2e-4, atol=1e-6, msg=name)
