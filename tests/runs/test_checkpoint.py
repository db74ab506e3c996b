"""A checkpoint is read back exactly, or refused with the name of what is wrong."""

import contextlib
import errno
import random
from pathlib import Path

import pytest
import torch

from swap.errors import UserError
from swap.runs import (
    Checkpoint,
    SaveError,
    checkpoint,
    load,
    save,
)
from swap.runs.checkpoint import numbered
from swap.runs.shards import DamagedError, pack, read_folder, unpack, write_folder
from toy_state import Killed, same, state


def put(run: Path, i: int, **options: object) -> Path:
    return save(run, i, state(i), {"i": i, "inf": float("inf")}, {"a": [1, None]}, **options)


def good(found: Checkpoint) -> int:
    """Checks all of a checkpoint's contents and returns its number."""
    i = found.iteration
    assert same(found.tensors, state(i))
    assert found.numbers == {"i": i, "inf": float("inf")}
    assert found.config == {"a": [1, None]}
    return i


def test_everything_comes_back(tmp_path):
    put(tmp_path, 3)
    assert good(load(tmp_path)) == 3
    assert good(load(tmp_path / "checkpoints" / "000003")) == 3


def test_large_tensors_are_split_and_no_shard_is_larger_than_asked(tmp_path):
    # Tied weights share memory, a transposed one is not contiguous: both are stored as values.
    big = torch.randn(300, 40)
    tensors = {"big": big, "tied": big, "turned": big.T, "small": torch.ones(2)}
    shards, split = pack(tensors, 10_000)
    assert len(shards) > 10
    assert max(sum(x.nbytes for x in shard.values()) for shard in shards) <= 10_000
    assert same(unpack({k: x for s in shards for k, x in s.items()}, split), tensors)
    save(tmp_path, 1, tensors, {}, {}, shard_mib=0.01)
    files = list((tmp_path / "checkpoints/000001").glob("*.safetensors"))
    assert len(files) == len(shards)
    assert max(file.stat().st_size for file in files) < 0.01 * 2**20 + 1000
    assert same(load(tmp_path).tensors, tensors)


def test_the_last_few_and_the_milestones_are_kept(tmp_path):
    for i in range(1, 8):
        put(tmp_path, i, keep=2, milestone=i == 3)
    assert sorted(numbered(tmp_path / "checkpoints")) == [3, 6, 7]
    # A run that goes on from 3 has abandoned 6 and 7.
    put(tmp_path, 4, keep=2)
    assert sorted(numbered(tmp_path / "checkpoints")) == [3, 4]
    assert good(load(tmp_path)) == 4


def test_numbers_beyond_six_digits_keep_their_order(tmp_path):
    for i in (999_998, 999_999, 1_000_000):
        put(tmp_path, i, keep=2)
    assert sorted(numbered(tmp_path / "checkpoints")) == [999_999, 1_000_000]
    assert good(load(tmp_path)) == 1_000_000


def test_any_flipped_bit_and_any_cut_is_refused_by_name_and_the_one_before_is_used(tmp_path):
    chance = random.Random(0)
    put(tmp_path, 1, shard_mib=1e-4)
    place = put(tmp_path, 2, shard_mib=1e-4)
    files = sorted(place.iterdir())
    assert len(files) > 3
    for file in files:
        whole = file.read_bytes()
        broken = [whole[:n] for n in {0, len(whole) - 1, *chance.choices(range(len(whole)), k=8)}]
        for at in {0, len(whole) - 1, *chance.choices(range(len(whole)), k=30)}:
            flipped = bytearray(whole)
            flipped[at] ^= 1 << chance.randrange(8)
            broken.append(bytes(flipped))
        broken += [whole + b"\n", None]
        for data in broken:
            file.unlink() if data is None else file.write_bytes(data)
            said: list[str] = []
            assert good(load(tmp_path, said.append)) == 1
            assert said[0].startswith("checkpoint 000002 is refused: ")
            assert file.name in said[0]
            assert said[1:] == ["using checkpoint 000001 instead"]
            assert not any("\n" in line for line in said)
        with pytest.raises(UserError, match=f"checkpoint 000002 is refused: .*{file.name}"):
            load(place)
        file.write_bytes(whole)
    assert good(load(tmp_path)) == 2


def test_a_damaged_latest_does_not_matter(tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 2)
    latest = tmp_path / "checkpoints" / "latest"
    for text in (b"", b"00000", b"\xff\xfe", b"000009\n", b"../../etc\n"):
        latest.write_bytes(text)
        said: list[str] = []
        assert good(load(tmp_path, said.append)) == 2
        assert said == ["the file 'latest' is missing or damaged; trying the newest checkpoint"]


def test_nothing_whole_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"no checkpoint in .*; name the folder of a run"):
        load(tmp_path)
    place = put(tmp_path, 1)
    (place / "000.safetensors").unlink()
    with pytest.raises(UserError, match=r"no checkpoint in .* is whole; .*000\.safetensors"):
        load(tmp_path, lambda line: None)


def test_a_renamed_checkpoint_is_refused(tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 2).rename(tmp_path / "checkpoints" / "000007")
    (tmp_path / "checkpoints" / "latest").write_text("000007\n")
    assert good(load(tmp_path, lambda line: None)) == 1


