"""Mirrored trials end alike for a robot that mirrors, and need not for one that does not."""

import json

import torch

import tiny_swap
from swap.cli import main as cli
from swap.env.terminations import EndReason
from swap.evaluate import paired_trials as of
from swap.evaluate.success import course_of
from swap.policy import Networks
from swap.runs.trained_robot import TrainedRobot


def lively(monkeypatch):
    """First weights hardly move; these do."""
    made = TrainedRobot.networks_for

    def networks_for(self, *args, **more) -> Networks:
        nets = made(self, *args, **more)
        with torch.no_grad():
            for p in nets.policy.actor.mlp.net.out.parameters():
                p.mul_(60)
        return nets

    monkeypatch.setattr(TrainedRobot, "networks_for", networks_for)


def courses(n=3):
    return [course_of("tilted_box", 0.3, k, seed=0, side="left") for k in range(n)]


def test_a_robot_that_mirrors_does_there_what_it_did_here(monkeypatch):
    lively(monkeypatch)
    found = of.paired_trials(tiny_swap.robot(), courses())
    assert found.same_end == 1.0
    assert found.apart == 0.0
    assert (found.reason != int(EndReason.RUNNING)).all()


def test_a_plain_robot_parts_from_its_image(monkeypatch):
    lively(monkeypatch)
    found = of.paired_trials(tiny_swap.robot(sees=False, acts=False), courses())
    assert found.apart == 1.0


def test_the_shares_are_counted_by_pair():
    won, fell = int(EndReason.SUCCESS), int(EndReason.FALLEN)
    found = of.PairedResults(
        torch.tensor([won, won, fell, fell]),
        torch.tensor([won, fell, fell, fell]),
        torch.tensor([0.0, 2.0, 1e-9, 0.04]),
    )
    assert (found.same_end, found.apart, found.success) == (0.75, 0.25, (0.5, 0.25))


def test_check_model_tells_and_judges_whole_trials(tmp_path, monkeypatch, capsys):
    told = {"same end": 1.0}

    def tried(robot, families, trials, device, seed):
        yield from ({"family": name, "pairs": trials, **told} for name in families)

    monkeypatch.setattr(of, "mirrored_trial_rows", tried)
    monkeypatch.setattr("swap.runs.trained_robot.untrained", lambda name: tiny_swap.robot())
    file = tmp_path / "check.json"
    words = ["check", "model", "--steps", "4", "--family", "tilted_box", "--trials", "5"]
    assert cli.dispatch([*words, "--json", str(file)]) == 0
    assert json.loads(file.read_text())["rows"][-1] == {
        "family": "tilted_box",
        "pairs": 5,
        "same end": 1.0,
        "pass": True,
    }
    told["same end"] = 0.9
    assert cli.dispatch(words) == 1
    assert "FAILED: trials on tilted_box" in capsys.readouterr().out
