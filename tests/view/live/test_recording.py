"""Recordings play in a browser, offline, and are as long as what they show."""

from types import SimpleNamespace

import pytest

from browser import POLL_MS, draw_little, needs_browser, open_browser
from swap.cli.main import dispatch
from swap.cli.view import keep_recording
from swap.errors import UserError
from swap.view.live.recording import LONGEST_S
from swap.view.live.server import PageServer
from swap.view.live.settings import CourseChoice, Settings
from swap.view.live.viewer import Viewer

WORDS = ["play", "teacher", "--family", "flat", "--width", "64", "--fps", "10"]


def test_a_recording_is_as_long_as_what_was_shown_and_never_longer_than_its_limit(tmp_path):
    server = PageServer(port=0)
    try:
        viewer = Viewer(server, Settings("teacher", CourseChoice("flat", 0.0)), record=True)
        for _ in range(25):
            viewer.advance()
        assert viewer.recording.length_s == pytest.approx(0.5)
        viewer.recording.wait(LONGEST_S)
        full = viewer.recording.length_s
        viewer.advance()
        assert viewer.recording.length_s == full
        viewer.recording.save(tmp_path / "x.html")
    finally:
        server.stop()
    page = (tmp_path / "x.html").read_text()
    assert "<title>SWAP</title>" in page
    assert "__VISER_EMBED_DATA__" in page


def test_a_recording_is_a_page(tmp_path):
    with pytest.raises(UserError, match="html"):
        dispatch([*WORDS, "--record", str(tmp_path / "x.mp4")])


@needs_browser
def test_the_recording_of_swap_play_plays_offline(tmp_path, short_trials):
    file = tmp_path / "x.html"
    assert dispatch([*WORDS, "--out", str(tmp_path / "x.mp4"), "--record", str(file)]) == 0
    asked, errors = [], []
    with open_browser() as browser:
        context = browser.new_context(offline=True, viewport={"width": 300, "height": 200})
        page = context.new_page()
        draw_little(page)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(file.as_uri())
        # The player's clock, in the box beside its slider.
        clock = "Number(document.querySelector('input')?.value)"
        page.wait_for_function(f"() => {clock} > 0.3", polling=POLL_MS, timeout=60_000)
        context.close()
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
    assert errors == []


def test_where_nobody_looked_no_file_is_written(tmp_path, capsys):
    file = tmp_path / "drive.html"
    nothing = SimpleNamespace(length_s=0.0, save=lambda path: path.write_text("x"))
    keep_recording(nothing, file)
    assert capsys.readouterr().out == "nothing is recorded: the page was not opened\n"
    assert not file.exists()
    keep_recording(SimpleNamespace(length_s=3.0, save=lambda path: path.write_text("x")), file)
    assert capsys.readouterr().out == f"recorded 3 s: {file}\n"
    assert file.exists()
