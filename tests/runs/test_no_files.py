"""Links, pipes, devices and folders in place of files are refused at once, without waiting."""

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
import torch

from swap.cli import main as cli
from swap.errors import UserError
from swap.runs import SaveError, load, save
from swap.runs.trained_robot import load_trained
from tampered_files import one_line

MODELS = Path(__file__).parents[2] / "models"


def in_time(work, seconds=20.0):
    """What `work` returns or raises; fails if it hangs."""
    told = []

    def run():
        try:
            told.append((work(), None))
        except BaseException as error:
            told.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert told, "it hangs"
    value, error = told[0]
    if error is not None:
        raise error
    return value


def link(file):
    shutil.move(file, file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def dangling(file):
    file.unlink()
    file.symlink_to("nowhere")


def device(file):
    file.unlink()
    try:
        os.mknod(file, 0o600 | 0o020000, os.makedev(1, 5))  # like /dev/zero
        file.open("rb").close()
    except OSError:
        pytest.skip("devices cannot be made here")


def pipe(file):
    file.unlink()
    os.mkfifo(file)


def folder(file):
    file.unlink()
    file.mkdir()


def sock(file):
    file.unlink()
    here = os.getcwd()
    os.chdir(file.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as it:
        it.bind(file.name)
    os.chdir(here)


NO_FILES = [
    (link, "a symbolic link"),
    (dangling, "a symbolic link"),
    (pipe, "a pipe"),
    (device, "a device"),
    (folder, "a folder"),
    (sock, "a socket"),
]


@pytest.mark.parametrize(("make", "what"), NO_FILES)
@pytest.mark.parametrize("name", ["kept.json", "kept.safetensors"])
def test_a_model_that_is_no_file(kept, name, make, what):
    make(kept.with_name(name))
    with pytest.raises(UserError, match=f"{name} is {what}, not a plain file") as error:
        in_time(lambda: load_trained(kept))
    one_line(error)


@pytest.mark.parametrize(("make", "what"), NO_FILES)
@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256", "000.safetensors"])
def test_a_checkpoint_that_has_no_files(home, place, name, make, what):
    make(place / name)
    said: list[str] = []
    assert in_time(lambda: load(home / "run", said.append)).iteration == 0
    assert f"{name} is {what}, not a plain file" in said[0]


@pytest.mark.parametrize(("make", "what"), NO_FILES)
def test_a_latest_that_is_no_file(home, place, make, what):
    make(place.parent / "latest")
    said: list[str] = []
    assert in_time(lambda: load(home / "run", said.append)).iteration == 1
    assert said == ["the file 'latest' is missing or damaged; trying the newest checkpoint"]


def test_a_checkpoint_that_is_a_link(home, place):
    place.rename(home / "000001")
    place.symlink_to(home / "000001")
    said: list[str] = []
    assert load(home / "run", said.append).iteration == 0
    assert "000001 is a symbolic link, not a folder" in said[0]


def test_a_file_that_is_too_large_is_not_read(kept):
    with kept.with_suffix(".json").open("r+b") as file:
        file.truncate(1 << 36)  # takes no room on the disk
    with pytest.raises(UserError, match="68719476736 bytes, more than it can need"):
        in_time(lambda: load_trained(kept))
    shutil.copy(MODELS / "teacher.json", kept.with_suffix(".json"))
    with kept.open("r+b") as file:
        file.truncate(1 << 36)
    with pytest.raises(UserError, match="has 68719476736 bytes instead of"):
        in_time(lambda: load_trained(kept))


# --- what a run writes ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["run.lock", "metrics.jsonl", "checkpoints/.latest.new"])
@pytest.mark.parametrize("make", ["link", "pipe"])
def test_a_run_that_goes_on_writes_through_no_link(home, name, make):
    """A folder from a stranger may have links that lead to files of mine."""
    mine, file = home / "diary.txt", home / "run" / name
    mine.write_text("dear diary")
    file.unlink(missing_ok=True)
    file.symlink_to(mine) if make == "link" else os.mkfifo(file)
    words = ["train", "--resume", str(home / "run"), "--iterations", "1", "--no-tensorboard"]
    try:
        code, told = cli.dispatch([*words, "--device", "cpu"]), ""
    except UserError as error:
        code, told = 2, str(error)
    assert code in (1, 2)
    assert "\n" not in told
    assert mine.read_text() == "dear diary"


def test_checkpoints_that_lead_elsewhere(home):
    (home / "run" / "checkpoints").rename(home / "mine")
    (home / "run" / "checkpoints").symlink_to(home / "mine")
    with pytest.raises(UserError, match="checkpoints' is a symbolic link; name the run"):
        load(home / "run")
    with pytest.raises(SaveError, match="checkpoints' is a symbolic link; name another folder"):
        save(home / "run", 9, {"x": torch.ones(2)}, {}, {})
    assert sorted(file.name for file in (home / "mine").iterdir()) == ["000000", "000001", "latest"]
