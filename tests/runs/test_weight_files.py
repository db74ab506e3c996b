"""A file of weights and its card belong together at any moment, or are refused."""

import contextlib
import errno

import pytest

from swap.errors import UserError
from swap.files import beside
from swap.runs import (
    load_weights,
    save_weights,
)
from toy_state import Killed, same, state


def test_weights_travel_with_their_card(tmp_path):
    path = tmp_path / "models" / "teacher.safetensors"
    save_weights(path, state(1), {"seed": 1, "success": {"box": 0.97}})
    tensors, card = load_weights(path)
    assert same(tensors, state(1))
    assert card["success"] == {"box": 0.97}
    flipped = bytearray(path.read_bytes())
    flipped[-1] ^= 1
    path.write_bytes(bytes(flipped))
    with pytest.raises(UserError, match=r"teacher.safetensors is not what its card seals"):
        load_weights(path)
    path.with_suffix(".json").write_text("{")
    with pytest.raises(UserError, match=r"teacher.json' is damaged"):
        load_weights(path)
    path.with_suffix(".json").unlink()
    with pytest.raises(UserError, match=r"no file .*teacher.json"):
        load_weights(path)


def test_a_model_that_is_kept_anew_is_the_old_or_the_new_one_at_any_moment(tmp_path, disk):
    """Killed at the n-th operation on the disk; the card always belongs to the weights."""
    found = []
    for n in range(100):
        path = tmp_path / str(n) / "robot.safetensors"
        save_weights(path, state(1), {"of": 1})
        disk.arm(n, Killed(), dead=True)
        with contextlib.suppress(Killed):
            save_weights(path, state(2), {"of": 2})
        came = disk.calm()
        tensors, card = load_weights(path)
        assert same(tensors, state(card["of"]))
        found.append(card["of"])
        save_weights(path, state(3), {"of": 3})
        assert load_weights(path)[1]["of"] == 3
        assert {p.name for p in path.parent.iterdir()} == {"robot.safetensors", "robot.json"}
        if not came:
            break
    assert not came
    assert found == sorted(found)
    assert found.count(1) > 3
    assert found.count(2) > 3


def test_a_full_disk_leaves_the_old_model_and_nothing_beside_it(tmp_path, disk):
    for n in range(100):
        path = tmp_path / str(n) / "robot.safetensors"
        save_weights(path, state(1), {"of": 1})
        disk.arm(n, OSError(errno.ENOSPC, "No space left on device"))
        failed = False
        try:
            save_weights(path, state(2), {"of": 2})
        except OSError as error:
            failed = True
            named = error.filename
        came = disk.calm()
        tensors, card = load_weights(path)
        assert same(tensors, state(card["of"]))
        assert failed or card["of"] == 2
        if card["of"] == 1:
            assert n == 0 or named == str(path)  # 0: when its folder is made
            assert {p.name for p in path.parent.iterdir()} == {"robot.safetensors", "robot.json"}
        if not came:
            break
    assert not came


def test_a_stopped_save_and_then_a_full_disk_leave_the_last_good_model(tmp_path, disk):
    """The card of a save that was stopped halfway waits beside its place; a save that fails
    removes what waits there."""
    path = tmp_path / "robot.safetensors"
    for n in range(100):
        save_weights(path, state(1), {"of": 1})
        save_weights(path, state(2), {"of": 2})
        card = path.with_suffix(".json")
        card.rename(beside(card))
        disk.arm(n, OSError(errno.ENOSPC, "No space left on device"))
        with contextlib.suppress(OSError):
            save_weights(path, state(3), {"of": 3})
        came = disk.calm()
        tensors, told = load_weights(path)
        assert told["of"] in (2, 3)
        assert same(tensors, state(told["of"]))
        if not came:
            break
    assert not came
    assert told["of"] == 3


def test_a_card_that_waits_beside_its_place_serves_only_its_own_weights(tmp_path):
    path = tmp_path / "robot.safetensors"
    save_weights(path, state(1), {"of": 1})
    old = path.read_bytes()
    save_weights(path, state(2), {"of": 2})
    card = path.with_suffix(".json")
    card.rename(beside(card))
    assert load_weights(path)[1]["of"] == 2
    path.write_bytes(old)
    with pytest.raises(UserError, match=r"no file .*robot\.json"):
        load_weights(path)
