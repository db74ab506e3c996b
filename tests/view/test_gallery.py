"""The gallery shows every course with a robot at its start, all of it, and its mirror image."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from swap.cli.main import dispatch
from swap.courses import FAMILIES, make
from swap.errors import UserError
from swap.robots import load
from swap.view import Renderer
from swap.view.framing import fit_view
from swap.view.gallery import FROM_AFAR, scenes_of

GREY = (0.5, 0.5, 0.5)
LOOK = replace(FROM_AFAR, width=128, height=72, left=GREY, right=GREY)


def drawn(robot, course, look=LOOK):
    """The scene, its view, the picture, and what each pixel shows."""
    (scene,) = scenes_of(robot, [course])
    view, render = fit_view([scene], [course.goal_x], 16 / 9), Renderer(robot, look, "cpu")
    return scene, view, render(scene, view).astype(int), render.shape


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mirrored_scene_gives_the_flipped_picture(name):
    robot, it = load("apollo"), make(name, 1.0, np.random.default_rng(0))
    _, view, plain, _ = drawn(robot, it)
    (image,) = scenes_of(robot, [it.mirror()])
    x, y, z = LOOK.sun
    mirrored = Renderer(robot, replace(LOOK, sun=(x, -y, z)), "cpu")(image, view.mirror())
    off = np.abs(plain - mirrored[:, ::-1]).max(-1)
    assert (off > 3).mean() < 0.003
    assert (np.abs(plain - mirrored).max(-1) > 3).mean() > 0.02  # the comparison can fail


@pytest.mark.parametrize("name", ["box", "lateral_slope"])
def test_the_picture_shows_the_course_and_the_robot_at_its_start(name):
    robot, it = load("apollo"), make(name, 1.0, np.random.default_rng(0))
    scene, view, _, shape = drawn(robot, it)
    assert set(range(it.n)) <= set(np.unique(shape))
    v, u = np.nonzero(shape >= it.n)
    ahead, left, up = (scene.base_pos - view.eye) @ view.axes()
    pixel = 2 * np.tan(np.radians(view.fov_deg / 2)) / LOOK.width
    assert len(v) > 20
    assert LOOK.width / 2 - left / ahead / pixel == pytest.approx(u.mean(), abs=3)
    assert LOOK.height / 2 - up / ahead / pixel == pytest.approx(v.mean(), abs=3)
    assert scene.base_pos[2] == pytest.approx(robot.stance, abs=1e-6)  # whatever `start_z` is
    # All of it fits: only sky at the sides.
    assert (shape[:, [0, -1]] == -1).all()


def test_high_tops_are_blue_where_there_is_no_haze():
    robot, it = load("apollo"), make("box", 1.0, np.random.default_rng(0))

    def blue(look):
        _, _, image, _ = drawn(robot, it, look)
        return ((image[..., 2] - image[..., 0] > 60) & (image[..., 1] < 140)).mean()

    assert blue(LOOK) > 0.03
    assert blue(replace(LOOK, haze_m=10.0)) == 0


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for key, value in attrs if key in ("src", "href")]


def test_the_command_writes_pictures_and_a_page_that_finds_them(tmp_path, capsys):
    out = tmp_path / "new" / "gallery"
    options = ["--family", "box", "tilted_box", "--size", "32x18", "--seed", "3"]
    assert dispatch(["courses", "--out", str(out), *options]) == 0
    pictures = sorted(file.name for file in out.glob("*.png"))
    assert pictures == sorted(
        f"{name}-{d}.png" for name in ("box", "tilted_box") for d in ("000", "033", "067", "100")
    )
    with Image.open(out / pictures[0]) as image:
        assert image.size == (2 * 32 + 6, 18)
    text = (out / "index.html").read_text()
    links = Links(text).found
    assert {link for link in links if link.endswith(".png")} == set(pictures)
    assert all(link in pictures or link.startswith("#") for link in links)
    assert "1.90 m" in text
    assert "Tilted box" in text
    assert "index.html" in capsys.readouterr().out


def test_without_a_folder_the_families_are_listed(capsys):
    assert dispatch(["courses"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in FAMILIES)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--family", "tilted_bx"], "did you mean 'tilted_box'"),
        (["--size", "480"], "use for example 480x270"),
        (["--size", "4x4"], "16 to 4096"),
        (["--seed", "-1"], "use 0 or more"),
    ],
)
def test_bad_input_is_told_in_one_line(options, says):
    with pytest.raises(UserError, match=says) as told:
        dispatch(["courses", *options])
    assert "\n" not in str(told.value)


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="name a folder that can be made"):
        dispatch(["courses", "--out", str(tmp_path / "taken"), "--family", "flat"])
