"""The state machine: how it begins, what makes it damp, how soon, and that it says why."""

from dataclasses import replace

import numpy as np
import pytest

from still_robot import Still
from swap.deploy.controller import Mode
from swap.deploy.watchdogs import Fault


def reasons(still):
    return [what for _, what in still.controller.events]


def test_nothing_moves_until_it_is_told(still):
    still.live(0.1)
    for command in still.commands:
        assert not np.any(command.kp)
        assert not np.any(command.kd)
        assert not np.any(command.torque)


def test_from_passive_to_run(still):
    still.run()
    assert still.controller.mode is Mode.RUN
    assert reasons(still) == ["passive", "stand up", "blend in", "run"][1:]
    last = still.commands[-1]
    assert np.all(last.kp > 0)
    assert np.all(np.isfinite(last.pos))


def test_the_policy_comes_in_slowly(bundle):
    """Targets leave the default pose no faster than the blend lets them."""
    still = Still(bundle)
    still.live(0.02)
    still.tell("stand")
    still.live(0.2)
    still.tell("run")
    pose = np.array([joint.default_rad for joint in bundle.spec.joints])
    far = bundle.spec.action.scale_rad * bundle.spec.action.clip
    for step in range(5):
        still.live(0.02)
        assert np.abs(still.commands[-1].pos - pose).max() <= far * (step + 1) * 0.2 + 1e-6


def test_it_does_not_run_before_it_stands(still):
    still.live(0.02)
    still.tell("run")
    assert still.controller.mode is Mode.PASSIVE
    still.tell("stand")
    still.tell("run")
    assert still.controller.mode is Mode.STAND_UP
    assert "cannot run: it is not standing yet" in reasons(still)


def test_it_does_not_run_blind(still):
    still.sees = False
    still.live(0.02)
    still.tell("stand")
    still.live(0.2)
    still.tell("run")
    assert still.controller.mode is Mode.STAND_UP
    assert f"cannot run: {Fault.NO_DEPTH}" in reasons(still)


def stale(state):
    return None


def frozen(state):
    return replace(state, time_s=100.0)


def nan(state):
    return replace(state, vel=state.vel * np.nan)


def no_rotation(state):
    return replace(state, quat=state.quat * 0)


def tipped(state):
    return replace(state, quat=np.array([0.1, 0.995, 0, 0], np.float32))


@pytest.mark.parametrize(
    ("change", "fault", "within_s"),
    [
        (stale, Fault.STALE_STATE, 0.06),
        (frozen, Fault.STALE_STATE, 0.06),
        (nan, Fault.BAD_STATE, 0.006),
        (no_rotation, Fault.BAD_STATE, 0.006),
        (tipped, Fault.TILT, 0.006),
    ],
)
def test_faults_of_the_state_damp_in_time(still, change, fault, within_s):
    still.run()
    still.change = change
    still.live(within_s)
    assert still.controller.mode is Mode.DAMPED
    assert still.controller.reason is fault
    assert reasons(still)[-1] == f"damped: {fault}"
    last = still.commands[-1]
    assert not np.any(last.kp)
    assert np.all(last.kd > 0)
    assert np.all(np.isfinite(last.pos))
    assert np.all(np.isfinite(last.torque))


def test_stale_depth_damps_in_time(still):
    still.run()
    still.sees = False
    limits = still.spec.limits
    still.live(limits.depth_s - 0.12)
    assert still.controller.mode is Mode.RUN
    still.live(still.spec.ticks_every * still.spec.control_period_s + 0.06)
    assert still.controller.reason is Fault.STALE_DEPTH


def test_one_long_gap_is_a_missed_deadline(still):
    still.run()
    still.now_s += still.spec.limits.gap_s
    still.live(0.02)
    assert still.controller.reason is Fault.LATE


def test_many_late_steps_are_missed_deadlines(still):
    still.run()
    still.live(0.5, dt_s=0.035)
    assert still.controller.reason is Fault.LATE


def test_a_policy_that_is_not_finite_damps(still, monkeypatch):
    still.run()
    bad = np.full(12, np.nan, np.float32)
    monkeypatch.setattr(still.controller.runtime, "act", lambda *_: bad)
    still.live(0.02)
    assert still.controller.reason is Fault.BAD_ACTION


def test_damped_is_left_only_when_asked(still):
    still.run()
    still.change = nan
    still.live(0.05)
    still.change = lambda state: state
    still.live(1.0)
    assert still.controller.mode is Mode.DAMPED
    still.tell("run")
    assert still.controller.mode is Mode.DAMPED
    still.tell("stand")
    assert still.controller.mode is Mode.STAND_UP


def test_a_stop_is_for_good(still):
    still.run()
    still.tell("stop")
    for request in ("passive", "stand", "run", "damp"):
        still.tell(request)
        still.live(0.05)
        assert still.controller.mode is Mode.STOPPED
    assert not np.any(still.commands[-1].kp)


def test_decisions_keep_to_their_grid(still, monkeypatch):
    """At 50 Hz, whatever the rate of commands: 200 Hz with a jitter of 2 ms."""
    still.run()
    calls, act = [], still.controller.runtime.act
    monkeypatch.setattr(
        still.controller.runtime, "act", lambda *x: (calls.append(still.now_s), act(*x))[1]
    )
    draw = np.random.default_rng(0)
    while still.now_s < 102.4:
        dt = float(draw.uniform(0.003, 0.007))
        still.live(dt, dt_s=dt)
    assert still.controller.mode is Mode.RUN
    assert abs(len(calls) - (calls[-1] - calls[0]) / 0.02) <= 2


def test_the_world_model_ticks_every_k_steps(still, monkeypatch):
    still.run()
    ticks, acts, runtime = [], [], still.controller.runtime
    tick, act = runtime.tick, runtime.act
    monkeypatch.setattr(runtime, "tick", lambda *x: (ticks.append(1), tick(*x)))
    monkeypatch.setattr(runtime, "act", lambda *x: (acts.append(1), act(*x))[1])
    still.live(2.0)
    assert len(acts) == 100
    assert len(ticks) == 100 // still.spec.ticks_every
