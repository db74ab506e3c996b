"""A robot with a camera is the same from its run and its kept file, also with a blank camera."""

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

import tiny_swap
from swap.cli import main as cli
from swap.env import ParkourEnv
from swap.errors import UserError
from swap.runs import load
from swap.runs.saved_model import keep_model
from swap.runs.trained_robot import load_trained
from swap.state_dict import sub_state

TEACHER = Path(__file__).parents[2] / "models" / "teacher.safetensors"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_swap.run(tmp_path_factory.mktemp("runs") / "one")


@pytest.fixture(scope="module")
def kept(folder, tmp_path_factory):
    file = tmp_path_factory.mktemp("kept") / "robot.safetensors"
    assert cli.dispatch(["keep", str(folder), "--out", str(file)]) == 0
    return file


def test_networks_and_curriculum_are_there_and_nothing_else_is_kept(folder, kept):
    saved, run, file = load(folder).tensors, load_trained(folder), load_trained(kept)
    env = ParkourEnv(run.cfg.env, 2)
    for robot in (run, file):
        for part, prefix in zip(robot.networks_for(env), ("policy/", "model/"), strict=True):
            state = part.state_dict()
            assert state.keys() == sub_state(prefix, saved).keys()
            for name, x in state.items():
                assert torch.equal(x, saved[prefix + name]), name
            assert not any(p.requires_grad for p in part.parameters())
    names = safetensors.torch.load_file(kept).keys()
    assert {name.split("/")[0] for name in names} == {"policy", "model", "amp", "curriculum"}
    assert {name for name in names if name.startswith("curriculum/")} == {
        f"curriculum/{family}" for family, _ in run.cfg.env.families
    }
    assert file.cfg == run.cfg
    discriminators = [robot.discriminator_for(env).state_dict() for robot in (run, file)]
    for discriminator in discriminators:
        assert discriminator.keys() == sub_state("amp/net/", saved).keys()
        assert all(torch.equal(x, saved[f"amp/net/{name}"]) for name, x in discriminator.items())
    assert not any(name.startswith(("amp/ring", "amp/adam")) for name in names)


def test_first_weights_are_those_a_run_begins_with(folder):
    trainer = tiny_swap.CFG.build("cpu")
    robot, saved = tiny_swap.robot(), trainer.state_dict()
    nets = robot.networks_for(trainer.env)
    for part, prefix in zip(nets, ("policy/", "model/"), strict=True):
        for name, x in part.state_dict().items():
            assert torch.equal(x, saved[prefix + name]), name
    discriminator = robot.discriminator_for(trainer.env).state_dict()
    assert all(torch.equal(x, saved[f"amp/net/{name}"]) for name, x in discriminator.items())


def test_a_robot_without_a_world_model_is_kept_as_it_is(tmp_path):
    robot, again = load_trained(TEACHER), tmp_path / "again.safetensors"
    assert not robot.has_world_model
    keep_model(robot, again, {})
    new = load_trained(again)
    assert new.tensors.keys() == robot.tensors.keys()
    assert all(torch.equal(x, new.tensors[name]) for name, x in robot.tensors.items())


def evaluated(source, tmp_path, *words):
    file = tmp_path / "eval.json"
    words = ["eval", str(source), *words, "--family", "flat", "--trials", "3", "--points", "1"]
    assert cli.dispatch([*words, "--device", "cpu", "--json", str(file)]) == 0
    return json.loads(file.read_text())


def test_eval_of_the_run_of_the_file_and_blind(folder, kept, tmp_path, capsys):
    run, file = (evaluated(source, tmp_path) for source in (folder, kept))
    assert run["rows"] == file["rows"]
    assert run["facts"]["blind"] is False
    assert "blind" not in capsys.readouterr().out
    blind = evaluated(kept, tmp_path, "--blind")
    told = {"speeds_mps": [1.0], "side": "both", "tilt_deg": None, "seed": 1, "blind": True}
    assert blind["facts"] == told
    assert "success at 1 m/s, blind" in capsys.readouterr().out


def test_blind_reaches_the_driver(monkeypatch):
    """The tiny robot falls either way, so the images that it gets are compared."""
    import numpy as np

    from swap.courses import make
    from swap.evaluate.success import run_trials
    from swap.policy import LatentState

    shown = []
    honest = LatentState.tick

    def watched(self, depth, prop, noise):
        shown.append(depth.clone())
        honest(self, depth, prop, noise)

    monkeypatch.setattr(LatentState, "tick", watched)
    course = [make("box", 0.3, np.random.default_rng(0))]
    for blind in (False, True):
        shown.clear()
        run_trials(tiny_swap.robot(), course, 1.0, "cpu", 0, blind=blind)
        seen = torch.stack(shown)
        assert len(seen) > 3
        assert bool((seen == 0.5).all()) is blind


def test_a_robot_without_a_camera_has_nothing_to_blank():
    with pytest.raises(UserError, match="preset teacher has no camera to blank; leave --blind out"):
        cli.dispatch(["eval", str(TEACHER), "--blind", "--device", "cpu"])
