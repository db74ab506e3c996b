"""A model holds its robot as data: files that it names are never run and need not exist."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.errors import UserError
from swap.robots import load
from swap.runs import checkpoint, load_weights, save_weights, to_json
from swap.runs.saved_model import read_model

DOC = Path(__file__).parents[2] / "docs" / "your-robot.md"
FEW = ("--worlds", "4", "--env.levels", "2", "--env.variants", "1", "--ppo.steps", "4")
HERE = ("--device", "cpu", "--no-tensorboard", "--iterations", "1")
FAST = {
    "eval": ("--family", "flat", "--trials", "1", "--points", "1", "--device", "cpu"),
    "play": ("--family", "flat", "--width", "64", "--fps", "10"),
    "gait": ("--speeds", "1", "--robots", "1", "--seconds", "2.1"),
    "record": ("--trials", "1", "--device", "cpu"),
    "check model": ("--steps", "2", "--family", "flat"),
    "keep": ("--out", "again.safetensors"),
    "train --resume": ("--device", "cpu", "--iterations", "1"),
    "train --from": HERE,
}
"""Every command that reads a model, and options that make it short."""


def swap(command, *words):
    return cli.dispatch([*command.split(), *map(str, words)])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dog(here):
    """The robot of docs/your-robot.md, whose file leaves a mark whenever it is run."""
    found = re.search(r"```python\n(.*?)```", DOC.read_text(), re.S)
    mark = f"with open({str(here / 'ran')!r}, 'a') as file:\n    file.write('.')\n"
    (here / "dog.py").write_text(mark + found[1])
    return here / "dog.py"


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory):
    return made(tmp_path_factory.mktemp("once") / "run")


@pytest.fixture
def folder(here, trained_once):
    return Path(shutil.copytree(trained_once, "run"))


def made(out, *words):
    assert swap("train", "--preset", "tiny", *FEW, *HERE, *words, "--out", out) == 0
    return Path(out)


def renamed(config, file, **env):
    """A stranger's config: it names a robot file."""
    config = json.loads(json.dumps(config))
    config["cfg"]["env"] |= {"robot": str(file), **env}
    return config


def tampered(folder, file, **env):
    """The run and a kept file of it, both of which name `file` as their robot."""
    found, model = checkpoint.load(folder), read_model(folder)
    config = renamed(found.config, file, **env)
    checkpoint.save(folder, found.iteration, found.tensors, found.numbers, config)
    card = {**config, "iteration": model.iteration, "figures": {}}
    save_weights(Path("kept.safetensors"), model.tensors, card)
    return {"train --resume": folder}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("command", FAST)
def test_what_a_model_names_is_not_run(command, whole, folder, dog, capsys):
    """Neither by models that hold their robot nor by older ones, which are refused."""
    data = {"robot_data": to_json(load("apollo"))} if whole else {"robot_data": None}
    source = tampered(folder, dog, **data).get(command, "kept.safetensors")
    words = FAST[command]
    if whole and command == "record":  # would search for a while
        words = ("--trials", "0", "--device", "cpu")
    try:
        code, told = swap(command, source, *words), ""
    except UserError as error:
        code, told = 2, str(error)
    assert not Path("ran").exists()
    assert "running" not in capsys.readouterr().out
    assert "\n" not in told
    if not whole:
        assert f"the robot '{dog}' is code, and is not run" in told
        assert "name it yourself" in told
        assert not any(Path(out).exists() for out in ("again.safetensors", "play.mp4"))
    elif command == "record":
        assert told.startswith("--trials 0; use 1 or more")
    else:
        assert code == 0 or command == "check model"


def test_a_model_of_before_whose_file_the_user_names(folder, dog, capsys):
    tampered(folder, dog, robot_data=None)
    capsys.readouterr()
    assert swap("keep", "kept.safetensors", "--robot", dog, "--out", "dog.safetensors") == 0
    assert f"running {dog}\n" in capsys.readouterr().out
    assert Path("ran").read_text() == "."
    assert read_model(Path("dog.safetensors")).cfg.env.robot_data.name == "dog"
    assert swap("train --resume", folder, "--env.robot", dog, "--iterations", "1") == 0
    assert f"running {dog}\n" in capsys.readouterr().out
    assert Path("ran").read_text() == ".."


def test_a_robot_of_ones_own_needs_its_file_once(dog, capsys):
    run = made("run", "--env.robot", "dog.py")
    assert capsys.readouterr().out.startswith("running dog.py\n")
    assert swap("keep", run, "--out", "dog.safetensors") == 0
    dog.unlink()
    assert swap("play", "dog.safetensors", *FAST["play"]) == 0
    assert Path("play.mp4").stat().st_size > 0
    assert swap("eval", run, *FAST["eval"]) == 0
    assert swap("train --resume", run, *HERE) == 0
    assert swap("train --from", "dog.safetensors", *HERE, "--out", "more") == 0
    assert "running" not in capsys.readouterr().out
    assert Path("ran").read_text() == "."
    for model in (run, Path("dog.safetensors"), Path("more")):
        robot = read_model(model).cfg.env.robot_data
        assert (robot.name, robot.kp, robot.mass) == ("dog", 60.0, pytest.approx(12 + 4 * 3.2))


