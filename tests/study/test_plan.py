"""What is left to do in a study: at the start, in the middle, after a crash, and with missing
parts."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from swap.errors import UserError
from swap.study import plan
from swap.study.plan import Folder, Kind
from swap.study.study import Run, read_study

RUN = Run("plain", 1)


@pytest.fixture
def study(tiny):
    return read_study(tiny)


@pytest.fixture
def folder(study, tmp_path):
    there = Folder(tmp_path / "s")
    plan.create_folder(study, there)
    return there


def commands(study, folder, run=RUN):
    return [(c.what, c.kind) for c in plan.commands_left(study, folder, run, "cpu")]


def made(file: Path, text: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def iterated(folder, iterations: int, saved: int, steps_each: float = 24) -> None:
    """Makes a run with that many lines of metrics, and a checkpoint."""
    home = folder.run(RUN)
    rows = [{"iteration": k, "steps": k * steps_each} for k in range(1, iterations + 1)]
    made(home / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    made(home / "checkpoints" / f"{saved:06d}" / "manifest.json")
    made(home / "checkpoints" / "latest", f"{saved:06d}\n")


ALL = [("train", Kind.TRAIN), ("keep", Kind.KEEP), ("boxes", Kind.MEASURE)]


def test_everything_is_left_at_first(study, folder):
    assert commands(study, folder) == ALL
    train, keep, measure = plan.commands_left(study, folder, RUN, "cpu")
    assert train.words[0] == "train"
    assert shlex.join(train.words).endswith(
        f"--seed 1 --steps 96 --out {folder.run(RUN)} --device cpu"
    )
    assert "--policy.no-equivariant" in train.words
    assert "--worlds" in train.words
    assert keep.line == (
        f"swap keep {folder.run(RUN)} --out {folder.model(RUN)} --metrics {folder.metrics(RUN)} "
        "--overwrite"
    )
    assert measure.line == (
        f"swap eval {folder.model(RUN)} --family box --sizes 0.1 0.3 --trials 2 --device cpu "
        f"--json {folder.measured('boxes', RUN)}"
    )


def test_a_run_goes_on_where_there_is_a_checkpoint_with_the_goal_it_had(study, folder):
    iterated(folder, iterations=3, saved=2)
    assert commands(study, folder) == [("train", Kind.RESUME), *ALL[1:]]
    words = plan.commands_left(study, folder, RUN, "cpu")[0].words
    assert words[words.index("--resume") + 1] == str(folder.run(RUN))
    assert not {"--steps", "--out"} & set(words)


@pytest.mark.parametrize("origin", [["--from", "swap"], ["--from=swap"]])
def test_a_run_that_began_with_a_robot_goes_on_without_it(origin, study, folder):
    study = replace(study, arms={"plain": ("--preset", "tiny", *origin, "--worlds", "4")})
    assert set(origin) <= set(plan.commands_left(study, folder, RUN, "cpu")[0].words)
    iterated(folder, iterations=3, saved=2)
    words = plan.commands_left(study, folder, RUN, "cpu")[0].words
    assert words[:5] == ("train", "--preset", "tiny", "--worlds", "4")


@pytest.mark.parametrize(("saved", "wanted"), [(4, ALL[1:]), (3, None)])
def test_a_run_is_trained_when_its_last_iteration_is_saved(saved, wanted, study, folder):
    iterated(folder, iterations=4, saved=saved)  # 96 steps
    assert commands(study, folder) == (wanted or [("train", Kind.RESUME), *ALL[1:]])


def test_what_is_kept_and_measured_is_not_done_again_even_without_the_runs(study, folder):
    made(folder.metrics(RUN))
    made(folder.model(RUN))
    assert commands(study, folder) == ALL[2:]
    made(folder.measured("boxes", RUN))
    assert commands(study, folder) == []
    folder.model(RUN).unlink()
    assert plan.missing_model(folder, plan.commands_left(study, folder, RUN, "cpu")) is None


def test_a_film_is_drawn_of_the_first_seed_if_its_model_is_there(study, folder):
    study = replace(study, film={"climbing": ("--family", "box", "--size", "0.2")})
    first = Run(RUN.arm, study.seeds[0])
    assert commands(study, folder, first) == [*ALL, ("film climbing", Kind.FILM)]
    for file in (folder.metrics(first), folder.measured("boxes", first)):
        made(file)
    assert commands(study, folder, first) == []  # what was kept of it has no models
    made(folder.model(first))
    assert commands(study, folder, first) == [("film climbing", Kind.FILM)]
    assert RUN.seed != first.seed
    assert commands(study, folder) == ALL


def test_what_was_measured_of_a_robot_before_is_measured_anew(study, folder):
    for file in (folder.metrics(RUN), folder.model(RUN), folder.measured("boxes", RUN)):
        made(file)
    assert plan.remove_stale(study, folder, RUN) == []
    folder.metrics(RUN).unlink()
    assert commands(study, folder) == ALL
    assert plan.remove_stale(study, folder, RUN) == [folder.measured("boxes", RUN)]
    assert not folder.measured("boxes", RUN).exists()


def test_a_model_that_is_gone_before_it_was_measured_is_told(study, folder):
    made(folder.metrics(RUN))
    why = plan.missing_model(folder, plan.commands_left(study, folder, RUN, "cpu"))
    assert "plain-1.safetensors' is missing: put it back, or remove" in why


def test_lines_are_what_a_shell_can_run_in_any_order(study, folder, tiny):
    made(folder.metrics(RUN))
    made(folder.measured("boxes", RUN))
    lines = plan.command_lines(study, folder, "auto", tiny, study.runs)
    assert len(lines) == 4  # three runs are left, and the figures
    for line in lines[:-1]:
        parts = [shlex.split(part) for part in line.split(" && ")]
        assert [part[:2] for part in parts] == [["swap", x] for x in ("train", "keep", "eval")]
    assert lines[-1] == f"swap study {tiny} --out {folder.root} --only figures"
    first = study.runs[0]
    assert plan.command_lines(study, folder, "auto", tiny, [first])[:-1] == lines[:1]


def test_a_folder_of_another_study_is_refused(study, folder, tiny, tmp_path):
    plan.create_folder(study, folder)  # the same again
    other = tmp_path / "other.toml"
    other.write_text(tiny.read_text().replace("steps = 96", "steps = 97"))
    plan.check_folder(read_study(other), folder)  # nothing was begun, so it may change
    folder.run(RUN).mkdir()
    with pytest.raises(UserError, match="begun with another steps"):
        plan.create_folder(read_study(other), folder)
