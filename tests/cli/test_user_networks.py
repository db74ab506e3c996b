"""Users' own networks: named on the command line to train and to act, never run because a file
names them."""

import json
import sys
from pathlib import Path

import pytest

import swap as swap_library
import tiny_swap
from swap import registry
from swap.cli import main as cli
from swap.errors import UserError
from swap.runs import checkpoint, load, save_weights
from swap.runs.saved_model import read_model

CODE = """
import torch
from torch import nn

from swap.nn import MLP, Linear
from swap.symmetry import regular

with open({mark!r}, "a") as file:
    file.write(".")


class Straight(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.deep = MLP(spec.rep_in, (16,), spec.rep_out, out_gain=spec.out_gain)
        self.way = Linear(spec.rep_in, spec.rep_out, gain=spec.out_gain)

    def forward(self, x):
        return self.deep(x) + self.way(x)


class Dense(nn.Linear):
    def __init__(self, spec):
        super().__init__(spec.rep_in.dim, spec.rep_out.dim)


class TwoViews(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.prop, self.rep = spec.prop, regular(8)
        self.net = nn.Linear(spec.image[0] * spec.image[1] + spec.prop.dim, 8)

    def view(self, depth, prop):
        return self.net(torch.cat([depth.flatten(-2), prop], -1))

    def forward(self, depth, prop):
        return torch.cat([self.view(depth, prop), self.view(depth.flip(-1), self.prop(prop))], -1)
"""
HERE = ("--device", "cpu", "--no-tensorboard", "--iterations", "1")
FEW = ("--worlds", "4", "--env.levels", "2", "--env.variants", "1", "--ppo.steps", "4")
ACTOR, CRITIC = ("--policy.actor", "nets.py:Straight"), ("--policy.critic", "nets.py:Straight")
ACTS = {
    "eval": ("--family", "flat", "--trials", "1", "--points", "1", "--device", "cpu"),
    "play": ("--family", "flat", "--width", "64", "--fps", "10"),
    "gait": ("--speeds", "1", "--robots", "1", "--seconds", "2.1"),
    "check model": ("--steps", "2", "--family", "flat"),
    "record": ("--trials", "1", "--device", "cpu"),
    "view": ("--bench", "0.1"),
}


def swap(command, *words):
    return cli.dispatch([*command.split(), *map(str, words)])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "nets.py").write_text(CODE.format(mark=str(tmp_path / "ran")))
    yield tmp_path
    registry.forget()
    sys.modules.pop("nets", None)


@pytest.fixture
def run(here):
    """A run whose actor and critic are from the file; the mark that it ran is removed."""
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *ACTOR, *CRITIC, "--out", "run") == 0
    Path("ran").unlink()
    return Path("run")


def test_an_actor_and_a_critic_of_ones_own(run, capsys):
    names = read_model(run).tensors
    for part in ("actor", "critic"):
        own = {name.split(".")[3] for name in names if name.startswith(f"policy/{part}.mlp.net.")}
        assert own == {"deep", "way"}
    assert swap("train --resume", run, *HERE, *ACTOR, *CRITIC) == 0
    assert swap("keep", run, "--out", "kept.safetensors") == 0
    assert swap("check model", "kept.safetensors", *ACTS["check model"], *ACTOR, *CRITIC) == 0
    assert "all of it claims to be equivariant, and is" in capsys.readouterr().out
    assert swap("train --from", "kept.safetensors", *HERE, *ACTOR, *CRITIC, "--out", "new") == 0
    Path("moved").mkdir()
    Path("nets.py").rename("moved/nets.py")
    moved = ("--policy.actor", "moved/nets.py:Straight", "--policy.critic", "moved.nets:Straight")
    assert swap("eval", "kept.safetensors", *ACTS["eval"], *moved) == 0


def test_every_command_that_acts_takes_them_and_so_does_python(run):
    for command, words in ACTS.items():
        registry.forget()
        out = ("--out", "film.gif") if command == "play" else ()
        assert swap(command, run, *words, *ACTOR, *CRITIC, *out) == 0
    registry.forget()
    with pytest.raises(UserError, match=r"is code, and is not run"):
        swap_library.load("run")
    robot = swap_library.load("run", actor="nets.py:Straight", critic="nets.py:Straight")
    assert robot.cfg.policy.actor == "nets.py:Straight"


@pytest.mark.parametrize("command", [*ACTS, "train --resume", "train --from"])
def test_what_a_model_names_is_not_run(command, run, capsys):
    """The robot cannot act without them; the error says all that is to be typed."""
    capsys.readouterr()
    words = ACTS.get(command, HERE)
    with pytest.raises(UserError) as error:
        swap(command, run, *words)
    assert str(error.value) == (
        "the network 'nets.py:Straight' is code, and is not run: a file names it, not you; if you "
        "trust it, name it yourself: --policy.actor nets.py:Straight --policy.critic "
        "nets.py:Straight"
    )
    assert not Path("ran").exists()
    assert capsys.readouterr().out == ""


def test_a_module_that_a_card_names_is_not_imported(run):
    found, model = load(run), read_model(run)
    config = json.loads(json.dumps(found.config).replace("nets.py:Straight", "nets:Straight"))
    checkpoint.save(run, found.iteration, found.tensors, found.numbers, config)
    card = {**config, "iteration": model.iteration, "figures": {}}
    save_weights(Path("kept.safetensors"), model.tensors, card)
    for command, source in (("eval", "kept.safetensors"), ("eval", run), ("train --resume", run)):
        with pytest.raises(UserError, match="the network 'nets:Straight' is code, and is not run"):
            swap(command, source)
    assert swap("keep", run, "--out", "again.safetensors") == 0  # a copy needs no network
    assert "nets" not in sys.modules
    assert not Path("ran").exists()


def test_a_network_that_breaks_the_mirror_is_told_before_training(here, capsys):
    dense = ("--policy.actor", "nets.py:Dense")
    with pytest.raises(UserError, match=r"Dense in 'nets.py' breaks the mirror: .*off by \d"):
        swap("train", "--preset", "tiny", *FEW, *HERE, *dense, "--out", "run")
    plain = ("--policy.no-equivariant", "--out", "plain")
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *dense, *plain) == 0


def test_an_encoder_of_ones_own(here):
    encoder = ("--model.net.encoder", "nets.py:TwoViews")
    preset = f"{tiny_swap.__file__}:CFG"
    assert swap("train", "--preset", preset, *HERE, *encoder, "--out", "run") == 0
    assert any("model/encoder.net." in name for name in read_model(Path("run")).tensors)
    with pytest.raises(UserError, match=r"the encoder 'nets.py:TwoViews' is code, and is not run"):
        swap("eval", "run", *ACTS["eval"])
    assert swap("check model", "run", *ACTS["check model"], *encoder) == 0
    few = ("--trials", "1", "--seconds", "0.2", "--device", "cpu")
    assert swap("reconstruct", "run", *few, *encoder) == 0
    with pytest.raises(UserError, match=r"no world model; omit --model.net.encoder"):
        swap("eval", "teacher", *ACTS["eval"], *encoder)
