"""Users' own courses, rewards and presets: every command takes them from the command line, and none
from a file."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch

from swap import registry
from swap.cli import main as cli
from swap.errors import UserError
from swap.runs import checkpoint, load, read_metrics, save_weights
from swap.runs.saved_model import read_model

CODE = """
from dataclasses import replace

from swap.courses import FAMILIES
from swap.presets import get_preset

with open({mark!r}, "a") as file:
    file.write(".")

HURDLE = replace(FAMILIES["box"], name="hurdle")
TINY = get_preset("tiny")
ENV = replace(TINY.env, families=(("flat", 0.5), ("mine.py:HURDLE", 0.5)), levels=2, variants=1)
QUICK = replace(TINY, worlds=4, env=ENV, ppo=replace(TINY.ppo, steps=4))


def calm(frame):
    "w^2: turning"
    return frame.ang_vel_b.square().sum(1)
"""
HERE = ("--device", "cpu", "--no-tensorboard", "--iterations", "1")
FEW = ("--worlds", "4", "--env.levels", "2", "--env.variants", "1", "--ppo.steps", "4")
SHORT = ("--trials", "1", "--points", "1", "--device", "cpu")
FAMILIES = ("--env.families", "flat", "0.5", "mine.py:HURDLE", "0.5")
TERMS = ("--env.rewards.terms", "mine.py:calm=-0.5")
ACTS = {
    "eval": ("--family", "flat", *SHORT),
    "play": ("--family", "flat", "--width", "64", "--fps", "10"),
    "gait": ("--speeds", "1", "--robots", "1", "--seconds", "2.1"),
    "check model": ("--steps", "2", "--family", "flat"),
    "keep": ("--out", "again.safetensors"),
}
"""Commands that act with a model, or copy it, and options that make them short."""


def swap(command, *words):
    return cli.dispatch([*command.split(), *map(str, words)])


@pytest.fixture
def here(tmp_path, monkeypatch, short_trials):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])  # even `mine:calm` could be found
    (tmp_path / "mine.py").write_text(CODE.format(mark=str(tmp_path / "ran")))
    yield tmp_path
    registry.forget()
    sys.modules.pop("mine", None)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run that names no code."""
    out = tmp_path_factory.mktemp("plain") / "run"
    assert swap("train", "--preset", "tiny", *FEW, *HERE, "--out", out) == 0
    return out


def ran():
    return Path("ran").exists()


def tampered(plain, change):
    """The run and a kept file of it, with a config that a stranger has changed."""
    run = Path(shutil.copytree(plain, "run"))
    found, model = load(run), read_model(run)
    config = json.loads(json.dumps(found.config))
    change(config)
    sums, more = (
        found.tensors["env/episode_metrics/terms"],
        config["cfg"]["env"]["rewards"]["terms"],
    )
    sums = torch.cat([sums, torch.zeros(len(more))])
    state = {**found.tensors, "env/episode_metrics/terms": sums}
    checkpoint.save(run, found.iteration, state, found.numbers, config)
    tensors = dict(model.tensors)
    for old, new in zip(model.cfg.env.families, config["cfg"]["env"]["families"], strict=True):
        if f"curriculum/{old[0]}" in tensors:  # four worlds have no flat one
            tensors[f"curriculum/{new[0]}"] = tensors.pop(f"curriculum/{old[0]}")
    card = {**config, "iteration": model.iteration, "figures": {}}
    save_weights(Path("kept.safetensors"), tensors, card)


def with_family(place):
    def change(config):
        config["cfg"]["env"]["families"][1][0] = f"{place}:HURDLE"

    return change


def with_term(place):
    def change(config):
        config["cfg"]["env"]["rewards"]["terms"] = [[f"{place}:calm", 0.5]]

    return change


def with_preset(place):
    return lambda config: config.update(preset=f"{place}:QUICK")


def with_all(place):
    def change(config):
        for part in (with_family, with_term, with_preset):
            part(place)(config)

    return change


placed = pytest.mark.parametrize("place", ["mine.py", "mine"])


# --- what a file names ---------------------------------------------------------------------------
@placed
@pytest.mark.parametrize("command", ACTS)
def test_what_a_model_names_is_not_run_and_the_robot_can_be_used(
    command, place, plain, here, capsys
):
    tampered(plain, with_all(place))
    source = "run" if command in ("keep", "gait") else "kept.safetensors"
    assert swap(command, source, *ACTS[command]) == 0
    assert not ran()
    shown = capsys.readouterr().out
    assert "running" not in shown
    assert "importing" not in shown
    if command == "keep":
        card = Path("again.json").read_text()  # names for people
        assert all(f"{place}:{name}" in card for name in ("HURDLE", "calm", "QUICK"))
    else:
        assert f"not run: {place}:calm, rewards of its training; none is needed here" in shown


