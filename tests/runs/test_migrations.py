"""Files from before a rename load; newer files are refused."""

import json
import re
import shutil
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import torch

import tiny_swap
from swap.cli.main import dispatch
from swap.errors import UserError
from swap.presets import SwapCfg
from swap.presets.table import get_preset
from swap.runs import from_json, load, migrations, to_json
from swap.runs.migrations import KEY, Renames, as_stored, upgraded, upgraded_numbers
from swap.runs.safe_read import DamagedError
from swap.runs.saved_model import keep_model, read_model
from swap.runs.trained_robot import load_trained
from swap.sensors import DepthCameraCfg, OpticsCfg

DATA = Path(__file__).parent / "data"
"""Written by the program as it was before anything was renamed."""


@pytest.fixture
def history(monkeypatch):
    """Two renames of a made-up past."""
    first = Renames({"ppo.old_lr": "ppo.lr"}, {"actor.eye": "actor.reader"})
    second = Renames({"style": "amp", "env.noise": "env.random.noise"}, {"judge": "net"})
    monkeypatch.setattr(migrations, "HISTORY", (first, second))


def test_keys_move_with_all_they_hold_and_words_of_tensors_wherever_they_are(history):
    cfg = {"ppo": {"old_lr": 1.0, "clip": 0.2}, "style": {"weight": 2}, "env": {"noise": [3]}}
    names = (
        "policy/actor.eye.norm",
        "ppo/adam/actor.eye.norm/exp_avg",
        "actor.eyes",
        "amp/judge/0",
    )
    tensors = {name: torch.tensor(k) for k, name in enumerate(names)}
    told, moved = upgraded({"preset": "x", "cfg": cfg}, tensors)
    assert told == {
        "preset": "x",
        KEY: 2,
        "cfg": {
            "ppo": {"lr": 1.0, "clip": 0.2},
            "amp": {"weight": 2},
            "env": {"random": {"noise": [3]}},
        },
    }
    wanted = ["policy/actor.reader.norm", "ppo/adam/actor.reader.norm/exp_avg", "actor.eyes"]
    assert list(moved) == [*wanted, "amp/net/0"]
    assert [x.item() for x in moved.values()] == [0, 1, 2, 3]
    assert cfg["ppo"] == {"old_lr": 1.0, "clip": 0.2}  # the old one is left alone


def test_only_what_came_since_is_renamed(history):
    told, moved = upgraded({KEY: 1, "cfg": {"ppo": {"old_lr": 1}, "style": 2}}, {"actor.eye": 0})
    assert told["cfg"] == {"ppo": {"old_lr": 1}, "amp": 2}
    assert list(moved) == ["actor.eye"]


@pytest.mark.parametrize(
    ("version", "says"), [(3, "upgrade swap"), (-1, "no version"), ("1", "no")]
)
def test_what_is_newer_or_no_version_is_refused(history, version, says):
    with pytest.raises(DamagedError, match=says):
        upgraded({KEY: version, "cfg": {}}, {})


def test_a_newer_model_is_refused_in_one_line(tmp_path, monkeypatch):
    model = read_model(DATA / "kept-0.safetensors")
    monkeypatch.setattr(migrations, "HISTORY", (*migrations.HISTORY, Renames()))
    keep_model(model, tmp_path / "newer.safetensors", {})
    monkeypatch.undo()
    with pytest.raises(UserError, match=r"refused: its config is of version \d+; upgrade swap"):
        read_model(tmp_path / "newer.safetensors")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--ppo.calm-std", "--ppo.final-max-std"),
        ("--ppo.calm", "--ppo.std-decay"),
        ("--env.ends.episode-s", "--env.terminations.episode-length-s"),
        ("--env.ends.tilt-rad", "--env.terminations.tilt-rad"),
        ("--guard.share", "--guard.fault-fraction"),
        ("--env.camera-every", "--env.camera.every"),
        ("--model.net.k", "--env.camera.every"),
        ("--model.net.image", "--env.camera.optics.rows and --env.camera.optics.cols"),
        ("--model.net.depth.bend", "--model.net.depth-bend"),
        ("--env.camera", migrations.CAMERA),
        ("--env.no-camera", migrations.CAMERA),
        ("--env.camera.every", "--env.camera.every"),
        ("--env.rewards.weights", "--env.rewards.terms"),
        ("--keep", "--keep-checkpoints"),
        ("--ppo.std-decay", "--ppo.std-decay"),
        ("--minutes", "--minutes"),
    ],
)
def test_an_option_of_before_names_that_of_today(old, new):
    assert migrations.option_today(old) == new
    if old != new:
        for words in ([old, "1"], [f"{old}=1"]):
            with pytest.raises(UserError, match=f"^{re.escape(f'{old} is now {new}')}$"):
                dispatch(["train", "--preset", "tiny", *words])


