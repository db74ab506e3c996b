"""Equivariant robots pass bit for bit, plain ones are only measured, and broken parts are named."""

import json
from pathlib import Path

import pytest
import torch

import tiny_swap
from swap.cli import main as cli
from swap.evaluate.model_audit import LIMIT_M, ModelAudit
from swap.runs import trained_robot as room
from swap.runs.saved_model import keep_model
from swap.runs.trained_robot import TrainedRobot
from swap.state_dict import join_states
from swap.world_model.encoder import Encoder

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
SEES = {"encoder", "latent", "prediction", "decoder"}
ACTS = {"actor", "critic"}
STYLE = {"discriminator"}


def lively(nets):
    """A fresh actor hardly moves; this one does."""
    with torch.no_grad():
        for p in nets.policy.actor.mlp.net.out.parameters():
            p.mul_(60)


def audited(robot, steps=30, families=("tilted_box", "rocks"), device="cpu"):
    audit = ModelAudit(robot, device, families)
    lively(audit.networks)
    audit.run(steps)
    parts, lives = audit.check_networks(), audit.check_behaviour()
    return {row["part"]: row for row in parts}, {row["family"]: row for row in lives}


@pytest.mark.parametrize("device", DEVICES)
def test_an_equivariant_robot_mirrors_to_the_last_bit_and_lives_the_mirrored_life(device):
    parts, lives = audited(tiny_swap.robot(), device=device)
    assert parts.keys() == SEES | ACTS | STYLE
    for row in parts.values():
        assert row["error"] == 0
        assert row["largest"] > 0.01
        assert row["pass"] is row["equivariant"] is True
    assert lives.keys() == {"tilted_box", "rocks"}
    for row in lives.values():
        assert row["error, m"] <= LIMIT_M
        assert row["moved, m"] > 0.05
        assert row["pass"] is True


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        ({"sees": False, "acts": False}, SEES | ACTS | STYLE),
        ({"acts": False}, ACTS | STYLE),
        ({"sees": False}, SEES | ACTS),  # an equivariant actor reads a latent without an image
    ],
)
def test_a_plain_part_is_measured_and_not_judged(options, plain):
    parts, lives = audited(tiny_swap.robot(**options))
    for name, row in parts.items():
        assert (row["error"] > 1e-3) is (name in plain)
        assert row["equivariant"] is (name not in plain)
        assert row["pass"] is (None if name in plain else True)
    for row in lives.values():
        assert row["error, m"] > 1e-4
        assert row["pass"] is None


def test_a_robot_without_a_world_model_has_actor_and_critic_only():
    teacher = Path(__file__).parents[2] / "models" / "teacher.safetensors"
    audit = ModelAudit(room.load_trained(teacher), "cpu", ["box"])
    audit.run(40)
    assert {row["part"]: row["error"] for row in audit.check_networks()} == {
        "actor": 0,
        "critic": 0,
    }
    (life,) = audit.check_behaviour()
    assert life["pass"]
    assert life["moved, m"] > 0.4  # a trained robot: it walks


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr("swap.runs.trained_robot.untrained", lambda preset: tiny_swap.robot())
    honest = TrainedRobot.networks_for

    def made(self, *where):
        nets = honest(self, *where)
        lively(nets)
        return nets

    monkeypatch.setattr(room.TrainedRobot, "networks_for", made)
    return ["check", "model", "--family", "flat", "--steps", "12"]


def test_check_model_says_that_all_claims_hold(tiny, capsys, tmp_path):
    file = tmp_path / "check.json"
    assert cli.dispatch([*tiny, "--json", str(file)]) == 0
    assert "all of it claims to be equivariant, and is" in capsys.readouterr().out
    rows = json.loads(file.read_text())["rows"]
    assert {row["part"] for row in rows if "part" in row} == SEES | ACTS | STYLE
    assert [row["family"] for row in rows if "family" in row] == ["flat"]
    assert all(row["pass"] for row in rows)


def test_check_model_names_what_breaks_its_claim(tiny, capsys, monkeypatch):
    honest = Encoder.forward

    def dirty(self, depth, prop):
        """Darkens the left of the image so much that z, which is discrete, must change."""
        return honest(self, depth + torch.linspace(4, 0, depth.shape[-1]), prop)

    monkeypatch.setattr(Encoder, "forward", dirty)
    assert cli.dispatch(tiny) == 1
    said = capsys.readouterr().out
    assert "FAILED: encoder, latent, prediction, decoder, actor, critic, life on flat" in said


def test_check_model_tells_what_is_not_claimed_and_what_was_not_kept(
    tiny, capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr("swap.runs.trained_robot.untrained", lambda _: tiny_swap.robot(acts=False))
    assert cli.dispatch(tiny) == 0
    said = capsys.readouterr().out
    assert "not claimed to be equivariant, so not judged: actor, critic, discriminator" in said
    kept, robot = tmp_path / "robot.safetensors", tiny_swap.robot()
    env = robot.cfg.make_env("cpu")
    nets = join_states(**{k: p.state_dict() for k, p in robot.networks_for(env)._asdict().items()})
    keep_model(TrainedRobot("swap", 7, robot.cfg, nets), kept, {})
    assert cli.dispatch([*tiny[:2], str(kept), *tiny[2:]]) == 0
    said = capsys.readouterr().out
    assert "swap, iteration 7" in said
    assert "discriminator: not among these weights" in said


def test_mistakes_are_one_line(tiny):
    for words, says in (
        (["--steps", "1"], "--steps 1 shows no motion; use 2 or more"),
        (["--family", "bxo"], "did you mean 'box'"),
        (["no/such/run"], "no run or model 'no/such/run'"),
    ):
        with pytest.raises(ValueError, match=says):
            cli.dispatch(["check", "model", *words])