@pytest.mark.parametrize("command", ["train --resume", "train --from"])
def test_edited_gains_are_told_and_used_only_if_named(command, dog, capsys):
    run = made("run", "--env.robot", "dog.py")
    dog.write_text(dog.read_text().replace("kp=60.0", "kp=30000").replace("thigh=0.25", "thigh=.3"))
    out = ("--out", "more") if "from" in command else ()
    capsys.readouterr()
    assert swap(command, run, *HERE, *out) == 0
    shown = capsys.readouterr().out
    assert "changed: " not in shown
    line = "the stored robot goes on, dog.py is not read; --env.robot dog.py takes it as it is\n"
    assert shown.count(line) == 1
    result = Path("more") if out else run
    assert read_model(result).cfg.env.robot_data.kp == 60.0
    out = ("--out", "third") if out else ()
    assert swap(command, run, *HERE, *out, "--env.robot", "dog.py") == 0
    shown = capsys.readouterr().out.splitlines()
    assert line.strip() not in shown
    told = [line for line in shown if line.startswith("changed: ")]
    legs = [f"changed: robot.legs[{i}].thigh 0.25 -> 0.3" for i in range(4)]
    assert told == [*legs, "changed: robot.kp 60.0 -> 30000.0"]
    assert read_model(Path("third") if out else run).cfg.env.robot_data.kp == 30000.0


@pytest.mark.parametrize("command", ["train --resume", "train --from"])
def test_a_built_in_robot_that_has_changed_since_is_told(command, folder, monkeypatch, capsys):
    from swap.robots import apollo

    old = apollo.ROBOT
    monkeypatch.setattr(apollo, "ROBOT", replace(old, kp=2 * old.kp))
    out = ("--out", "more") if "from" in command else ()
    capsys.readouterr()
    assert swap(command, folder, *HERE, *out) == 0
    shown = capsys.readouterr().out
    assert f"changed: robot.kp {old.kp} -> {2 * old.kp}\n" in shown
    assert "the stored robot goes on; --env.robot apollo takes the changed one\n" in shown
    assert read_model(Path("more") if out else folder).cfg.env.robot_data == old
    out = ("--out", "third") if out else ()
    assert swap(command, folder, *HERE, *out, "--env.robot", "apollo") == 0
    assert "the stored robot goes on" not in capsys.readouterr().out
    assert read_model(Path("third") if out else folder).cfg.env.robot_data == apollo.ROBOT


def test_with_another_preset_the_robot_stays_the_models(folder, dog):
    tampered(folder, "dog.py", robot_data=to_json(replace(load("go2"), name="dog")))
    swap("train --from", "kept.safetensors", "--preset", "tiny", *FEW, *HERE, "--out", "more")
    env = read_model(Path("more")).cfg.env
    assert (env.robot, env.robot_data.name) == ("dog.py", "dog")
    assert not Path("ran").exists()


def spoiled(change):
    data = to_json(load("go2"))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r["trunk"].update(mass=-1.0), "give mass and box greater than zero"),
        (lambda r: r["legs"][0]["links"][1].update(mass=-1.0), "'FL_hip' has mass -1.0"),
        (lambda r: r["legs"].pop(), "has no mirror image 'RR_abad'"),
        (lambda r: r.update(legs=[]), "has 0 legs; give four"),
        (lambda r: r.update(wings=2), "unknown env.robot_data key 'wings'"),
        (lambda r: r.pop("kp"), "config key 'env.robot_data.kp' is missing"),
        (lambda r: r.update(kp="300"), "config key 'env.robot_data.kp' must be float"),
        (lambda r: r.update(kp=10**400), "env.robot_data.kp"),
        (lambda r: r.update(note=["\x1b[31m"]), "env.robot_data.note' must be str"),
        (lambda r: r.update(name="\x1b[2Jdog", kp=-1.0), "kp=-1.0; give a number"),
        (lambda r: r["trunk_shapes"][0].update(radius=-0.1), "trunk shape with radius -0.1"),
        (lambda r: r["legs"][1].update(thigh=9.0), "legs 'FL' and 'FR' differ in thigh"),
        (lambda r: r["legs"][3].update(name="XX"), "has no mirror image 'RR_abad'"),
        (lambda r: [leg.update(joints=[]) for leg in r["legs"]], "leg 'FL' has joints none"),
        (lambda r: r.update(sides=[["", ""]]), "leg 'FL' is its own mirror image; let sides="),
        (lambda r: r["camera"].update(pos=[0.0, 1.0, 0.0]), "mirrored depth needs it on the midpl"),
        (lambda r: r.update(sides=[["FL", 3]]), r"env.robot_data.sides\[0\]\[1\]' must be str"),
    ],
)
def test_robot_data_that_is_no_robot_is_one_line(change, says, folder):
    tampered(folder, "dog.py", robot_data=spoiled(change))
    for command in ("eval", "train --resume"):
        source = folder if "resume" in command else "kept.safetensors"
        with pytest.raises(UserError, match=says) as error:
            swap(command, source)
        assert str(error.value).isprintable()


def test_the_card_holds_the_robot(folder):
    assert swap("keep", folder, "--out", "kept.safetensors") == 0
    _, card = load_weights(Path("kept.safetensors"))
    assert card["cfg"]["env"]["robot_data"] == to_json(load("apollo"))
    config = checkpoint.load(folder).config
    assert config["cfg"]["env"]["robot_data"] == to_json(load("apollo"))