def test_what_is_stored_says_its_version():
    assert as_stored("tiny", get_preset("tiny"))[KEY] == len(migrations.HISTORY)


# --- the camera's config -------------------------------------------------------------------------
def stored(camera=True, every=5, net=()):
    """A config of a robot with a camera as version 1 stored it; `net` changes its world model."""
    cfg = to_json(get_preset("swap"))
    cfg["env"] |= {"camera": camera, "camera_every": every}
    table = cfg["model"]["net"]
    del table["depth_bend"]
    table |= {"image": [64, 64], "k": 5, "action_clip": 6.0}
    table |= {"depth": {"near_m": 0.15, "far_m": 5.0, "bend": 0.25}} | dict(net)
    return {KEY: 1, "preset": "swap", "cfg": cfg}


def migrated(**changes):
    return from_json(SwapCfg, upgraded(stored(**changes), {})[0]["cfg"])


def test_a_config_of_before_gives_the_camera_what_the_model_knew_of_it():
    assert migrated() == get_preset("swap")
    depth = {"near_m": 0.3, "far_m": 4.0, "bend": 0.5}
    cfg = migrated(every=4, net={"image": [32, 48], "k": 4, "depth": depth})
    assert cfg.env.camera == DepthCameraCfg(every=4, optics=OpticsCfg(32, 48, near_m=0.3, far_m=4))
    assert cfg.model.net == replace(get_preset("swap").model.net, depth_bend=0.5)


def test_copies_that_differed_are_refused():
    with pytest.raises(DamagedError, match="images every 5 steps, its model every 4"):
        migrated(net={"k": 4})
    with pytest.raises(DamagedError, match=r"clips actions at 6.0 and at 3.0"):
        migrated(net={"action_clip": 3.0})
    with pytest.raises(UserError, match="the world model sees by a camera"):
        migrated(camera=False)


def test_what_makes_no_sense_is_refused_in_one_line():
    for net in ({"image": "64"}, {"image": [64]}, {"depth": 3}, {"depth": {"deep": 1}}, {"k": "5"}):
        with pytest.raises((UserError, DamagedError)):
            migrated(net=net)
    with pytest.raises(UserError, match=r"config key 'env.camera' must be a table"):
        migrated(camera=1)


def test_images_and_ticks_cannot_be_stated_apart():
    """Only the camera's rate in a config says how often the world model ticks."""
    with pytest.raises(UserError, match=r"unknown model.net key 'k'"):
        from_json(SwapCfg, {"model": {"net": {"k": 4}}})
    for every in (4, 5):
        env = replace(tiny_swap.CFG.env, camera=DepthCameraCfg(every=every))
        trainer = replace(tiny_swap.CFG, env=env, engine="cpu").build("cpu")
        tracker = trainer.collector.latent_tracker
        assert tracker.clock.k == trainer.env.camera.cfg.every == every


