"""Films can be played, are complete or absent, and mistakes are one line."""

import subprocess
from collections.abc import Callable

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from drop_film import drop
from swap.cli.main import exit_code_of
from swap.errors import UserError
from swap.view import Film, PictureCfg, Video, save_picture, strip


def grey(value: int, size: tuple[int, int] = (64, 36)) -> np.ndarray:
    return np.full((size[1], size[0], 3), value, np.uint8)


def fill(video: Video, frames: list[np.ndarray], then: Callable = bool) -> None:
    for frame in frames:
        video.add(frame)
    then()


def test_an_mp4_holds_its_frames(tmp_path):
    path = tmp_path / "film.mp4"
    shades = [20 * k for k in range(12)]
    with Video(path, fps=25) as video:
        for shade in shades:
            video.add(grey(shade))
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24"]
    played = subprocess.run([*command, "-"], capture_output=True, check=True)
    for fact in (b"h264", b"yuv420p", b"64x36", b"25 fps"):
        assert fact in played.stderr
    frames = np.frombuffer(played.stdout, np.uint8).reshape(-1, 36, 64, 3)
    np.testing.assert_allclose(frames.mean((1, 2, 3)), shades, atol=4)
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (12, pytest.approx(0.48))


@pytest.mark.parametrize(("fps", "duration_ms"), [(50, 20), (25, 40), (12.5, 80)])
def test_a_gif_holds_its_frames_and_loops(tmp_path, fps, duration_ms):
    shades = [40 * k for k in range(5)]
    with Video(tmp_path / "film.gif", fps=fps) as video:
        for shade in shades:
            video.add(grey(shade, (63, 36)))
    with Image.open(tmp_path / "film.gif") as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (5, (63, 36), 0)
        for k, shade in enumerate(shades):
            image.seek(k)
            assert image.info["duration"] == duration_ms
            np.testing.assert_allclose(np.array(image.convert("RGB")), shade, atol=2)


def test_a_gif_has_one_palette(tmp_path):
    """What does not change from frame to frame keeps its colour: nothing flickers."""
    noise = np.random.default_rng(0).integers(0, 255, (6, 32, 64, 3), np.uint8)
    still = noise[0, :, :32].copy()
    with Video(tmp_path / "film.gif", fps=25) as video:
        for picture in noise:
            picture[:, :32] = still
            video.add(picture)
    with Image.open(tmp_path / "film.gif") as image:
        shown = []
        for k in range(image.n_frames):
            image.seek(k)
            shown.append(np.array(image.convert("RGB"))[:, :32])
    assert len(shown) == 6
    for other in shown[1:]:
        np.testing.assert_array_equal(other, shown[0])


def test_a_film_that_fails_leaves_the_old_one_alone(tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(b"the old film")
    with pytest.raises(ZeroDivisionError), Video(path) as video:
        fill(video, [grey(1), grey(1)], then=lambda: 1 / 0)
    assert path.read_bytes() == b"the old film"
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_mistakes_are_told_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    wrong = [
        (lambda: Video(tmp_path / "none" / "a.mp4"), "No such file or directory"),
        (lambda: Video(tmp_path / "file" / "a.mp4"), "Not a directory"),
        (lambda: Video(tmp_path / "a.avi"), "end it in .mp4 or .gif"),
        (lambda: Video(tmp_path / "a.mp4", fps=0), "use 25 or 50"),
        (lambda: Video(tmp_path / "a.gif", fps=100), "use at most 50"),
        (lambda: save_picture(grey(1), tmp_path / "a.jpg"), "end it in .png"),
        (lambda: save_picture(grey(1), tmp_path / "none" / "a.png"), "No such file"),
        (lambda: strip([grey(1)], 2), r"use 1\.\.1"),
    ]
    for call, words in wrong:
        with pytest.raises(UserError, match=words) as told:
            call()
        assert "\n" not in str(told.value)
    with pytest.raises(UserError, match="even numbers"), Video(tmp_path / "a.mp4") as video:
        video.add(grey(1, (63, 36)))
    with pytest.raises(UserError, match="keep one size"), Video(tmp_path / "a.mp4") as video:
        fill(video, [grey(1), grey(1, (32, 36))])
    with pytest.raises(UserError, match="no frames"), Video(tmp_path / "a.mp4"):
        pass
    with pytest.raises(UserError, match="give uint8"), Video(tmp_path / "a.mp4") as video:
        video.add(np.zeros((36, 64, 3)))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_way_is_told_in_one_line(tmp_path):
    (tmp_path / "a.mp4").mkdir()
    with pytest.raises(UserError, match=r"cannot write .*a\.mp4"), Video(tmp_path / "a.mp4") as v:
        v.add(grey(1))
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize("fault", ["dies", "missing"])
def test_a_failing_ffmpeg_is_told_in_one_line(tmp_path, monkeypatch, fault):
    fake = tmp_path / "ffmpeg"
    if fault == "dies":
        fake.write_text("#!/bin/sh\necho noise >&2\necho 'disk full' >&2\nexit 1\n")
        fake.chmod(0o755)
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: str(fake))
    words = "disk full" if fault == "dies" else "no ffmpeg"
    with pytest.raises(UserError, match=words) as told, Video(tmp_path / "a.mp4") as video:
        fill(video, [grey(1, (640, 360))] * 200)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("*.mp4"))
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_is_told_as_one(tmp_path, monkeypatch):
    """Even if ffmpeg's last line is about something else."""
    fake = tmp_path / "ffmpeg"
    said = "could not write header: No space left on device", "nothing was written"
    fake.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in said) + "exit 228\n")
    fake.chmod(0o755)
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: str(fake))
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*a\.mp4'") as error,
        Video(tmp_path / "a.mp4") as video,
    ):
        fill(video, [grey(1, (640, 360))] * 200)
    assert exit_code_of(error.value, None) == 1  # the broken pipe before it was ffmpeg's
    assert [file.name for file in tmp_path.iterdir()] == ["ffmpeg"]


def test_a_strip_shows_first_and_last(tmp_path):
    frames = [grey(10 * k) for k in range(11)]
    image = strip(frames, 3, seam=2)
    assert image.shape == (36, 3 * 64 + 2 * 2, 3)
    assert [image[0, x, 0] for x in (0, 64, 66, 132)] == [0, 255, 50, 100]
    save_picture(image, tmp_path / "strip.png")
    with Image.open(tmp_path / "strip.png") as saved:
        assert saved.size == (196, 36)


def test_the_dropped_robot_is_filmed(tmp_path):
    path = tmp_path / "drop.mp4"
    frames = drop(path, steps=20, look=PictureCfg(width=160, height=90))
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == len(frames) == 20
    assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 1  # it moved
    assert frames[-1].std() > 20  # and there is something to see


def test_a_film_takes_any_world_of_many(tmp_path, world):
    with Film(world.robot, tmp_path / "a.gif", look=PictureCfg(width=64, height=36)) as film:
        picture = film.frame(world.state, world.boxes, 0, caption="odd")
    assert picture.shape == (36, 64, 3)
    with (
        pytest.raises(UserError, match=r"use 0\.\.0"),
        Film(world.robot, tmp_path / "b.gif") as film,
    ):
        film.frame(world.state, world.boxes, 1)
    assert not (tmp_path / "b.gif").exists()
