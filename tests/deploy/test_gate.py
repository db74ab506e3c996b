"""No command beyond a limit leaves the gate; what is within them passes as it is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate_cases import STRANGE, Fuzzer, Judge, fuzz, spec_of
from swap.deploy.gate import SafetyGate
from swap.deploy.joints import JointMap, plain_motors
from swap.deploy.messages import Codec, RobotState

SPEC = spec_of()
N = len(SPEC.joints)
POSE = np.array([joint.default_rad for joint in SPEC.joints])
anything = st.one_of(
    st.floats(-4, 4), st.floats(width=32), st.sampled_from(STRANGE), st.floats(-60, 60)
)


def as_float32(numbers):
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float32)


rows = st.lists(anything, min_size=N, max_size=N).map(as_float32)


def said(gate, target, pos, vel, last=None):
    """Faults of the message that a motor gets."""
    motors = list(plain_motors(SPEC))
    with np.errstate(all="ignore"):
        allowed = gate.target(np.asarray(target, float))
        q, v = np.asarray(pos, float), np.asarray(vel, float)
        out = None if allowed is None else gate.command(allowed, q, v)
    out = out or gate.damping(q, v)
    codec = Codec(N, (1, 1))
    sent = codec.unpack_command(codec.pack_command(JointMap(SPEC, motors).command(0.0, *out)))
    state = RobotState(0.0, np.ones(4), np.zeros(3), pos, vel, pos)
    return Judge(SPEC, motors).faults(sent, state, last, last is not None)


@given(rows, rows, rows)
def test_nothing_beyond_a_limit_leaves(target, pos, vel):
    assert said(SafetyGate(SPEC), target, pos, vel) == []


@given(st.lists(rows, min_size=2, max_size=5))
def test_targets_do_not_jump(targets):
    gate, last = SafetyGate(SPEC), None
    gate.begin(POSE)
    last = dict(zip(SPEC.joint_names, POSE.tolist(), strict=True))
    for desired in targets:
        assert said(gate, desired, POSE.astype(np.float32), np.zeros(N, np.float32), last) == []
        allowed = gate.target(np.asarray(desired, float))
        if allowed is not None:
            last = dict(zip(SPEC.joint_names, allowed.tolist(), strict=True))


def test_a_short_fuzz_finds_nothing():
    moved, wrong = fuzz(20_000, seed=7)
    assert wrong == []
    assert moved > 5_000


@pytest.mark.parametrize("part", ["target", "torque", "power", "rate", "gains"])
def test_the_judge_finds_a_gate_that_lets_things_pass(part, monkeypatch):
    """A gate with one limit raised is found out within a few thousand cases."""
    fuzzer = Fuzzer(SPEC, 0)
    gate = fuzzer.gate
    if part == "target":
        gate.high = gate.high + 0.01
    elif part == "torque":
        gate.peak = gate.peak * 1.01
    elif part == "power":
        fuzzer.judge.spec = replace(SPEC, limits=replace(SPEC.limits, power_w=100.0))
    elif part == "rate":
        gate.step_rad = gate.step_rad * 1.01
    else:
        gate.kd = gate.kd * 1.01
    assert any(fuzzer.case() for _ in range(5_000))


def test_what_is_within_the_limits_passes_as_it_is():
    """The torque of the command is that of the plain PD law."""
    gate, draw = SafetyGate(SPEC), np.random.default_rng(0)
    for _ in range(100):
        target, vel = POSE + draw.uniform(-0.1, 0.1, N), draw.uniform(-1, 1, N)
        pos = POSE + draw.uniform(-0.1, 0.1, N)
        out = gate.command(gate.target(target), pos, vel)
        np.testing.assert_allclose(out.torque, 0, atol=1e-9)
        np.testing.assert_allclose(out.pos, target)
        np.testing.assert_allclose(out.kp, [joint.kp for joint in SPEC.joints])


def test_torque_is_that_of_trainings_motors():
    """With no share beyond their curve it is cut as the simulated motors cut it."""
    from swap.sim.motor import motor_torque

    just = replace(SPEC, limits=replace(SPEC.limits, torque_share=1.0))
    gate, draw = SafetyGate(just), np.random.default_rng(1)
    for _ in range(200):
        target = gate.target(POSE + draw.uniform(-2, 2, N))
        pos, vel = POSE + draw.uniform(-1, 1, N), draw.uniform(-10, 10, N)
        out = gate.command(target, pos, vel)
        torque = out.kp * (out.pos - pos) - out.kd * vel + out.torque
        want = motor_torque(target, pos, vel, gate.kp, gate.kd, np.ones(N), gate.peak, gate.no_load)
        if (want * vel).clip(0).sum() < gate.power_w:
            np.testing.assert_allclose(torque, want, atol=0.05)


def test_power_is_shared_out():
    small = replace(SPEC, limits=replace(SPEC.limits, power_w=500.0))
    gate = SafetyGate(small)
    vel = np.full(N, 5.0)
    out = gate.command(gate.target(POSE + 0.5), POSE, vel)
    torque = out.kp * (out.pos - POSE) - out.kd * vel + out.torque
    assert (torque * vel).clip(0).sum() == pytest.approx(500.0, rel=1e-4)
