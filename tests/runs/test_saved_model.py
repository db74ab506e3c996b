"""Models by name, from wherever they lie."""

from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.cli.train import parse
from swap.errors import UserError
from swap.runs import saved_model as models
from swap.runs.saved_model import find_model, read_model
from swap.runs.trained_robot import load_trained

ROOT = Path(__file__).parents[2]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The three places, empty."""
    folders = Path("models"), tmp_path / "source" / "models", tmp_path / "data/share/swap/models"
    monkeypatch.setattr(models, "__file__", str(tmp_path / "source/src/swap/runs/saved_model.py"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def test_a_name_is_looked_up_here_then_in_the_source_then_where_it_was_installed(places):
    for folder in reversed(places):
        (folder / "good.safetensors").touch()
        assert find_model(Path("good")) == folder / "good.safetensors"
    assert find_model(Path("good.safetensors")) == Path("models/good.safetensors")


def test_what_is_there_is_no_name(places):
    (places[1] / "good.safetensors").touch()
    Path("good").mkdir()  # a folder without a run, say of the source, does not stand in the way
    assert find_model(Path("good")) == places[1] / "good.safetensors"
    Path("good/checkpoints").mkdir()
    assert find_model(Path("good")) == Path("good")
    Path("good.safetensors").write_bytes(b"weights")
    assert find_model(Path("good.safetensors")) == Path("good.safetensors")
    Path("run.safetensors/checkpoints").mkdir(parents=True)  # a run may be named as it likes
    assert find_model(Path("run.safetensors")) == Path("run.safetensors")


def test_an_unknown_name_is_one_line_with_all_that_are_known(places):
    for folder, name in zip(places, "cab", strict=True):
        (folder / f"{name}.safetensors").touch()
    commands = "play", "eval", "check model", "keep --out x", "train --from"
    for words in map(str.split, commands):
        with pytest.raises(UserError, match=r"no run or model 'nobody'; .*: a, b, c$") as error:
            cli.dispatch([*words, "nobody"])
        assert "\n" not in str(error.value)


def test_the_models_of_this_project_have_names_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in (ROOT / "models").glob("*.safetensors"):
        assert find_model(Path(file.stem)) == file
    assert load_trained(Path("teacher")).name == "teacher"
    plan = parse(["--from", "teacher", "--device", "cpu"])
    assert plan.origin == "teacher"
    assert plan.model.iteration == load_trained(ROOT / "models/teacher.safetensors").iteration


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("god", "no run or model 'god'; .*: good; did you mean good\\?"),
        ("models/good", "no run or model 'models/good'; .*did you mean models/good.safetensors\\?"),
        ("models/good.json", "is no model; .*did you mean models/good.safetensors\\?"),
        ("models/god.safetensors", "no run or model.*did you mean models/good.safetensors\\?"),
        ("models", "no checkpoint in 'models'; .*did you mean models/good.safetensors\\?"),
        ("out", "no checkpoint in 'out'; .*did you mean out/first\\?"),
        ("out/frst", "no run or model.*did you mean out/first\\?"),
        ("out/first/metrics.jsonl", "is no model; .*did you mean out/first\\?"),
        ("out/empty", "no checkpoint in 'out/empty'; name the folder of a run$"),
        ("folder.safetensors", "folder.safetensors is a folder, not a plain file, and holds no "),
        ("", "no checkpoint in '.'; "),
    ],
)
def test_a_wrong_path_is_one_line_with_what_is_there(wrong, told, places):
    for name in ("good.safetensors", "good.json"):
        Path("models", name).write_text("x")
    for folder in ("out/first/checkpoints", "out/empty", "folder.safetensors"):
        Path(folder).mkdir(parents=True)
    Path("out/first/metrics.jsonl").touch()
    with pytest.raises(UserError, match=told) as error:
        find_model(Path(wrong))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("nope", "no checkpoint in 'nope'; name the folder of a run$"),
        ("out/frst", "no checkpoint in 'out/frst'; .*did you mean out/first\\?"),
        ("out/first/metrics.jsonl", "no checkpoint in .*did you mean out/first\\?"),
        ("out/first/checkpoints", "no checkpoint in .*did you mean out/first\\?"),
        ("good", "'good' is a model: a new run can begin with it, swap train --from good$"),
        ("models/good.safetensors", "begin with it, swap train --from models/good.safetensors$"),
    ],
)
def test_a_run_to_resume_that_is_none_is_one_line_with_what_is_there(wrong, told, places):
    Path("models/good.safetensors").touch()
    Path("out/first/checkpoints").mkdir(parents=True)
    Path("out/first/metrics.jsonl").touch()
    with pytest.raises(UserError, match=told) as error:
        parse(["--resume", wrong])
    assert "\n" not in str(error.value)


def test_a_file_that_is_empty_is_told(tmp_path):
    file = tmp_path / "nothing.safetensors"
    file.touch()
    file.with_suffix(".json").write_bytes((ROOT / "models" / "teacher.json").read_bytes())
    with pytest.raises(UserError, match=r"nothing\.safetensors has 0 bytes instead of [0-9]+"):
        read_model(file)
