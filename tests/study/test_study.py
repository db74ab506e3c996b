"""Study files: what is read, what is refused, and the three that ship."""

import re
import shlex
from pathlib import Path

import pytest

from small_study import written
from swap.cli import main as cli
from swap.errors import UserError
from swap.presets import PRESETS
from swap.study.study import Run, Study, check_same, read_study

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
GOOD = {
    "seeds": [0, 2],
    "steps": 1e6,
    "train": "--worlds 8",
    "arms": {"a": "--preset tiny", "b-2": "--preset tiny --ppo.epochs 3"},
    "measure": {"boxes": "eval --family box --sizes 0.2"},
    "reach": {"box": [0.1]},
    "film": {"up": "--family box --size 0.2"},
}


def read(tmp_path, **changes) -> Study:
    data = {k: x for k, x in {**GOOD, **changes}.items() if x is not None}
    return read_study(written(tmp_path / "mine.toml", data))


def test_a_study_is_what_its_file_says(tmp_path):
    study = read(tmp_path)
    assert (study.name, study.seeds, study.steps) == ("mine", (0, 2), 1e6)
    assert [run.name for run in study.runs] == ["a-0", "b-2-0", "a-2", "b-2-2"]
    words = shlex.split("--preset tiny --ppo.epochs 3 --worlds 8 --seed 2")
    assert study.options(Run("b-2", 2)) == words
    (tmp_path / "again.toml").write_text(study.as_toml())
    again = read_study(tmp_path / "again.toml")
    assert {**vars(again), "name": "mine"} == vars(study)


def test_an_arm_goes_before_the_options_of_all_arms(tmp_path):
    arms = {"a": "--preset tiny", "b": "--preset tiny --worlds=4 --policy.actor-hidden 8 8"}
    common = "--policy.actor-hidden 32 16 --ppo.std-decay 1 1 --worlds 8"
    study = read(tmp_path, arms=arms, train=common)
    assert study.train_words("a") == shlex.split(f"--preset tiny {common}")
    assert study.train_words("b") == shlex.split(f"{arms['b']} --ppo.std-decay 1 1")


def test_a_run_can_begin_with_the_robot_of_its_seed(tmp_path):
    arms = {"a": "--from models/a-{seed}.safetensors --preset tiny"}
    study = read(tmp_path, arms=arms, train=None)
    for seed in study.seeds:
        words = shlex.split(f"--from models/a-{seed}.safetensors --preset tiny --seed {seed}")
        assert study.options(Run("a", seed)) == words
    (tmp_path / "again.toml").write_text(study.as_toml())
    assert read_study(tmp_path / "again.toml").arms == study.arms  # as it was typed


def test_only_what_must_be_said_has_to_be(tmp_path):
    study = read(tmp_path, train=None, measure=None, reach=None, film=None)
    assert (study.train, study.measure, study.reach) == ((), {}, {})
    (tmp_path / "again.toml").write_text(study.as_toml())
    assert read_study(tmp_path / "again.toml").arms == study.arms


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seeds": []}, "list some, each once"),
        ({"seeds": [1, 1]}, "list some, each once"),
        ({"seeds": [-1]}, "from 0 on"),
        ({"seeds": [0.5]}, "is no whole number"),
        ({"seeds": None}, "says nothing of seeds"),
        ({"steps": 0}, "give the control steps"),
        ({"steps": True}, "is of no use; "),
        ({"steps": "many"}, "is of no use; "),
        ({"arms": {}}, r"no \[arms\]"),
        ({"arms": {"a/b": "--preset tiny"}}, "is no file name"),
        ({"arms": {"a": 3}}, "type options in quotation marks"),
        ({"arms": {"a": "--preset tiny --seed 3"}}, "a has --seed, which the study sets"),
        ({"arms": {"a": "--preset tiny --out=/etc"}}, "a has --out, which the study sets"),
        ({"train": "--minutes 3"}, "train has --minutes, which the study sets"),
        ({"reach": {"box": 0.1}}, r"reach 0.1 is no list; write e.g. box = \[0.2, 0.4\]"),
        ({"measure": {"x": "eval --json y"}}, "x has --json, which the study sets"),
        ({"measure": {"x": "play --family box"}}, "unknown measurement 'play'"),
        ({"measure": {"x": ""}}, "unknown measurement"),
        ({"film": {"x": "--still y"}}, "x has --still, which the study sets"),
        ({"sed": [1]}, "unknown key of study 'mine' 'sed'; did you mean 'seeds'"),
    ],
)
def test_mistakes_are_told_in_one_line(changes, says, tmp_path):
    with pytest.raises(UserError, match=says) as error:
        read(tmp_path, **changes)
    assert "\n" not in str(error.value)


def test_files_that_are_none_are_told_in_one_line(tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"seeds = [\xff")
    for path in (bad, tmp_path / "none.toml"):
        with pytest.raises(UserError, match=r"cannot read|no study file"):
            read_study(path)
    with pytest.raises(UserError, match="unknown study 'mirored'; did you mean 'mirrored'"):
        read_study(Path("mirored"))


