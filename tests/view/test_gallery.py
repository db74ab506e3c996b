from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from swap.cli.main import dispatch
from swap.courses import FAMILIES, make
from swap.errors import UserError
from swap.view.course_picture import frame, picture


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mirrored_scene_gives_the_flipped_picture(name):
    it = make(name, 1.0, np.random.default_rng(0))
    camera = frame([it], 16 / 9).raised(it.start_z)
    plain = picture(it, camera, 128, 72).astype(int)
    mirrored = picture(it.mirror(), camera.mirror(), 128, 72, sun_side=-1).astype(int)
    assert np.abs(plain - mirrored[:, ::-1]).max() <= 2
    assert np.abs(plain - picture(it, camera.mirror(), 128, 72, sun_side=-1)).max() > 50


def test_the_picture_shows_the_course_and_the_stand_in():
    it = make("box", 1.0, np.random.default_rng(0))
    image = picture(it, frame([it], 16 / 9), 320, 180).astype(int)
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    assert ((red > 150) & (red - blue > 60)).sum() > 50  # the stand-in is orange
    assert ((blue - red > 60) & (green < 140)).mean() > 0.03  # a high top is blue
    border = np.concatenate([image[:, 0], image[:, -1]])
    assert (border.min(1) > 190).all()  # all of it fits: only sky at the sides


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for key, value in attrs if key in ("src", "href")]


def test_the_command_writes_pictures_and_a_page_that_finds_them(tmp_path, capsys):
    out = tmp_path / "new" / "gallery"
    options = ["--family", "box", "--family", "tilted_box", "--size", "32x18", "--seed", "3"]
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
