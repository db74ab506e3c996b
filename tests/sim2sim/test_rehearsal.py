"""A simulated robot that waits for a controller: it hangs until its motors are stiff."""

import threading

import numpy as np
import pytest

from sim2sim_scene import MOTORS, ROBOT, SPEC, hold, trial
from swap.cli.main import dispatch
from swap.errors import UserError
from swap.sim2sim.cfg import SimCfg
from swap.sim2sim.process import DAMPED_S, NO_CONTROLLER, TrialLoop


class Wires:
    """A link whose other end says nothing for a while, and then holds the default pose."""

    def __init__(self, silent_s):
        self.silent_s, self.now_s = silent_s, 0.0
        self.heights = []

    def put_state(self, message, now_s):
        self.now_s = now_s

    def put_depth(self, message, now_s):
        pass

    def wait(self, kind, timeout_s):
        return True

    def get_command(self):
        return None if self.now_s < self.silent_s else hold()


def live(wires, go, patience_s):
    loop = TrialLoop(
        wires, ROBOT, MOTORS, SPEC, SimCfg(), trial("flat", 0.0), "rays", patience_s, go
    )
    return loop, loop.run(real_time=False)


def test_it_hangs_until_its_motors_are_stiff_and_its_trial_begins_when_told():
    go = threading.Event()
    go.set()
    loop, outcome = live(Wires(silent_s=1.5), go, patience_s=5.0)
    assert outcome.reason == "stalled"  # it stands where it is, as it was told
    assert 1.9 < outcome.time_s < 2.2
    assert loop.body.data.qpos[2] > 0.8 * ROBOT.stance


def test_patience_ends():
    """With nobody there, and with a controller that only damps."""
    _, outcome = live(Wires(silent_s=np.inf), threading.Event(), patience_s=0.5)
    assert outcome.reason == NO_CONTROLLER
    wires = Wires(silent_s=0.0)
    wires.get_command = lambda: hold(kp=0.0)
    _, outcome = live(wires, threading.Event(), patience_s=0.5)
    assert outcome.reason == "damped"


def test_who_waited_for_nobody_is_told(bundle, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("swap.cli.sim2sim.PATIENCE_S", 0.3)
    link = str(tmp_path / "robot")
    words = ["sim2sim", str(bundle.path), "--family", "flat", "--sizes", "0", "--serve", link]
    assert dispatch(words) == 1
    assert "no controller sent a command within 0.3 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    "vain", ["--conditions wet", "--trials 3", "--json x", "--beside swap", "--as-trained"]
)
def test_options_that_a_served_robot_has_no_use_for_are_refused(vain):
    words = ["sim2sim", "x.bundle", "--serve", "link", *vain.split()]
    with pytest.raises(UserError, match=rf"--serve is one trial.*leave out {words[4]} \("):
        dispatch(words)


def test_without_a_go_stiff_motors_begin_the_trial():
    _, outcome = live(Wires(silent_s=0.0), None, DAMPED_S)
    assert outcome.reason == "stalled"
