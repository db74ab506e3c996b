"""The page in a real browser: what visitors do changes what is simulated, and they see it."""

import json
import threading
import time

import numpy as np
import pytest

from browser import DRAWN, POLL_MS, Page, needs_browser, open_browser
from swap.cli.main import dispatch
from swap.courses.course_file import load_course
from swap.view.live import builder
from swap.view.live.server import GONE, PageServer
from swap.view.live.settings import CourseChoice, Settings
from swap.view.live.viewer import Viewer

pytestmark = [needs_browser, pytest.mark.filterwarnings(f"ignore:{GONE}:UserWarning")]
"""The server ignores that warning, too, but every test has its own list."""
START = Settings(course=CourseChoice("flat", 0.0))


@pytest.fixture(scope="module")
def viewer():
    server = PageServer(port=0)
    viewer = Viewer(server, START)
    thread = threading.Thread(target=viewer.run)
    thread.start()
    yield viewer
    viewer.stop()
    thread.join(timeout=30)
    server.stop()
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def browser(viewer):
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser, viewer):
    return Page(browser, viewer.server.url)


def wait_until(true) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_page_shows_a_robot_that_walks_and_images_that_change(page):
    clock = "document.getElementById('swap-time').innerText"
    images = "[...document.querySelectorAll('img')].map(x => x.src)"
    time_s, seen = page.told("time"), page.page.evaluate(images)
    assert len(seen) >= 4
    page.page.wait_for_function(f"old => {clock} !== old", arg=time_s, polling=POLL_MS)
    changed = f"old => {images}.filter((x, k) => x !== old[k]).length >= 4"
    page.page.wait_for_function(changed, arg=seen, polling=POLL_MS)
    page.page.wait_for_function("most => window.drawn > most", arg=DRAWN, polling=POLL_MS)


def test_obstacle_and_size_change_what_is_simulated(page, viewer):
    page.tab("Course")
    page.choose("obstacle", "gap")
    page.wait_for("course", "gap 0.79 m")
    page.enter("size", "1.23")
    page.wait_for("course", "gap 1.23 m")
    oracle = CourseChoice("gap", 1.23, "left", 1).build()
    wait_until(lambda: viewer.world.course.n == oracle.n)
    assert np.array_equal(viewer.world.course.pos, oracle.pos)
    page.enter("size", "77")  # no such gap: told, and nothing changes
    page.wait_for("note", "not 77")
    assert viewer.settings.course.size == 1.23
    page.choose("obstacle", "flat")
    page.wait_for("course", "flat")


def test_driving_changes_the_command(page, viewer):
    page.tab("Drive")
    page.enter("forward", "0.6")
    page.wait_for("command", "0.60 ahead")
    page.press("i")
    page.wait_for("command", "0.85 ahead")
    page.press("j")
    page.wait_for("command", "0.25 turn")
    assert viewer.world.obs["command"][0].tolist() == pytest.approx([0.85, 0.0, 0.25])
    page.press(" ")
    page.wait_for("command", "0.00 ahead, 0.00 left, 0.00 turn")


def test_a_gamepad_drives_where_the_browser_has_one(page, viewer):
    for said, told in (([0.5, -1.0, 0.0, 0.0], "2.00 ahead, -0.30 left"), ([0] * 4, "0.00 ahead")):
        for frame in page.page.frames:
            frame.evaluate(
                "axes => { navigator.getGamepads = () => [{connected: true, axes}] }", said
            )
        page.wait_for("command", told)
    for frame in page.page.frames:
        frame.evaluate("navigator.getGamepads = () => []")


def test_the_mirror_switch_shows_zero(page, viewer):
    page.tab("Mirror")
    page.check("a second robot")
    page.wait_for("mirror", "0.000 mm")
    wait_until(lambda: viewer.world.steps > 20)
    page.wait_for("mirror", "0.000 mm")
    assert viewer.world.env.n == 2
    page.check("a second robot")
    wait_until(lambda: viewer.world.env.n == 1)


def test_a_course_is_built_saved_and_taken_by_swap_eval(
    page, viewer, tmp_path, monkeypatch, short_trials
):
    monkeypatch.setattr(builder, "FOLDER", tmp_path)
    page.tab("Build")
    page.click("gap")
    page.wait_for("course", "my course")
    wait_until(lambda: len(viewer.settings.course.plan.pieces) == 2)
    page.click("save it")
    file = tmp_path / "my-course.toml"
    wait_until(file.exists)
    assert load_course(file) == viewer.settings.course.plan
    told = tmp_path / "told.json"
    words = ["eval", "teacher", "--course", str(file), "--trials", "2", "--device", "cpu"]
    assert dispatch([*words, "--json", str(told)]) == 0
    assert json.loads(told.read_text())["rows"][0]["course"] == "my course"
    page.tab("Course")
    page.choose("obstacle", "flat")
    page.wait_for("course", "flat")


def test_a_paused_world_takes_single_steps(page, viewer):
    page.press("p")
    wait_until(lambda: viewer.settings.paused)
    before = viewer.world.steps
    page.press("n")
    wait_until(lambda: viewer.world.steps == before + 1)
    page.press("p")
    wait_until(lambda: viewer.world.steps > before + 5)


def test_one_drives_others_watch_and_a_closed_tab_costs_nothing(page, browser, viewer):
    other = Page(browser, viewer.server.url)
    other.wait_for("visitors", "2")
    assert other.page.locator("label", has_text="forward").count() == 0
    other.page.get_by_role("button", name="Take the wheel").dispatch_event("click")
    other.page.locator("label", has_text="forward").wait_for(state="attached")
    page.page.get_by_role("button", name="Take the wheel").wait_for(state="attached")
    assert page.page.locator("label", has_text="forward").count() == 0
    other.page.close()
    page.page.locator("label", has_text="forward").wait_for(state="attached")
    assert page.outside_requests == other.outside_requests == []
    assert page.errors == other.errors == []
    page.page.close()
    wait_until(lambda: not viewer._visitors)
    time.sleep(0.5)  # the step that was under way ends
    steps = viewer.world.steps
    time.sleep(0.5)
    assert viewer.world.steps == steps
