"""The guard finds the cause in tiny runs of the real trainable in which one thing is broken."""

import dataclasses
import math
import re

import pytest
import torch

from small_parkour import SMALL
from swap.cli import main as cli
from swap.learn.amp import AMP
from swap.learn.model_learner import ModelLearner
from swap.learn.ppo import PPO
from swap.presets import RunCfg
from swap.presets.run_cfg import GuardCfg
from swap.runs import RunResult, load, train
from swap.runs.guard import Guard, _stage
from tiny_swap import CFG
from toy_run import Silent

RUN = RunCfg(iterations=12, tensorboard=False)


def spoiled(tmp_path, cfg=SMALL, prepare=lambda trainable: None) -> tuple[RunResult, list[str]]:
    trainable, board = cfg.build("cpu"), Silent()
    prepare(trainable)
    return train(trainable, tmp_path / "run", RUN, board=board), board.lines


def test_an_infinite_loss_is_named_and_stops_the_run(tmp_path, monkeypatch):
    total = PPO._total
    monkeypatch.setattr(PPO, "_total", lambda self, losses: total(self, losses) * torch.inf)
    outcome, _ = spoiled(tmp_path)
    assert outcome.iteration == 3
    steps = SMALL.ppo.epochs * SMALL.ppo.minibatches
    assert outcome.fault.startswith(
        f"stopped at iteration 3: PPO skips {steps} of {steps} gradient steps: "
        f"guard/loss counts {steps}, "
    )
    assert load(tmp_path / "run").iteration == 3  # its state is sound: nothing was learned


def test_a_loss_that_is_infinite_now_and_then_stops_nothing(tmp_path, monkeypatch):
    total, calls = PPO._total, []

    def sometimes(self, losses):
        calls.append(0)
        return total(self, losses) * (1.0 if len(calls) % 3 else torch.inf)

    monkeypatch.setattr(PPO, "_total", sometimes)
    outcome, lines = spoiled(tmp_path)
    assert outcome.iteration == RUN.iterations
    assert [line for line in lines if "guard/skipped_updates counts 1" in line]


@pytest.mark.parametrize(
    ("learner", "find", "says"),
    [
        (ModelLearner, "model", "the world model skips"),
        (AMP, "amp", "AMP skips"),
    ],
)
def test_every_learner_is_watched_by_itself(tmp_path, monkeypatch, learner, find, says):
    whole = learner._compute_gradients

    def infinite(self, *inputs):
        found = whole(self, *inputs)
        return found._replace(figures={**found.figures, "loss": found.figures["loss"] * torch.inf})

    monkeypatch.setattr(learner, "_compute_gradients", infinite)
    outcome, _ = spoiled(tmp_path, CFG)
    assert says in outcome.fault
    assert f"guard/{find}_loss counts" in outcome.fault


@pytest.mark.parametrize("part", ["actor", "critic"])
def test_a_nan_in_a_weight_is_named(tmp_path, part):
    def plant(trainable) -> None:
        net = getattr(trainable.policy, part)
        with torch.no_grad():
            next(p for p in net.parameters() if p.ndim > 1).view(-1)[0] = torch.nan

    outcome, _ = spoiled(tmp_path, prepare=plant)
    assert outcome.iteration == 3
    assert re.search(rf"weights policy/{part}\.\S+ are not finite", outcome.fault)


def test_a_reward_beyond_all_bounds_is_called_one(tmp_path):
    rewards = dataclasses.replace(SMALL.env.rewards, terms=(("ang_vel_tracking", 1e38),))
    cfg = dataclasses.replace(SMALL, env=dataclasses.replace(SMALL.env, rewards=rewards))
    outcome, lines = spoiled(tmp_path, cfg)
    assert lines[0].startswith("iteration 1: guard/reward counts ")
    assert re.search(
        r"stopped at iteration \d: \d+ faults in \d+ steps: guard/reward", outcome.fault
    )
    assert "explained_variance" not in " ".join([*lines, outcome.fault])


def test_on_the_command_line(tmp_path, capsys):
    """Only steps onto new ground get this large reward, fewer than half of all, and none of them
    can be learned from. The run stops long before the guard's window is full, and names the
    term."""
    words = ("train", "--preset", "tiny", "--device", "cpu", "--worlds", "8", "--no-tensorboard")
    weights = ("--env.rewards.terms", "headway", "1e38", "--iterations", "30")
    assert cli.dispatch([*words, *weights, "--out", str(tmp_path / "run")]) == 1
    shown = capsys.readouterr()
    assert re.search(
        r"iteration 1: guard/reward counts \d+ \(the largest term is reward/headway, \S+e\+3\d;",
        shown.out,
    )
    told = re.search(r"stopped at iteration (\d+): \d+ faults in \d+ steps are too", shown.err)
    assert int(told[1]) < 10


def test_a_verdict_comes_as_soon_as_the_window_cannot_change_it(tmp_path):
    """Of 10 iterations of 100 steps, 20 faults are allowed; not of gradient steps, which are
    counted apart. Two bad iterations may be bad luck, as long as the window is not full."""
    trainable = SMALL.build("cpu")

    def judged(*faults):
        guard = Guard(GuardCfg(fault_fraction=0.02, window=10), tmp_path, Silent().say)
        for k, n in enumerate((0, *faults)):
            metrics = {"steps": 100.0 * k, "guard/diverged": n, "guard/loss": 50.0}
            if told := guard.check(k, metrics, trainable):
                return told.split(";")[0]
        return None

    assert judged(15, 5, 0, 0, 0) is None
    assert judged(15, 4, 0, 1, 0) is None
    told = "stopped at iteration 4: 21 faults in 400 steps are too many (most: diverged 21"
    assert judged(15, 5, 0, 1, 0).startswith(told)
    assert judged(40, 40, 0, 0) is None
    told = "stopped at iteration 10: 80 faults in 1000 steps are too many (most: diverged 80"
    assert judged(40, 40, *8 * [0]).startswith(told)


def test_evidence_does_not_make_a_removed_folder_anew(tmp_path):
    trainable, board, run = SMALL.build("cpu"), Silent(), tmp_path / "run"
    Guard(GuardCfg(), run, board.say).check(1, {"loss": math.nan}, trainable)
    assert "no evidence kept (No such file or directory)" in board.lines[0]
    assert not run.exists()
    run.mkdir()
    Guard(GuardCfg(), run, board.say).check(1, {"loss": math.nan}, trainable)
    assert f"evidence in {run / 'evidence' / '000001-loss'}" in board.lines[1]


def test_what_is_computed_first_is_blamed_first():
    order = [
        *("guard/obs.history", "guard/action", "guard/diverged", "rollout/reward", "guard/value"),
        *("guard/advantage", "rollout/explained_variance", "guard/value_loss", "guard/grad_norm"),
    ]
    assert sorted(order, key=_stage, reverse=True)[::-1] == order
