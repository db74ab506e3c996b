"""Fixtures of a study: commands that run in this process, two arms of the preset `tiny`, and one
whose results are made up."""

from pathlib import Path

import pytest

from small_study import SMALL, STEPS, here, written
from swap.study.plan import Folder, create_folder
from swap.study.study import read_study


@pytest.fixture
def in_process(monkeypatch):
    """`swap study` runs its commands here; they are over when it looks for the first time."""
    monkeypatch.setattr("swap.study.pool.POLL_S", 0.0)
    monkeypatch.setattr("swap.study.work.start_process", lambda env: here)


@pytest.fixture
def tiny(tmp_path) -> Path:
    """Two arms of the preset `tiny`, two seeds."""
    return written(
        tmp_path / "tiny.toml",
        {
            "about": "two arms",
            "seeds": [0, 1],
            "steps": STEPS,
            "train": SMALL + " --policy.actor-hidden 16 --policy.critic-hidden 16",
            "arms": {"mirror": "--preset tiny", "plain": "--preset tiny --policy.no-equivariant"},
            "measure": {"boxes": "eval --family box --sizes 0.1 0.3 --trials 2"},
            "reach": {"box": [0.05, 1.0]},
        },
    )


@pytest.fixture
def study(tmp_path):
    return read_study(
        written(
            tmp_path / "made-up.toml",
            {
                "about": "of numbers",
                "seeds": [0, 1, 2],
                "steps": 1000,
                "arms": {"ours": "--preset tiny", "plain": "--preset tiny"},
                "measure": {
                    "boxes": "eval --family box",
                    "moves": "gait --family box --sizes 1",
                    "seen": "reconstruct",
                    "pairs": "check model --trials 2",
                },
                "reach": {"box": [0.5, 0.9, 2.0]},
            },
        )
    )


@pytest.fixture
def folder(study, tmp_path):
    there = Folder(tmp_path / "s")
    create_folder(study, there)
    return there