@pytest.mark.parametrize("file", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda file: file.stem)
def test_those_in_experiments_can_be_run(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, first = file.read_text(), r"--from (out/\S+)\{seed\}.safetensors "
    if found := re.search(first, text):  # after another study
        with pytest.raises(UserError, match=f"no run or model '{found[1]}0.safetensors'"):
            cli.dispatch(["study", str(file), "--print"])
        file = tmp_path / file.name
        file.write_text(re.sub(first, "", text))
    assert cli.dispatch(["study", str(file), "--print", "--out", str(tmp_path / "s")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(read_study(file).runs) + 1


def test_a_study_may_speak_of_anything(tmp_path):
    study = read(tmp_path, about='a \u72ac, a \U0001f415 and a "quote"')
    (tmp_path / "again.toml").write_text(study.as_toml())
    assert read_study(tmp_path / "again.toml").about == study.about


def test_courses_of_several_obstacles_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"lane in .measure. has --course; a study measures --fam"):
        read(tmp_path, measure={"lane": "eval --course lane.toml"})


def test_a_study_may_grow_but_not_change(tmp_path):
    old = read(tmp_path)
    more = {
        "seeds": [0, 2, 3],
        "arms": {**GOOD["arms"], "c": "--preset teacher"},
        "measure": {**GOOD["measure"], "gaps": "eval --family gap --sizes 0.2"},
    }
    check_same(read(tmp_path, **more), old, tmp_path)
    for change, says in (
        ({"steps": 2e6}, "another steps"),
        ({"train": "--worlds 9"}, "another train"),
        ({"arms": {**GOOD["arms"], "a": "--preset teacher"}}, "another arms.a"),
        ({"arms": {"a": "--preset tiny"}}, r"b-2 in \[arms\], which is missing now"),
        ({"film": None}, r"up in \[film\], which is missing now"),
        ({"measure": {"boxes": "eval --family box --sizes 0.3"}}, "another measure.boxes"),
    ):
        with pytest.raises(UserError, match=f"begun with {says}"):
            check_same(read(tmp_path, **change), old, tmp_path)


def test_code_in_a_study_file_is_seen(tmp_path):
    assert read(tmp_path).code == []
    arms = {"a": "--preset mine.py:QUICK", "b": "--preset tiny --env.families=pkg.m:PIT=1"}
    assert read(tmp_path, arms=arms).code == ["mine.py:QUICK", "pkg.m:PIT"]


@pytest.mark.parametrize(
    ("name", "seeds", "steps", "arms"),
    [
        (
            "arms",
            3,
            140e6,
            "swap swap-wide swap-no-eq-policy swap-no-eq swap-no-eq-matched symloss augment",
        ),
        ("mirrored", 2, 60e6, "swap swap-no-eq-policy swap-no-eq symloss augment"),
        ("paper-reward", 2, 60e6, "swap swap-no-eq"),
    ],
)
def test_those_that_ship_compare_what_the_paper_does(name, seeds, steps, arms, tmp_path, capsys):
    study = read_study(Path(name))
    assert list(study.arms) == arms.split()
    assert len(study.seeds) == seeds
    assert study.steps == steps
    ends = {"arms": "", "mirrored": "-one-sided", "paper-reward": "-paper-reward"}
    for arm, words in study.arms.items():
        assert words == ("--preset", arm + ends[name])
        assert words[1] in PRESETS
    for words in study.measure.values():
        if words[0] == "eval":
            assert words[words.index("--trials") + 1] == "1500"
    if name == "mirrored":
        sides = [w[w.index("--side") + 1] for w in study.measure.values() if "--side" in w]
        assert sides == ["left", "right"] * 3
    # All commands can be read; one line a run, and one for the figures.
    assert cli.dispatch(["study", name, "--print", "--out", str(tmp_path / "s")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(study.runs) + 1
    for run, line in zip(study.runs, lines[:-1], strict=True):
        films = len(study.film) if run.seed == study.seeds[0] else 0
        assert line.count(" && ") == 1 + len(study.measure) + films


def test_commands_for_a_gpu_can_be_printed_where_there_is_none(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    words = ["study", str(tiny), "--out", str(tmp_path / "s"), "--device"]
    assert cli.dispatch([*words, "cuda:1", "--print"]) == 0
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert all(
        "--device cuda:1" in command for line in lines for command in line.split(" && ")[::2]
    )
    with pytest.raises(UserError, match="torch sees no GPU here"):
        cli.dispatch([*words, "cuda:1"])
    for wrong in ("cuda:", "cuda:x", "gpu"):
        with pytest.raises(UserError, match=f"unknown device '{wrong}'; use cpu, cuda"):
            cli.dispatch([*words, wrong, "--print"])
