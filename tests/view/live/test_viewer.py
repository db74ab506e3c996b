"""The viewer without a browser: what is asked for happens, once, and mistakes change nothing."""

from dataclasses import replace

import pytest

from swap.env import EndReason
from swap.view.live.driving import VelocityCommand
from swap.view.live.server import PageServer
from swap.view.live.settings import CourseChoice, Settings
from swap.view.live.viewer import LINGER_S, Viewer, table

FLAT = Settings("teacher", CourseChoice("flat", 0.0))


@pytest.fixture
def viewer():
    server = PageServer(port=0)
    yield Viewer(server, FLAT)
    server.stop()


def test_a_slider_that_is_dragged_makes_one_new_world(viewer, monkeypatch):
    entered = []
    enter = viewer._enter
    monkeypatch.setattr(viewer, "_enter", lambda s: (entered.append(s), enter(s)))
    for k in range(10):
        size = 0.2 + 0.05 * k
        viewer.change(lambda s, size=size: replace(s, course=CourseChoice("box", size)))
    viewer.change(lambda s: replace(s, command=VelocityCommand(0.7)))
    viewer._answer()
    assert [s.course.size for s in entered] == [pytest.approx(0.65)]
    assert viewer.world.command == VelocityCommand(0.7)
    assert viewer.world.course.goal_z == pytest.approx(0.65)


def test_a_mistake_is_told_and_the_rest_is_done(viewer):
    viewer.change(lambda s: replace(s, course=CourseChoice("box", 99.0)))
    viewer.change(lambda s: replace(s, rate=0.5))
    viewer.change(lambda s: replace(s, model="no-such-model"))
    viewer._answer()
    assert viewer.settings == FLAT  # a change that needs a world that cannot be is taken back
    assert "no-such-model" in viewer._message
    viewer.change(lambda s: replace(s, course=CourseChoice("box", 99.0)))
    viewer.change(lambda s: replace(s, rate=0.5))
    viewer._answer()
    assert viewer.settings == replace(FLAT, rate=0.5)


def test_an_attempt_that_is_over_begins_again_after_a_while(viewer):
    viewer.world.tasks.reason.fill_(int(EndReason.FALLEN))
    for _ in range(round(LINGER_S / 0.02) - 1):
        viewer.advance()
    assert viewer.world.steps > 10
    for _ in range(3):
        viewer.advance()
    assert viewer.world.steps < 5
    assert viewer.world.end[0] == EndReason.RUNNING


def test_what_strangers_call_things_is_text_on_the_page():
    assert "<b>" not in table({"course": "<b>x</b>"})
