"""Commands on difficult machines: no home folder, closed streams, full disks, ASCII only, odd
names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import swap
from swap import caches
from swap.caches import WARP, prepare
from swap.cli import main as cli
from swap.cli.show import Report, save, writable
from swap.device import memory
from swap.device.memory import MIB_A_WORLD, check_memory, needed_mib
from swap.errors import UserError
from swap.presets import RunCfg
from swap.runs import load
from swap.runs.saved_model import find_model
from toy_run import Silent, toy_run

ODD = os.fsdecode(b"n\xff \xe9")
"""A name with a space that is not UTF-8."""
LIGHT = Path(__file__).parents[1] / "light_swap.py"


def sh(line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A line of shell in which `swap` is the command, and `light` is light_swap.py."""
    for name, start in {"swap ": "-m swap", "light ": f"'{LIGHT}'"}.items():
        line = line.replace(name, f"'{sys.executable}' {start} ")
    return subprocess.run(
        ["sh", "-c", line],
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )


def one_line(said: bytes | str) -> str:
    text = said.decode() if isinstance(said, bytes) else said
    assert text.count("\n") == 1, text
    assert text.startswith("swap: ")
    return text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("light robots >&-", 0),
        ("swap robots <&- >&- 2>&-", 0),
        ("swap robot 2>&-", 2),
        ("swap robot 2>/dev/full", 2),
        ("swap --help >&-", 0),
    ],
)
def test_a_stream_that_is_closed_or_full_does_not_change_the_exit_code(line, code):
    assert sh(line).returncode == code


@pytest.mark.parametrize("line", ["light robots", "swap --version"])
def test_output_that_does_not_arrive_is_one_line_and_exit_code_1(line):
    done = sh(f"{line} >/dev/full")
    assert done.returncode == 1
    assert "No space left on device" in one_line(done.stderr)


def test_tables_do_without_letters_that_a_terminal_lacks(tmp_path, capsys):
    file = tmp_path / "x.json"
    assert cli.dispatch(["rewards", "--json", str(file)]) == 0
    rows = json.loads(file.read_bytes())["rows"]
    assert any(not str(value).isascii() for row in rows for value in row.values())
    for encoding in ("ascii", "latin-1"):
        done = swap("rewards", encoding=encoding)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(row["term"] in done.stdout for row in rows)


def test_a_file_that_cannot_be_written_is_told_before_the_work(tmp_path):
    (tmp_path / "folder").mkdir()
    for bad in (
        "/proc/q.json",
        tmp_path / "no/x.json",
        tmp_path / "folder",
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(UserError, match=r"cannot write '.*' \(.+\)"):
            writable(Path(bad))
    writable(tmp_path / "x.json")
    writable(Path("/dev/null"))
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]  # it has left nothing


def test_a_path_that_may_not_be_read_is_bad_input(capsys):
    assert cli.exit_code_of(PermissionError(13, "Permission denied", "x/checkpoints"), None) == 2
    assert capsys.readouterr().err == "swap: 'x/checkpoints': Permission denied\n"


