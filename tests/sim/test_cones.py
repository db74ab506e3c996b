"""Friction cones: pyramids slip too easily along their diagonals, ellipses do not."""

import math

import mujoco
import pytest
import torch

from swap.env import EnvCfg, ParkourEnv
from swap.sim import FaultReport


def speed_after_a_slide(engine_name, cone, w):
    """The speed of a robot on slippery ground .2 s after a push of 1 m/s along the diagonal."""
    engine = w.make(engine_name, "go2", n=1, cone=cone)
    engine.drawn.friction.fill_(0.3)
    engine.randomise(w.everyone(engine), engine.drawn)
    w.hold(engine, 25)
    kick = torch.tensor([[math.sqrt(0.5), math.sqrt(0.5), 0.0]])
    engine.push(w.everyone(engine), kick, torch.zeros(1, 3))
    w.hold(engine, 10)
    assert engine.report() == FaultReport()
    return float((engine.state.base_lin_vel * kick).sum())


def test_pyramids_slip_along_their_diagonals_and_ellipses_do_not(w):
    pyramidal, elliptic = (
        [speed_after_a_slide(name, cone, w) for name in ("cpu", "gpu")]
        for cone in ("pyramidal", "elliptic")
    )
    assert max(elliptic) < min(pyramidal) - 0.1
    for both in (pyramidal, elliptic):
        assert abs(both[0] - both[1]) < 1e-3, "the engines agree"


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_training_has_the_cones_of_its_config(engine_name, cone):
    cfg = EnvCfg(families=(("flat", 1.0),), levels=1, friction_cone=cone)
    engine = ParkourEnv(cfg, 1, engine=engine_name).engine
    model = engine._models._model if engine_name == "cpu" else engine._m
    assert int(model.opt.cone) == int(getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}"))
