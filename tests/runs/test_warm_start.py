"""A new run from a kept robot takes over what was learned to the bit; all else begins anew."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tiny_swap
from small_parkour import SMALL, figures
from swap.env import EnvCfg
from swap.errors import UserError
from swap.learn.trainer import NETWORKS, OPTIMISERS
from swap.presets import RunCfg
from swap.runs import Checkpoint, load, seed_everything, to_json, train
from swap.runs.console import PlainBoard
from swap.runs.noise_and_rate import RATE
from swap.runs.saved_model import (
    CURRICULUM,
    FRONTIER,
    SavedModel,
    frontiers,
    keep_model,
    read_model,
)
from swap.runs.warm_start import check_fit, config_from, start_from

MODELS = Path(__file__).parents[2] / "models"
KINDS = {"tiny": SMALL, "swap": replace(tiny_swap.CFG, engine="cpu")}


def run(name, folder, iterations, model=None, resume=None):
    """A run of that many iterations in all, from a model or not."""
    cfg = KINDS[name]
    seed_everything(cfg.seed)
    trainable = cfg.build("cpu")
    if model and not resume:
        start_from(model, trainable, cfg)
    train(
        trainable,
        folder,
        RunCfg(iterations=iterations, tensorboard=False),
        config={"preset": name, "cfg": to_json(cfg)},
        resume=resume,
        board=PlainBoard(every_s=1e9),
    )
    return folder


@pytest.fixture(scope="module", params=KINDS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def folder(name, tmp_path_factory):
    return run(name, tmp_path_factory.mktemp("run") / name, 4)


def kept(folder, tmp_path, **options):
    keep_model(read_model(folder), tmp_path / "kept.safetensors", {}, **options)
    return read_model(tmp_path / "kept.safetensors")


def begun(model, name):
    """A trainer with twice the worlds that begins with the model, and what it reports."""
    cfg = replace(KINDS[name], worlds=8, seed=3)
    trainer = cfg.build("cpu")
    return trainer, start_from(model, trainer, cfg)


def test_from_a_folder_networks_and_optimisers_are_equal_to_the_bit(name, folder):
    saved = load(folder).tensors
    trainer, anew = begun(read_model(folder), name)
    learned = trainer.learned()
    assert learned.keys() == {k for k in saved if k.startswith(NETWORKS + OPTIMISERS)}
    for key, x in learned.items():
        assert torch.equal(x, saved[key]), key
    assert anew == []
    assert trainer.iteration == trainer.steps == 0
    assert any(x.any() for k, x in learned.items() if k.startswith("ppo/adam/"))
    assert trainer.iterate()["steps"] == 8 * trainer.cfg.ppo.steps


def test_from_a_kept_file_the_optimisers_begin_anew_unless_they_are_kept(name, folder, tmp_path):
    saved = load(folder).tensors
    first = KINDS[name].build("cpu").state_dict()
    first[RATE] = torch.tensor(KINDS[name].ppo.lr_range[0])  # careful, as nothing is known yet
    trainer, anew = begun(kept(folder, tmp_path), name)
    for key, x in trainer.learned().items():
        expected = saved if key.startswith(NETWORKS) else first
        assert torch.equal(x, expected[key]), key
    assert anew == ["optimisers"]
    trainer, anew = begun(kept(folder, tmp_path, optimiser=True), name)
    for key, x in trainer.learned().items():
        assert torch.equal(x, saved[key]), key
    assert anew == []


def test_what_is_not_kept_cannot_be_kept_again(name, folder, tmp_path):
    with pytest.raises(UserError, match="no optimisers in that file"):
        keep_model(kept(folder, tmp_path), tmp_path / "again.safetensors", {}, optimiser=True)


def test_two_and_two_iterations_are_four_bit_for_bit(name, folder, tmp_path):
    model = read_model(folder)
    run(name, tmp_path / "four", 4, model)
    run(name, tmp_path / "two", 2, model)
    run(name, tmp_path / "two", 4, resume=load(tmp_path / "two"))
    four, two = load(tmp_path / "four"), load(tmp_path / "two")
    assert four.tensors.keys() == two.tensors.keys()
    for key, x in four.tensors.items():
        assert torch.equal(x, two.tensors[key]), key
    assert figures(tmp_path / "four") == figures(tmp_path / "two")


# --- the curriculum -------------------------------------------------------------------------------
def test_frontiers_of_all_processes_are_kept_by_family():
    """Two processes have the same frontiers, which are then in the checkpoint once."""
    cfg = replace(SMALL, env=EnvCfg(families=(("flat", 1.0), ("box", 3.0))))
    tensors = {
        FRONTIER: torch.tensor([5, 4, 3, 2]),
        f"process/2/{FRONTIER}": torch.tensor([9, 0, 20, 1]),
    }
    numbers = {"crew": [{}, {}]}
    told = frontiers(Checkpoint(Path("000004"), 4, tensors, numbers, {}), cfg)
    assert {key: x.tolist() for key, x in told.items()} == {
        f"{CURRICULUM}flat": [5, 5, 9],
        f"{CURRICULUM}box": [0, 1, 2, 2, 3, 3, 4, 4, 20],
    }


@pytest.mark.parametrize("worlds", [8, 16, 40])
def test_worlds_begin_where_others_were(worlds):
    families = (("flat", 1.0), ("box", 2.0), ("gap", 1.0))
    old = replace(SMALL, env=replace(SMALL.env, families=families[:2], levels=4))
    cfg = replace(old, worlds=worlds, env=replace(old.env, families=families))
    reached = {f"{CURRICULUM}flat": torch.tensor([4, 0]), f"{CURRICULUM}box": torch.tensor([1, 3])}
    trainer = cfg.build("cpu")
    networks = {k: x for k, x in trainer.state_dict().items() if k.startswith(NETWORKS)}
    model = SavedModel("tiny", 7, old, {**networks, **reached})
    assert start_from(model, trainer, cfg) == ["optimisers", "curriculum of gap"]
    env, quarter = trainer.env, worlds // 4
    told = {
        name: Counter(env.curriculum.frontier[env.family == k].tolist())
        for k, name in enumerate(env.families)
    }
    assert told["flat"] == {0: quarter // 2, 4: quarter // 2}
    assert told["box"] == {1: quarter, 3: quarter}
    assert told["gap"] == {0: quarter}
    env.reset()
    assert (env.curriculum.level <= env.curriculum.frontier).all()


# --- what has changed meanwhile -------------------------------------------------------------------
def test_a_rate_that_is_asked_for_is_taken_from_a_model_without_optimisers():
    """Otherwise it begins low, since a fresh Adam takes steps of full length."""
    model = read_model(MODELS / "teacher.safetensors")
    for lr, wanted in ((model.cfg.ppo.lr, model.cfg.ppo.lr_range[0]), (3e-4, 3e-4)):
        cfg = replace(model.cfg, worlds=8, engine="cpu", ppo=replace(model.cfg.ppo, lr=lr))
        trainer = cfg.build("cpu")
        assert "optimisers" in start_from(model, trainer, cfg)
        assert trainer.ppo.lr.item() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("change", "tensor", "how"),
    [
        ({"actor_hidden": (24,)}, "actor.mlp.net.layers.0.bias", r"\[\d+\] here, \[\d+\] in"),
        (
            {"actor_hidden": (16, 16)},
            "actor.mlp.net.layers.1.bias",
            "here, and not in the model",
        ),
        ({"critic_hidden": (8,)}, "critic.mlp.net.layers.0.bias", r"\[\d+\] here"),
    ],
)
def test_a_model_that_does_not_fit_is_told_by_its_first_tensor(change, tensor, how):
    trainer = SMALL.build("cpu")
    model = SavedModel("tiny", 0, SMALL, trainer.state_dict())
    other = replace(SMALL, policy=replace(SMALL.policy, **change))
    with pytest.raises(UserError, match=rf"does not fit: 'policy/{tensor}.*{how}") as error:
        start_from(model, other.build("cpu"), other)
    assert "\n" not in str(error.value)
    smaller = {k: x for k, x in trainer.learned().items() if "layers.0.bias" not in k}
    with pytest.raises(UserError, match=r"layers.0.bias' is .* in the model, and not here"):
        check_fit({k: x for k, x in smaller.items() if k.startswith(NETWORKS)}, model)


def test_its_own_config_is_the_default_but_for_its_goals():
    cfg = replace(SMALL, run=RunCfg(minutes=77.0, iterations=5), worlds=12)
    model = SavedModel("tiny", 0, cfg, {})
    name, default = config_from(model, None)
    assert name == "tiny"
    assert (default.run.minutes, default.run.iterations) == (12.0, None)
    assert replace(default, run=cfg.run) == cfg
    name, default = config_from(model, "teacher")
    assert name == "teacher"
    assert default.worlds == 6000


@pytest.mark.parametrize("file", sorted(MODELS.glob("*.safetensors")), ids=lambda file: file.stem)
def test_the_models_of_this_project_can_be_started_from(file):
    model = read_model(file)
    one = replace(model.cfg.env, levels=1, variants=1)
    cfg = replace(model.cfg, worlds=8, engine="cpu", env=one, ppo=replace(model.cfg.ppo, steps=2))
    trainer = cfg.build("cpu")
    anew = start_from(model, trainer, cfg)
    for key, x in trainer.learned().items():
        if key in model.tensors:
            assert torch.equal(x, model.tensors[key]), key
    assert ("optimisers" in anew) is not any(k.startswith(OPTIMISERS) for k in model.tensors)
    assert ("curriculum" in anew) is not model.curriculum
