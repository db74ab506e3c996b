"""Courses from files have the ground that their pieces say; mistakes are reported in one line."""

from pathlib import Path

import numpy as np
import pytest

from swap.courses.course_file import (
    as_toml,
    known_courses,
    load_course,
    parse_course,
    save_course,
)
from swap.courses.course_plan import CoursePlan
from swap.courses.pieces import KINDS, Box, Gap, Ground, Ramp, Stairs
from swap.courses.rays import heights
from swap.errors import UserError

ROOT = Path(__file__).parents[2]


def test_ground_is_as_high_as_the_pieces_say():
    pieces = (
        Box(0.5, 1.0, drop_m=0.8),
        Ground(1.0),
        Gap(1.0, rise_m=0.4),
        Ramp(2.0, 20.0),
        Stairs(-0.1, 2, 0.5),
    )
    course = CoursePlan("all", pieces, run_up_m=2.0).build()
    # The lowest ground, behind the drop, is at 0.
    up = 2 * np.tan(np.radians(20.0))
    expected = {
        0.0: 0.3,
        1.9: 0.3,
        2.1: 0.8,
        2.9: 0.8,
        3.1: 0.0,
        3.9: 0.0,
        4.1: -2.0,
        4.9: -2.0,
        5.1: 0.4 + 0.1 * np.tan(np.radians(20.0)),
        6.0: 0.4 + up / 2,
        7.1: 0.4 + up - 0.1,
        7.6: 0.4 + up - 0.2,
        9.0: 0.4 + up - 0.2,
    }
    x = np.array(list(expected))
    for y in (-1.4, 0.0, 1.4):
        found = heights(course, x, np.full_like(x, y))
        assert found == pytest.approx(list(expected.values()), abs=1e-9)
    assert course.goal_x == pytest.approx(8.0)
    assert course.goal_z == pytest.approx(0.2 + up)
    assert course.start_z == pytest.approx(0.3)


def test_no_seam_between_neighbours_at_one_height():
    plan = CoursePlan("level", (Ground(1.0), Ground(2.0), Box(0.5, drop_m=0.0), Ground(1.0)))
    assert plan.build().n == 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_a_file(kind, tmp_path):
    plan = CoursePlan(f'a "{kind}"', (KINDS[kind](),), lane_m=1.25)
    path = save_course(plan, tmp_path)
    assert load_course(path) == plan
    with pytest.raises(UserError, match="already"):
        save_course(plan, tmp_path)


def test_the_shipped_courses_are_known_by_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    files = {file.stem for file in (ROOT / "courses").glob("*.toml")}
    assert files
    assert files <= set(known_courses())
    for name in files:
        plan = load_course(Path(name))
        assert parse_course(as_toml(plan), "x") == plan


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "without pieces"),
        ("name = 3", "name"),
        ("[[pieces]]\nkind='bx'", "did you mean 'box'"),
        ("[[pieces]]\nkind='box'\nheigth_m=1", "did you mean 'height_m'"),
        ("[[pieces]]\nkind='box'\nheight_m='a'", "no number"),
        ("[[pieces]]\nkind='box'\nheight_m=9", "use 0.02 to 2.2"),
        ("[[pieces]]\nkind='box'\nheight_m=nan", "finite"),
        ("[[pieces]]\nkind='stairs'\nsteps=2.5", "whole number"),
        ("[[pieces]]\nkind='stairs'\nsteps=true", "whole number"),
        ("lane_m=99\n[[pieces]]\nkind='box'", "lane_m"),
        ("lane=1\n[[pieces]]\nkind='box'", "lane_m"),
        ("pieces=3", r"\[\[pieces\]\]"),
        ("name='box'\n[[pieces]]\nkind='box'", "family"),
        ("kind=", "TOML"),
        ("[[pieces]]\nkind='stairs'\nsteps=12\n" * 4, "at most 32"),
        ("[[pieces]]\nkind='box'\nheight_m=2\ndrop_m=0\n" * 4, "highest"),
    ],
)
def test_mistakes_are_one_line(text, says, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=says) as told:
        load_course(path)
    assert "mine.toml" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_file_that_is_not_there_or_no_text_is_one_line(tmp_path):
    with pytest.raises(UserError, match="three-in-a-row"):
        load_course(tmp_path / "nothing.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="no text"):
        load_course(tmp_path / "x.toml")
