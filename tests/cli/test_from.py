"""`swap train --from` from a user's point of view."""

import pytest

from swap.cli import main as cli
from swap.cli.train import parse
from swap.errors import UserError
from swap.presets.table import get_preset
from swap.runs import load
from swap.runs.stored_robot import with_robot
from toy_run import TOY

FEW = ("--worlds", "8", "--env.levels", "2", "--env.variants", "1", "--ppo.steps", "4")
HERE = ("--device", "cpu", "--no-tensorboard", "--iterations", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "first"
    assert cli.dispatch(["train", "--preset", "tiny", *FEW, *HERE, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def kept(folder):
    file = folder.with_name("kept.safetensors")
    assert cli.dispatch(["keep", str(folder), "--out", str(file)]) == 0
    return file


def test_a_run_kept_started_from_and_resumed(kept, capsys):
    out = kept.with_name("second")
    words = ["train", "--from", str(kept), "--worlds", "12", "--ppo.lr", "5e-4", *HERE]
    assert cli.dispatch([*words, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert f"tiny on cpu: from {kept} (iteration 2), seed 0, into {out}" in shown
    assert "changed: worlds 8 -> 12" in shown
    assert "changed: ppo.lr 0.001 -> 0.0005" in shown
    assert shown.count("changed: ") == 2  # how long it takes is no change
    assert f"not kept in {kept}, begins anew: optimisers" in shown
    assert "done: 2 iterations, 96 steps" in shown
    assert load(out).config["from"] == str(kept)

    assert cli.dispatch(["train", "--resume", str(out), "--iterations", "1"]) == 0
    shown = capsys.readouterr().out
    assert "from iteration 2" in shown
    assert str(kept) not in shown
    config = load(out).config
    assert config["from"] == str(kept)
    assert config["cfg"]["worlds"] == 12


def test_from_a_folder_nothing_begins_anew(folder, capsys):
    out = folder.with_name("third")
    assert cli.dispatch(["train", f"--from={folder}", *HERE, "--out", str(out)]) == 0
    assert "anew" not in capsys.readouterr().out


def test_whose_config_and_whose_goal(kept):
    device = ("--device", "cpu", "--from", str(kept))
    own = parse([*device])
    assert own.preset == "tiny"
    assert own.cfg.worlds == 8
    assert own.cfg.run == get_preset("tiny").run  # the model's run had iterations for a goal
    assert parse([*device, "--iterations", "9"]).cfg.run.minutes is None
    assert parse([*device, "--minutes", "3"]).cfg.run.minutes == 3.0
    named = parse([*device, "--preset", "teacher"])
    assert named.cfg == with_robot(get_preset("teacher"))
    assert named.preset == "teacher"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--policy.actor-hidden", "8"], "the model does not fit: 'policy/actor"),
        (["--preset", TOY], "this preset trains no robot; --from needs one that does"),
        (["--resume", "x"], "--from starts a new run, --resume goes on with one"),
        (["--preset", "tniy"], "unknown preset 'tniy'; did you mean 'tiny'"),
    ],
)
def test_a_mistake_is_one_line(kept, words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        cli.dispatch(["train", "--from", str(kept), "--device", "cpu", *words])
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()  # nothing was begun


def test_what_is_no_robot_is_refused(tmp_path):
    toy = tmp_path / "toy"
    assert cli.dispatch(["train", "--preset", TOY, *HERE, "--out", str(toy)]) == 0
    for named, says in (
        ([], "has a config of a class of its own, by the preset .* which is not run"),
        (["--preset", TOY], "holds no trained robot"),
    ):
        with pytest.raises(UserError, match=says):
            cli.dispatch(["train", "--from", str(toy), "--device", "cpu", *named])
