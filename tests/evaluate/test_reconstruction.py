"""Errors of decoded depth equal a computation by hand, and are exact under the mirror."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import tiny_swap
from swap.cli import main as cli
from swap.courses import make
from swap.errors import UserError
from swap.evaluate import reconstruction as of
from swap.evaluate.reconstruction_figure import reconstruction_figure
from swap.evaluate.success import trials_env
from swap.runs.trained_robot import untrained

SECONDS = 0.5


def courses(n=3):
    return [make("tilted_box", 0.4, np.random.default_rng(k)) for k in range(n)]


def measured(robot, **options):
    return of.reconstruct(robot, courses(), seconds=SECONDS, seed=3, **options)


def test_the_error_is_that_of_the_latent_the_robot_acts_on():
    robot = tiny_swap.robot()
    found = measured(robot)
    env = trials_env(robot.cfg.env, courses(), 1.0, "cpu", 3)
    agent, obs = robot.agent_for(env), env.reset()
    near, far = (getattr(env.spec.camera, name) for name in ("near_m", "far_m"))
    images = []
    for _ in range(round(SECONDS / 0.02)):
        action = agent.act(obs)
        if agent.ticked:
            decoded = agent.model.decode(agent.latent_state.latent).depth
            there = near + obs["depth_clean"] * (far - near)
            images.append((agent.model.codec.to_metres(decoded) - there).abs())
        obs = env.step(action).obs
    every = torch.stack(images)  # [T, N, rows, cols]
    assert len(every) == round(SECONDS / 0.1)
    torch.testing.assert_close(found.straight.images, every.mean((2, 3)))
    torch.testing.assert_close(found.straight.pixels, every.mean((0, 1)), rtol=1e-5, atol=1e-6)
    assert found.straight.mean == pytest.approx(float(every.mean()), rel=1e-5)


def test_an_equivariant_model_makes_the_mirrored_error_to_the_last_bit_a_plain_one_does_not():
    found = measured(tiny_swap.robot())
    assert found.gap_m == 0
    assert torch.equal(found.mirrored.images, found.straight.images)
    assert torch.equal(found.mirrored.pixels, found.straight.pixels)
    plain = measured(tiny_swap.robot(sees=False))
    assert plain.gap_m > 1e-3
    assert not torch.equal(plain.mirrored.images, plain.straight.images)


def test_a_model_that_reads_more_than_the_joints_is_measured_likewise():
    robot = tiny_swap.robot()
    net = replace(robot.cfg.model.net, reads=("proprioception", "command"))
    model = replace(robot.cfg.model, net=net)
    found = measured(replace(robot, cfg=replace(robot.cfg, model=model)))
    assert found.gap_m == 0
    assert found.straight.mean > 0


def test_a_mirrored_tracker_sees_the_mirror_image():
    robot = tiny_swap.robot(sees=False)
    env = trials_env(robot.cfg.env, courses(2), 1.0, "cpu", 0)
    model = robot.networks_for(env).model
    obs = env.reset()
    image = {
        "depth_noisy": obs["depth_noisy"].flip(-1),
        "depth_clean": obs["depth_clean"].flip(-1),
        "proprioception": env.groups["proprioception"].rep(obs["proprioception"]),
    }
    here = of.ModelTracker(model, 2, env.device, mirrored=True)
    there = of.ModelTracker(model, 2, env.device, mirrored=False)
    with torch.no_grad():
        torch.testing.assert_close(here.observe(obs), there.observe(image).flip(-1))
    action = torch.randn(2, 12)
    here.record(action)
    there.record(env.spec.action.rep(action))
    assert torch.equal(here.state.actions, there.state.actions)
    assert here.state.actions.abs().max() > 0


def test_another_robot_may_act_and_the_sequences_are_then_its_own():
    one, two = tiny_swap.robot(), tiny_swap.robot(sees=False)
    by_one = measured(two, driver=one)
    assert not torch.equal(by_one.straight.images, measured(two).straight.images)
    assert torch.equal(measured(one, driver=one).straight.images, measured(one).straight.images)


def test_ticks_after_the_end_of_a_trial_do_not_count():
    images = torch.tensor([[0.1, 0.3], [0.2, 0.5], [0.4, torch.nan], [torch.nan, torch.nan]])
    rows = of.Errors(images, torch.zeros(2, 2)).by_tick()
    assert [row["trials"] for row in rows] == [2, 2, 1]
    assert [row["error_m"] for row in rows] == pytest.approx([0.2, 0.35, 0.4])
    half = 1.96 * math.sqrt(2 * 0.1**2) / math.sqrt(2)  # std of .1 and .3, over sqrt 2
    assert rows[0]["high"] - rows[0]["error_m"] == pytest.approx(half, rel=1e-3)
    assert rows[2]["low"] == rows[2]["error_m"] == rows[2]["high"]


def test_a_line_ends_where_half_of_the_trials_have_ended():
    left = (200, 150, 100, 99, 3)  # trials that last to a tick
    rows = [
        {"side": side, "sequences": name, "tick": t, "trials": n}
        | dict.fromkeys(("error_m", "low", "high"), 0.1)
        for side in ("left", "right")
        for name in ("as they were", "mirrored")
        for t, n in enumerate(left)
    ]
    pixels = ["1 2", "3 4"]
    maps = {side: {"straight": pixels, "mirrored": pixels} for side in ("left", "right")}
    figure = reconstruction_figure({"swap": [{"rows": rows, "facts": {"maps_mm": maps}}]})
    lines = figure.subfigs[0].axes[0].get_lines()
    assert [line.get_xdata().tolist() for line in lines] == [[0, 1, 2]] * 2


def test_a_robot_without_eyes_is_told_in_one_line():
    with pytest.raises(UserError, match="has no world model; name one that sees"):
        of.reconstruct(untrained("tiny"), courses(1))


def test_the_command_writes_ticks_maps_and_a_figure(tmp_path, capsys, monkeypatch):
    robots = {"plain": tiny_swap.robot(sees=False), "swap": tiny_swap.robot()}
    monkeypatch.setattr("swap.runs.trained_robot.load_trained", lambda path: robots[str(path)])
    file, picture = tmp_path / "r.json", tmp_path / "r.png"
    words = ["--trials", "2", "--seconds", "0.3", "--device", "cpu", "--json", str(file)]
    assert cli.dispatch(["reconstruct", "swap", *words, "--plot", str(picture)]) == 0
    assert "to the last bit" in capsys.readouterr().out
    told = json.loads(file.read_text())
    assert {(row["side"], row["sequences"]) for row in told["rows"]} == {
        (side, name) for side in ("left", "right") for name in ("as they were", "mirrored")
    }
    assert [row["tick"] for row in told["rows"][:3]] == [0, 1, 2]
    lines = told["facts"]["maps_mm"]["right"]["straight"]
    pixels = np.array([line.split() for line in lines], float)
    assert pixels.shape == (64, 64)
    mean = next(row for row in told["facts"]["mean"] if row["side"] == "right")["error_m"]
    assert pixels.mean() / 1000 == pytest.approx(mean, abs=1e-3)
    assert picture.stat().st_size > 10_000
    assert cli.dispatch(["reconstruct", "plain", *words]) == 0
    assert "does not claim to be equivariant" in capsys.readouterr().out
    monkeypatch.setattr(
        of, "declared_equivariant", lambda robot: True
    )  # claims falsely to be equivariant
    assert cli.dispatch(["reconstruct", "plain", *words]) == 1
    assert "FAILED" in capsys.readouterr().out