def test_a_disk_without_room_is_told_before_the_work(tmp_path, monkeypatch):
    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UserError, match=r"cannot write '.*x\.json' \(No space left on device\)"):
        writable(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_figures_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file, link = tmp_path / "x.json", tmp_path / "link.json"
    link.symlink_to(file)
    save(Report("first", []), link)
    assert link.is_symlink()
    true_write = Path.write_bytes

    def half(self: Path, data: bytes) -> int:
        true_write(self, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match=r"No space left on device: '.*/link\.json'"):
        save(Report("second", []), link)
    assert json.loads(file.read_text())["title"] == "first"
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_a_device_is_written_as_it_is(tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        save(Report("x", []), Path("/dev/full"))
    done = sh(f"swap robots --json /dev/stdout >{tmp_path}/both")
    shown = (tmp_path / "both").read_text()
    assert (done.returncode, shown[-2:]) == (0, "}\n")
    assert "go2: Unitree Go2" in shown


WAKE = (
    "from swap.device.warp_start import init_warp; init_warp(); import warp; "
    "print(warp.config.kernel_cache_dir)"
)


def test_without_a_home_kernels_go_elsewhere_in_one_line_and_doctor_tells(tmp_path):
    places = {"HOME": "/dev/null", "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": ""}
    done = sh(f"'{sys.executable}' -c '{WAKE}'", **places, XDG_CONFIG_HOME="", WARP_CACHE_PATH="")
    assert done.returncode == 0, done.stderr
    told = one_line(done.stderr)
    assert "'/dev/null/.cache/warp' cannot be written" in told
    assert "WARP_CACHE_PATH" in told
    assert done.stdout.decode().startswith(str(tmp_path))

    file = tmp_path / "doctor.json"
    done = sh(f"swap doctor --json {file}", **places, WARP_CACHE_PATH="/proc/none")
    assert done.returncode == 0, done.stderr
    rows = {row["what"]: row for row in json.loads(file.read_bytes())["rows"]}
    for cache in caches.CACHES:
        assert rows[cache.what]["state"] == "elsewhere"
        assert cache.variable in rows[cache.what]["to mend"]
    assert "/proc/none" in rows[WARP.what]["found"]


def test_where_nothing_can_be_written_the_variable_is_named(monkeypatch):
    monkeypatch.setattr(caches, "usable", lambda folder: False)
    with pytest.raises(UserError, match="set WARP_CACHE_PATH to a folder that can"):
        prepare(WARP)


def test_a_temporary_folder_of_someone_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    mine = caches.spare_folder(WARP)
    assert mine == caches.spare_folder(WARP)  # the same again: kernels are compiled once
    mine.parent.chmod(0o777)
    assert mine.parent not in caches.spare_folder(WARP).parents


def test_no_ffmpeg_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/no/such/ffmpeg")
    done = swap("motions", "--render", "trot", "--out", tmp_path / "x.mp4")
    assert done.returncode == 2
    assert "no ffmpeg" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_odd_names_work(tmp_path):
    home = tmp_path / ODD
    home.mkdir()
    save(Report(ODD, []), home / "x.json")
    assert json.loads((home / "x.json").read_text())["title"] != ""
    board = Silent()
    assert toy_run(home / "run", RunCfg(iterations=2), board=board).fault is None
    assert load(home / "run").iteration == 2
    assert any("no TensorBoard events: it reads only names in UTF-8" in x for x in board.lines)
    done = swap("keep", "teacher", "--out", home / "k.safetensors")
    assert (done.returncode, done.stderr) == (0, "")
    assert find_model(home / "k.safetensors").is_file()
    done = swap("eval", home / "k.json")
    assert done.returncode == 2
    assert "did you mean" in one_line(done.stderr)


def test_worlds_that_do_not_fit_are_refused_before_anything_is_built(monkeypatch, tmp_path, capsys):
    run = ["train", "--preset", "tiny", "--device", "cpu", "--out", str(tmp_path / "run")]
    for words in (run, ["bench", "sim", "--device", "cpu"], ["bench", "train", "--device", "cpu"]):
        with pytest.raises(UserError, match=r"--worlds 900000000 needs about .* GiB, cpu has"):
            cli.dispatch([*words, "--worlds", "900000000"])
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(memory, "machine_mib", lambda device: 100.0)
    most = int(100 / MIB_A_WORLD["cpu", False])
    assert check_memory(most, "cpu") == f"memory: about 0.1 of 0.1 GiB for {most:,} worlds"
    with pytest.raises(UserError, match=f"use at most {most}$"):
        check_memory(most + 1, "cpu")
    # The figures that the estimate comes from, docs/log.md.
    assert needed_mib(6000, "gpu", world_model=True) / 1024 == pytest.approx(9.7, rel=0.05)
    assert needed_mib(6000, "gpu") / 1024 == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("size", [10**12, 2**63, 10**400])
@pytest.mark.parametrize(
    "option",
    [
        *("model --ticks", "model --batch", "model --worlds", "nn --batch", "nn --images"),
        *("sim --slots", "sim --worlds", "train --worlds"),
    ],
)
def test_sizes_of_a_bench_that_nothing_can_hold_are_refused(option, size):
    subject, flag = option.split()
    with pytest.raises(UserError, match=r"use (1 to|at most) [0-9]+") as error:
        cli.dispatch(["bench", subject, "--device", "cpu", flag, str(size)])
    assert "\n" not in str(error.value)
    assert flag in str(error.value)


def unread(line: str, *start: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Runs a command whose reader is gone before the first word, so that there is no race."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        words = [sys.executable, *(start or ("-m", "swap")), *line.split()]
        return subprocess.run(words, stdout=out, stderr=subprocess.PIPE, check=False, timeout=60)


@pytest.mark.parametrize("line", ["robots", "--help", "eval --help"])
def test_a_reader_that_has_seen_enough_is_no_failure(line):
    done = unread(line, LIGHT)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_is_not_read_is_measured_and_written_all_the_same(tmp_path):
    """Tables are lost with their reader, or on a full disk; files and exit codes are not."""
    words = f"--family flat --out {tmp_path}/gallery --size 16x16 --json {tmp_path}/x.json"
    done = unread(f"courses {words}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "gallery" / "index.html").exists()
    assert len(json.loads((tmp_path / "x.json").read_text())["rows"]) == 1
    (tmp_path / "x.json").unlink()
    done = sh(f"light robots --json {tmp_path}/x.json >/dev/full")
    assert done.returncode == 1
    assert "cannot write what is printed: No space left on device" in one_line(done.stderr)
    assert json.loads((tmp_path / "x.json").read_text())["rows"]
    assert unread("robots --jsn x", LIGHT).returncode == 2


def test_a_container_has_what_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CGROUP", tmp_path / "memory.max")
    machine = memory.machine_mib("cpu")  # there is no such file
    for text, mib in (("max\n", None), (f"{64 * 2**20}\n", 64.0), (f"{2**62}\n", None)):
        memory.CGROUP.write_text(text)
        assert memory.machine_mib("cpu") == (mib or machine)


def test_a_library_that_is_missing_is_one_line():
    hidden = "import sys; sys.modules['torch'] = None; from swap.cli.main import main"
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}; sys.argv = ['swap', 'robots']; main()"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "the library torch is missing" in one_line(done.stderr)