# --- written before ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["swap", "teacher"])
def test_cards_of_before_give_the_configs_they_gave(name):
    card = json.loads((DATA / f"{name}-0.json").read_text())
    assert KEY not in card
    told, _ = upgraded(card, {})
    assert told["preset"] == name
    new = to_json(from_json(type(get_preset(name)), told["cfg"]))
    moved = {"ppo.kl": "ppo.desired_kl", "env.hardest": "env.max_difficulty"}
    moved |= {"env.ends.episode_s": "env.terminations.episode_length_s", "env.robot": "env.robot"}
    moved |= {"env.rewards.weights": "env.rewards.terms", "run.keep": "run.keep_checkpoints"}
    moved |= {"run.guard.share": "run.guard.fault_fraction", "ppo.calm_std": "ppo.final_max_std"}
    if name == "swap":
        moved |= {"env.camera_every": "env.camera.every", "model.net.k": "env.camera.every"}
        moved |= {f"model.net.depth.{x}": f"env.camera.optics.{x}" for x in ("near_m", "far_m")}
        moved |= {"model.net.depth.bend": "model.net.depth_bend"}
        eye = new["env"]["camera"]["optics"]
        assert [eye["rows"], eye["cols"]] == card["cfg"]["model"]["net"]["image"]
    else:
        assert new["env"]["camera"] is None
    for old, today in moved.items():
        assert reduce(getitem, today.split("."), new) == reduce(
            getitem, old.split("."), card["cfg"]
        )


@pytest.mark.parametrize("density", ["sample", "mirrored"])
def test_the_density_of_mirrored_samples_is_no_option_any_more(density):
    cfg = to_json(get_preset("augment"))
    cfg["symmetry"] = {"kind": "augment", "actor": 4.0, "critic": 0.0, "density": density}
    card = {KEY: 5, "preset": "augment", "cfg": cfg}
    if density == "mirrored":
        with pytest.raises(DamagedError, match=r"symmetry.density=mirrored, which diverged"):
            upgraded(card, {})
        return
    new, tensors = upgraded(card, {"collector/mode_latent/h": torch.ones(1)})
    assert from_json(SwapCfg, new["cfg"]) == get_preset("augment")
    assert list(tensors) == ["collector/noiseless_latent/h"]
    assert migrations.option_today("--symmetry.density").startswith("gone")


def test_a_file_of_before_holds_what_its_run_holds():
    model, kept = read_model(DATA / "swap-run-0"), read_model(DATA / "kept-0.safetensors")
    assert model.cfg == replace(kept.cfg, run=model.cfg.run)
    for name, x in kept.tensors.items():
        assert torch.equal(x, model.tensors[name]), name


@pytest.mark.parametrize("arm", ["swap", "augment"])
def test_a_run_of_before_is_read_and_goes_on(arm, tmp_path, capsys):
    shutil.copytree(DATA / f"{arm}-run-0", tmp_path / "run")
    before = load(tmp_path / "run")
    assert load_trained(tmp_path / "run").has_world_model
    assert dispatch(["train", "--resume", str(tmp_path / "run"), "--iterations", "1"]) == 0
    assert "done: 5 iterations" in capsys.readouterr().out
    after = load(tmp_path / "run")
    assert after.iteration == before.iteration + 1
    assert after.tensors.keys() == before.tensors.keys()  # by today's names, both
    assert after.config[KEY] == len(migrations.HISTORY)


def test_counts_that_were_numbers_are_tensors_of_all_processes():
    shared = {"latent": {"count": 3}, "replay": {"filled": 7}}
    shared |= {"iteration": 2, "env": {"count": 5}}
    numbers = {**shared, "crew": [shared]}
    names = "latent/h", "replay/slot", "env/ended", "process/1/latent/h"
    tensors = {name: torch.zeros(1) for name in names}
    told, moved = upgraded_numbers({"cfg": {}, KEY: 1}, numbers, tensors)
    assert told == {"iteration": 2, "crew": [{"iteration": 2}]}
    assert moved.keys() - tensors.keys() == {"latent/count", "replay/filled", "env/count"}
    assert [int(moved[x]) for x in ("latent/count", "replay/filled", "env/count")] == [3, 7, 5]
    assert moved["latent/count"].dtype == torch.int64
    assert numbers["crew"] == [shared]  # the old ones are left alone
    # A large replay is not kept: there is nothing that its count would count.
    _, moved = upgraded_numbers({"cfg": {}}, numbers, {"mirrored_latent/h": torch.zeros(1)})
    assert moved.keys() == {"mirrored_latent/h", "mirrored_latent/count"}
    now = {KEY: len(migrations.HISTORY), "cfg": {}}
    assert upgraded_numbers(now, numbers, tensors) == (numbers, tensors)
    assert upgraded_numbers({"of": "something else"}, numbers, tensors) == (numbers, tensors)