@placed
@pytest.mark.parametrize("change", [with_family, with_term])
@pytest.mark.parametrize("command", ["train --resume", "train --from"])
def test_a_training_that_needs_code_says_what_to_type(
    command, change, place, plain, here, monkeypatch
):
    tampered(plain, change(place))
    words = ("kept.safetensors", "--out", "new") if "from" in command else ("run",)
    with monkeypatch.context() as patch:
        patch.setattr("swap.cli.train.work", lambda *args: pytest.fail("it was begun"))
        with pytest.raises(UserError, match="is code, and is not run: a file names it, not") as no:
            swap(command, *words, *HERE)
    assert not ran()
    assert not Path("new").exists()
    typed = str(no.value).partition("name it yourself: ")[2]
    assert f"{place}:" in typed
    assert swap(command, *words, *HERE, *typed.split()) == 0  # as it says
    assert ran()


@placed
@pytest.mark.parametrize("command", ["train --resume", "train --from"])
def test_a_training_needs_no_preset(command, place, plain, here):
    tampered(plain, with_preset(place))
    words = ("kept.safetensors", "--out", "new") if "from" in command else ("run",)
    assert swap(command, *words, *HERE) == 0
    assert not ran()


def test_without_an_option_eval_measures_what_is_known(plain, here, capsys):
    tampered(plain, with_family("mine.py"))
    assert swap("eval", "run", *SHORT, "--json", "told.json") == 0
    assert "left out: mine.py:HURDLE of its training" in capsys.readouterr().out
    families = {row["family"] for row in json.loads(Path("told.json").read_text())["rows"]}
    assert families == {"flat", "gap"}
    assert not ran()


def test_a_preset_of_the_users_does_not_make_a_models_robot_run(plain, here):
    """The user has named the preset, but the stored robot comes from the file."""
    Path("evil.py").write_text("open('evil', 'w')")

    def change(config):
        config["cfg"]["env"] |= {"robot": "evil.py", "robot_data": None}

    tampered(plain, change)
    with pytest.raises(UserError, match=r"the robot 'evil.py' is code, and is not run"):
        swap("train --from", "kept.safetensors", "--preset", "mine.py:QUICK", *HERE)
    assert not Path("evil").exists()


# --- what the user names -------------------------------------------------------------------------
def test_a_reward_of_ones_own(here, capsys):
    assert swap("rewards", "--term", "mine.py:calm") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("running mine.py\n")
    assert "w^2: turning" in shown
    for words in (TERMS, ("--env.rewards.terms", "headway", "1", "mine:calm", "-0.5")):
        out = Path(f"run{len(words)}")
        assert swap("train", "--preset", "tiny", *FEW, *HERE, *words, "--out", out) == 0
        told = read_metrics(out)[-1]
        assert told["reward/calm"] < 0
        assert "reward/foot_slip" not in told  # a term more, and tiny's others as they were
    assert load(Path("run2")).config["cfg"]["env"]["rewards"] == {
        "preset": "tiny",
        "terms": [["mine.py:calm", -0.5]],
        "only_positive": True,
    }
    assert swap("train --resume", "run2", *HERE, *TERMS) == 0
    assert "changed" not in capsys.readouterr().out


def test_a_reward_alone(here):
    only = ("--env.rewards.preset", "none", "--env.rewards.terms=mine.py:calm=0.5")
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *only, "--out", "run") == 0
    told = read_metrics(Path("run"))[-1]
    assert [k for k in told if k.startswith("reward/")] == ["reward/step", "reward/calm"]
    assert told["reward/step"] == pytest.approx(told["reward/calm"])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return frame.ang_vel_b", r"gives \[4, 3\] on cpu; give a tensor \[4\] on cpu"),
        ("return 1.0", r"gives float; give a tensor \[4\]"),
        ("return frame.no_such", "wrong.py, line 2: AttributeError: .*'no_such'"),
    ],
)
def test_a_reward_that_is_none_is_one_line(body, says, here):
    Path("wrong.py").write_text(f"def wrong(frame):\n    {body}\n")
    words = ("--env.rewards.terms", "wrong.py:wrong=1")
    with pytest.raises(UserError, match=f"wrong in 'wrong.py'.*{says}"):
        swap("train", "--preset", "tiny", *FEW, *HERE, *words, "--out", "run")
    # Mended, the same command can be given again.
    assert not Path("run").exists()
    Path("wrong.py").write_text("def wrong(frame):\n    return frame.lin_vel_b[:, 0]\n")
    registry.forget()
    sys.modules.pop("wrong", None)
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *words, "--out", "run") == 0


