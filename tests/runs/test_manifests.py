"""Manifests from strangers: damage is reported, and no name leads out of the folder."""

import json
import shutil

import pytest
import safetensors.torch
import torch

from small_parkour import SMALL
from swap import __version__
from swap.errors import UserError
from swap.presets import RunCfg
from swap.runs import from_json, load, train
from swap.runs.provenance import ROOT, source_state
from swap.runs.shards import DamagedError, read_folder, write_folder
from tampered_files import first, flips, manifest, one_line, shard
from toy_run import Silent


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256", "000.safetensors"])
def test_a_flipped_byte_of_a_checkpoint_is_told_and_the_one_before_is_used(home, place, name):
    file = place / name
    whole = file.read_bytes()
    for data in flips(whole, 300 if name == "manifest.json" else 40):
        file.write_bytes(data)
        said: list[str] = []
        assert load(home / "run", said.append).iteration == 0
        assert said[0].startswith("checkpoint 000001 is refused: ")
        assert said[1:] == ["using checkpoint 000000 instead"]
        assert said[0].isprintable()


def moved(name):
    def change(told):
        told["shards"][name] = told["shards"].pop("000.safetensors")

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (moved("../000000/000.safetensors"), "lists '../000000/000.safetensors', which is no name"),
        (moved("/etc/passwd"), "lists '/etc/passwd', which is no name of a shard"),
        (moved("manifest.json"), "lists 'manifest.json', which is no name of a shard"),
        (moved("\x1b[2J.safetensors"), "which is no name of a shard"),
        (moved("001.safetensors"), "001.safetensors cannot be read"),
        (lambda told: [1], "holds no table"),
        (lambda told: told.pop("format") and None, "has no format"),
        (lambda told: told.update(format="1"), "has no format"),
        (lambda told: told.update(format=99), "of format 99; upgrade swap"),
        (lambda told: told.update(shards=[]), "lists no shards"),
        (lambda told: told.update(shards={}), "000001 holds no tensors"),
        (lambda told: told.update(split=3), "lists no shards"),
        (lambda told: told.update(split={"x": [2]}), r"the pieces of 'x' do not add up to \[2\]"),
        (lambda told: told.update(split={"x": [-2]}), "gives 'x' no shape"),
        (lambda told: told["shards"].update({"000.safetensors": 3}), "does not say the size"),
        (lambda told: told["shards"]["000.safetensors"].update(bytes=2**70), "bytes instead of"),
        (lambda told: told.update(iteration="1"), "is not that of a checkpoint"),
        (lambda told: told.update(config=None), "is not that of a checkpoint"),
        (lambda told: told.pop("numbers") and None, "is not that of a checkpoint"),
    ],
)
def test_a_manifest_that_is_none(home, place, change, says):
    manifest(place, change)
    said: list[str] = []
    assert load(home / "run", said.append).iteration == 0
    assert said[0].startswith("checkpoint 000001 is refused: ")
    assert says.replace("\\", "") in said[0]
    assert said[0].isprintable()


@pytest.mark.parametrize(
    ("tensors", "split", "says"),
    [
        ({"x#0": torch.ones(2), "x#2": torch.ones(2)}, {"x": [4]}, "pieces of 'x' do not add up"),
        ({"x#0": torch.ones(2), "x#1": torch.ones(2)}, {"x": [5]}, "pieces of 'x' do not add up"),
        ({"x#0": torch.ones(2), "x#1": torch.ones(2).int()}, {"x": [4]}, "do not add up"),
        ({"x#0": torch.ones(2, 2)}, {"x": [4]}, "pieces of 'x' do not add up"),
        ({"x#0": torch.ones(4), "x": torch.ones(4)}, {"x": [4]}, "pieces of 'x' do not add up"),
        ({"x#0": torch.ones(4)}, {}, "'x#0' is a piece of no tensor"),
        ({"x#0": torch.ones(4)}, {"x": [2**32, 2**32]}, "pieces of 'x' do not add up"),
    ],
)
def test_pieces_that_do_not_add_up(place, tensors, split, says):
    shard(place, safetensors.torch.save(tensors))
    manifest(place, lambda told: told.update(split=split))
    with pytest.raises(DamagedError, match=says):
        read_folder(place)


def test_a_tensor_in_two_shards_is_told(tmp_path):
    write_folder(tmp_path, {"x": torch.ones(2), "y": torch.ones(2)}, {}, shard_mib=9 / 2**20)
    told = json.loads((tmp_path / "manifest.json").read_text())["shards"]
    shutil.copy(tmp_path / "000.safetensors", tmp_path / "001.safetensors")
    manifest(tmp_path, lambda m: m["shards"].update({"001.safetensors": told["000.safetensors"]}))
    with pytest.raises(DamagedError, match="which another shard holds too"):
        read_folder(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_broken_weights_of_a_checkpoint_are_passed_over(home, place, value):
    tensors = safetensors.torch.load_file(place / "000.safetensors")
    tensors[first(tensors)][0, 0] = value
    shard(place, safetensors.torch.save(tensors))
    said: list[str] = []
    assert load(home / "run", said.append).iteration == 0
    assert "holds NaN or infinite numbers" in said[0]


def test_a_run_as_it_was_written_goes_on(home, place):
    resealed(place, lambda tensors: None)
    manifest(place, lambda told: None)
    resumed(home / "run")


def test_a_manifest_says_who_wrote_it_and_when(place):
    _, told = read_folder(place)
    assert told["swap"] == __version__
    assert told["time"].endswith("+00:00")
    assert told["git"] == source_state(ROOT)


def resealed(place, change):
    tensors = safetensors.torch.load_file(place / "000.safetensors")
    change(tensors)
    shard(place, safetensors.torch.save(tensors))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.update({"other/x": torch.ones(2)}), "'other/x' .* has no place"),
        (lambda t: t.update({first(t): t[first(t)].double()}), "as torch.float64, not as torch.fl"),
        (lambda t: t.pop(first(t)), "is not among the saved tensors"),
        (lambda t: t.pop("env/count"), "'count' is not among the saved tensors"),
        (lambda t: t["run/rng/numpy"].fill_(-1), "out of bounds"),
        (lambda t: t["run/rng/torch"].fill_(255), "Invalid"),
    ],
)
def test_tensors_of_a_run_that_do_not_fit_are_one_line(home, place, change, says):
    resealed(place, change)
    with pytest.raises(UserError, match=says) as error:
        resumed(home / "run")
    assert f"swap train --from {home / 'run'}" in one_line(error)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"running": 1}, "'numbers.running' is a int, not a bool"),
        ({"iteration": 1.5}, "'numbers.iteration' is a float, not a int"),
        ({"planned": "soon"}, "'numbers.planned' is no number"),
        ({"iteration": None}, "'numbers.iteration' is a NoneType, not a int"),
    ],
)
def test_numbers_of_a_run_that_are_none_are_one_line(home, place, change, says):
    manifest(place, lambda told: told["numbers"].update(change))
    with pytest.raises(UserError, match=says) as error:
        resumed(home / "run")
    one_line(error)


def resumed(run):
    found = load(run)
    assert found.iteration == 1
    cfg = from_json(type(SMALL), found.config["cfg"])
    train(cfg.build("cpu"), run, RunCfg(iterations=1), resume=found, board=Silent())
