"""Strips of all arms below each other, each pixel in its place."""

import numpy as np
from PIL import Image

from small_study import written
from swap.study.films import BAR, write_strips
from swap.study.plan import Folder, Kind, commands_left, create_folder
from swap.study.study import Run, read_study
from swap.study.work import is_done


def test_films_are_of_the_first_seed_and_strips_of_the_first_with_one_are_stacked(tmp_path):
    study = read_study(
        written(
            tmp_path / "x.toml",
            {
                "seeds": [3, 4],
                "steps": 10,
                "arms": {"a": "--preset tiny", "b": "--preset tiny"},
                "film": {"climbing": "--family box --size 0.3"},
            },
        )
    )
    folder = Folder(tmp_path / "s")
    create_folder(study, folder)
    commands = [commands_left(study, folder, Run("a", seed), "cpu")[-1] for seed in study.seeds]
    assert [c.what for c in commands] == ["film climbing", "keep"]
    assert commands[0].line == (
        f"swap play {folder.model(Run('a', 3))} --family box --size 0.3 --device cpu "
        f"--out {folder.film('climbing', Run('a', 3), '.mp4')} "
        f"--still {folder.film('climbing', Run('a', 3))}"
    )
    assert write_strips(study, folder) == []
    rng = np.random.default_rng(0)
    strips = {arm: rng.integers(0, 256, (6, 9, 3), dtype=np.uint8) for arm in study.arms}
    there = {Run("a", 3): strips["a"], Run("a", 4): 255 - strips["a"], Run("b", 4): strips["b"]}
    for run, pixels in there.items():
        Image.fromarray(pixels).save(folder.film("climbing", run))
    folder.metrics(Run("a", 3)).touch()  # it is trained and kept
    assert commands_left(study, folder, Run("a", 3), "cpu") == []
    (path,) = write_strips(study, folder)
    assert path.name == "film-climbing.png"
    whole = np.asarray(Image.open(path))
    assert whole.shape == (2 * (6 + BAR), 9, 3)
    assert (whole[BAR : BAR + 6] == strips["a"]).all()
    assert (whole[2 * BAR + 6 :] == strips["b"]).all()
    assert (whole[:BAR] < 255).any()  # a name


def test_without_films_a_run_is_done(tmp_path):
    study = read_study(
        written(
            tmp_path / "x.toml",
            {
                "seeds": [0],
                "steps": 10,
                "arms": {"a": "--preset tiny"},
                "measure": {"boxes": "eval --family box"},
                "film": {"climbing": "--family box --size 0.3"},
            },
        )
    )
    folder, run = Folder(tmp_path / "s"), study.runs[0]
    create_folder(study, folder)
    assert not is_done(study, folder, run, "cpu")
    folder.metrics(run).write_text("{}\n")
    assert not is_done(study, folder, run, "cpu")
    folder.measured("boxes", run).write_text("{}")
    folder.model(run).touch()
    assert [c.kind for c in commands_left(study, folder, run, "cpu")] == [Kind.FILM]
    assert is_done(study, folder, run, "cpu")