def test_a_course_of_ones_own_in_every_command(here, capsys):
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *FAMILIES, "--out", "run") == 0
    assert "frontier/hurdle" in read_metrics(Path("run"))[-1]
    mine = ("--family", "mine.py:HURDLE")
    assert swap("courses", *mine) == 0
    assert swap("eval", "run", *SHORT, *mine, "--json", "told.json") == 0
    assert json.loads(Path("told.json").read_text())["rows"][0]["family"] == "hurdle"
    assert swap("play", "run", *mine, "--width", "64", "--fps", "10") == 0
    assert "hurdle 0.14 m: " in capsys.readouterr().out
    assert swap("check model", "run", *mine, "--steps", "2") == 0
    assert swap("curves", "run", "--families", "mine.py:HURDLE") == 0
    assert swap("curves", "--eval", "told.json", "--families", "mine.py:HURDLE") == 0
    assert "hurdle" in capsys.readouterr().out
    assert swap("keep", "run", "--out", "kept.safetensors") == 0
    assert "curriculum/mine.py:HURDLE" in read_model(Path("kept.safetensors")).tensors
    assert swap("train --from", "kept.safetensors", *HERE, *FAMILIES, "--out", "new") == 0
    assert "begins anew: optimisers\n" in capsys.readouterr().out  # the curriculum goes on


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("WRONG = replace(HURDLE, name='box')", "is called 'box', as another course family"),
        ("WRONG = replace(HURDLE, name='a b')", "use a name of letters, digits and _"),
        ("WRONG = replace(HURDLE, name='w', build=lambda d, rng: 3)", "return an Obstacle"),
        ("WRONG = replace(HURDLE, name='w', build=lambda d, rng: d / 0)", "ZeroDivisionError"),
        ("WRONG = HURDLE.size", "is a SizeRange; make it a swap.courses.CourseFamily"),
    ],
)
def test_a_course_that_is_none_is_one_line(line, says, here):
    with Path("mine.py").open("a") as file:
        file.write(line)
    with pytest.raises(UserError, match=says):
        swap("courses", "--family", "mine.py:WRONG")


def test_a_preset_of_ones_own_in_every_command(here, capsys):
    """What it names is run, too."""
    assert swap("train", "--preset", "mine.py:QUICK", *HERE) == 0
    assert capsys.readouterr().out.startswith("running mine.py\nmine.py:QUICK on cpu: ")
    (run,) = Path("out/train").iterdir()
    assert run.name.startswith("QUICK-2")
    assert load(run).config["preset"] == "mine.py:QUICK"
    assert swap("check model", "--preset", "mine.py:QUICK", "--steps", "2", "--family", "flat") == 0
    words = ("--iterations", "1", "--warm-up", "0", "--device", "cpu", "--worlds", "2")
    assert swap("bench train", "--preset", "mine.py:QUICK", *words) == 0
    again = ("train --resume", run, "--device", "cpu", "--iterations", "1")
    with pytest.raises(UserError, match=r"mine.py:HURDLE") as no:
        swap(*again)
    assert "--env.families flat 0.5 mine.py:HURDLE 0.5" in str(no.value)
    assert swap(*again, "--preset", "mine.py:QUICK") == 0  # the same words, by the user
    assert load(run).iteration == 2


def test_a_run_that_is_stopped_says_all_that_must_be_typed_again(here):
    from swap.presets import get_preset
    from swap.presets.user_code import preset_from_user, typed_again

    assert typed_again("tiny", get_preset("tiny")) == ""
    cfg = preset_from_user("mine.py:QUICK")
    assert typed_again("mine.py:QUICK", cfg) == " --env.families flat 0.5 mine.py:HURDLE 0.5"


def test_pairs_may_be_typed_with_equals_signs():
    from swap.cli.train_argv import split_pairs

    def split(line):
        return " ".join(split_pairs(line.split()))

    assert split("--env.rewards.terms a=1 m.py:b=-2e-6 --out x=y") == (
        "--env.rewards.terms a 1 m.py:b -2e-6 --out x=y"
    )
    assert split("--env.families=box=0.5 gap 1") == "--env.families box 0.5 gap 1"
    assert split_pairs(["--out", "", "--env.families", "box", "1"])[1] == ""
    assert split("--seed=3 a=b") == "--seed=3 a=b"