EXPECTED = (
    "checkpoint 000002 is NOT saved (No space left on device); 000001 still stands",
    "checkpoint 000002 may not outlive a power cut (No space left on device)",
)


def test_a_full_disk_at_any_moment_is_told_and_leaves_the_one_before(tmp_path, disk):
    failed = 0
    for n in range(200):
        run = tmp_path / str(n)
        run.mkdir()
        put(run, 1, keep=1)
        disk.arm(n, OSError(errno.ENOSPC, "No space left on device"))
        try:
            put(run, 2, keep=1)
            told = ""
        except SaveError as error:
            told = str(error)
        came = disk.calm()
        found = good(load(run, lambda line: None))
        assert told in {"", *EXPECTED}
        assert found == (1 if told == EXPECTED[0] else 2)
        failed += told == EXPECTED[0]
        put(run, 3, keep=1)  # and when there is room again, all is well
        assert good(load(run)) == 3
        assert {p.name for p in (run / "checkpoints").iterdir()} == {"000003", "latest"}
        if not came:
            break
    assert not came
    assert failed > 10


@pytest.fixture
def small_disk(monkeypatch):
    """A disk with room for a given number of checkpoints, and not one more."""
    true_write, room = checkpoint.write_folder, 0

    def write_folder(folder, *rest):
        if len(numbered(folder.parent)) >= room:
            (folder / "000.safetensors").write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        true_write(folder, *rest)

    def resize(checkpoints: int) -> None:
        nonlocal room
        room = checkpoints

    monkeypatch.setattr(checkpoint, "write_folder", write_folder)
    return resize


def test_on_a_small_disk_old_ones_go_first_but_never_the_last_good_one(tmp_path, small_disk):
    small_disk(2)
    home = tmp_path / "checkpoints"
    for i in range(1, 6):
        put(tmp_path, i, keep=2)
        assert sorted(numbered(home)) == ([i - 1, i] if i > 1 else [1])
    # The newest is damaged: the one before it is the last good one, and stays.
    (home / "000005" / "000.safetensors").write_bytes(b"")
    put(tmp_path, 6, keep=2)
    assert sorted(numbered(home)) == [4, 6]
    small_disk(1)
    with pytest.raises(SaveError, match=r"000007 is NOT saved \(No space left on device\)"):
        put(tmp_path, 7, keep=1)
    assert sorted(numbered(home)) == [6]
    assert good(load(tmp_path)) == 6
    assert not list(home.glob(".saving-*"))


def test_a_disk_too_small_for_all_that_is_to_be_kept_holds_the_newest(tmp_path, small_disk):
    small_disk(3)
    said: list[str] = []
    put(tmp_path, 1, keep=9, milestone=True, say=said.append)
    for i in range(2, 6):
        put(tmp_path, i, keep=9, say=said.append)
    assert sorted(numbered(tmp_path / "checkpoints")) == [1, 4, 5]
    assert good(load(tmp_path)) == 5
    drop = "the disk is full: checkpoint {:06d} is dropped to make room for {:06d}".format
    assert said == [drop(2, 4), drop(3, 5)]


def test_a_milestone_outlives_a_run_that_went_on_from_before_it(tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 5, milestone=True)
    put(tmp_path, 6)
    for i in (2, 3):
        put(tmp_path, i, keep=1)
    assert sorted(numbered(tmp_path / "checkpoints")) == [3, 5]
    assert good(load(tmp_path)) == 3
    said: list[str] = []
    for i in (5, 7, 9):  # and when the run comes by again, that one is kept for good
        put(tmp_path, i, keep=1, say=said.append)
    assert sorted(numbered(tmp_path / "checkpoints")) == [5, 9]
    assert [line.split()[:2] for line in said] == [["milestone", "000005"]]


def test_no_checkpoint_is_written_where_there_is_no_run(tmp_path):
    with pytest.raises(SaveError, match=r"NOT saved \(No such file or directory\)"):
        put(tmp_path / "gone", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_crash_at_any_moment_leaves_a_whole_latest(tmp_path, disk):
    found = set()
    for n in range(200):
        run = tmp_path / str(n)
        run.mkdir()
        put(run, 1, keep=1)
        disk.arm(n, Killed(), dead=True)
        with contextlib.suppress(Killed):
            put(run, 2, keep=1)
        came = disk.calm()
        said: list[str] = []
        found.add(good(load(run, said.append)))
        assert said == []
        put(run, 2, keep=1)
        assert good(load(run)) == 2
        assert {p.name for p in (run / "checkpoints").iterdir()} == {"000002", "latest"}
        if not came:
            break
    assert not came
    assert found == {1, 2}


def test_what_json_would_change_is_refused_by_name(tmp_path):
    for bad, name in (({"a": (1, 2)}, "facts.a"), ({"a": {3: 1}}, "facts.a"), ({"x": {1}}, "x")):
        with pytest.raises(TypeError, match=name):
            write_folder(tmp_path, {}, bad)


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("swap.runs.shards.FORMAT", 2)
    write_folder(tmp_path, {}, {})
    monkeypatch.setattr("swap.runs.shards.FORMAT", 1)
    with pytest.raises(DamagedError, match="format 2; upgrade swap"):
        read_folder(tmp_path)
