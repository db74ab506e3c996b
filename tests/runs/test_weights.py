"""Weights from strangers that do not fit their config are refused in one line."""

import json
import struct
from dataclasses import replace

import pytest
import safetensors.torch
import torch

import tiny_swap
from swap.env import ParkourEnv
from swap.errors import UserError
from swap.runs import load, load_weights, save_weights
from swap.runs.saved_model import keep_model
from swap.runs.trained_robot import load_trained
from swap.runs.weights import NEW
from tampered_files import edit, first, one_line, raw, shard


def rewritten(kept, change):
    """The kept file with other tensors."""
    tensors, card = load_weights(kept)
    change(tensors)
    rest = {key: x for key, x in card.items() if key not in (*NEW, "bytes", "sha256")}
    save_weights(kept, tensors, rest)


def spoil(value):
    def change(tensors):
        tensors[first(tensors)][0, 0] = value

    return change


def drop_networks(tensors):
    for name in [name for name in tensors if name.startswith("policy/")]:
        del tensors[name]


def cast(dtype):
    def change(tensors):
        name = first(tensors)
        tensors[name] = tensors[name].to(dtype)

    return change


def driven(kept):
    robot = load_trained(kept)
    return robot.networks_for(ParkourEnv(robot.cfg.env, 2))


def put(name, x):
    return lambda tensors: tensors.update({name: x})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (spoil(float("nan")), "holds NaN or infinite numbers"),
        (spoil(float("-inf")), "holds NaN or infinite numbers"),
        (drop_networks, "it holds no networks"),
        (lambda tensors: tensors.pop(first(tensors)), "is not among the weights"),
        (put("policy/third_eye", torch.zeros(3)), "'policy/third_eye' is among the weights"),
        (put("model/eye", torch.zeros(3)), "'model/' is among the weights, and not in the config"),
        (put("evil\x1b[2J", torch.zeros(3)), "it holds 'evil.x1b.2J', which is of no network"),
        (cast(torch.float16), "of float16 in the weights, .* of float32 in the config"),
        (cast(torch.float64), "of float64 in the weights, .* of float32 in the config"),
        (cast(torch.complex64), "of complex64 in the weights"),
        (lambda t: t.update({first(t): t[first(t)].T.contiguous()}), r"in the weights, \["),
        (put("curriculum/box", torch.tensor([99], dtype=torch.int16)), "box' is no curriculum"),
        (put("curriculum/box", torch.tensor([-1], dtype=torch.int16)), "box' is no curriculum"),
        (put("curriculum/box", torch.zeros(0, dtype=torch.int16)), "box' is no curriculum"),
        (put("curriculum/box", torch.zeros(2)), "box' is no curriculum"),
        (put("curriculum/moon", torch.zeros(2, dtype=torch.int16)), "moon' is no curriculum"),
    ],
)
def test_weights_that_are_none(kept, change, says):
    rewritten(kept, change)
    with pytest.raises(UserError, match=says) as error:
        driven(kept)
    one_line(error)


def test_a_config_of_networks_that_cannot_be_in_the_file(kept):
    def widen(card):
        card["cfg"]["policy"]["actor_hidden"] = [10**9]

    edit(kept.with_suffix(".json"), widen, reseal=True)
    with pytest.raises(UserError, match=r"a layer 1000000000 wide is not in a file of") as error:
        driven(kept)
    one_line(error)


def test_a_config_of_images_that_no_encoder_in_the_file_reads(tmp_path):
    model = tiny_swap.robot()
    file = tmp_path / "sees.safetensors"
    made = model.networks_for(ParkourEnv(model.cfg.env, 1))
    tensors = {f"policy/{name}": x for name, x in made.policy.state_dict().items()}
    tensors |= {f"model/{name}": x for name, x in made.model.state_dict().items()}
    keep_model(replace(model, tensors=tensors), file, {})
    assert load_trained(file).has_world_model

    def widen(card):
        card["cfg"]["env"]["camera"]["optics"]["rows"] = 2**30

    edit(file.with_suffix(".json"), widen, reseal=True)
    with pytest.raises(UserError, match=r"a layer 1073741824 wide is not in a file of") as error:
        driven(file)
    one_line(error)


def test_a_file_without_tensors_is_no_untrained_robot(kept):
    raw(kept, safetensors.torch.save({}))
    with pytest.raises(UserError, match=r"kept.safetensors holds no tensors") as error:
        load_trained(kept)
    one_line(error)
    with pytest.raises(UserError, match="there are no tensors to write"):
        save_weights(kept, {}, {})


def test_a_model_that_sees_and_has_lost_its_eyes(tmp_path):
    """Missing parts of world models are reported, too."""
    robot = tiny_swap.robot()
    nets = robot.networks_for(ParkourEnv(robot.cfg.env, 2))
    tensors = {f"policy/{k}": x for k, x in nets[0].state_dict().items()}
    blind = replace(robot, tensors=tensors)
    with pytest.raises(UserError, match=r"'model/.*' is not among the weights"):
        blind.networks_for(ParkourEnv(robot.cfg.env, 2))


def header(table, body=b"", length=None):
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(shape, start=0, end=4, dtype="F32"):
    return {"policy/x": {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234",
        b"not a file of tensors at all",
        header(entry([1]), b"1234", length=2**63),
        header(entry([1]), b"1234", length=2**64 - 1),
        header(entry([1]), b"1234", length=3),
        header(entry([1]), b"12"),  # shorter than it says
        header(entry([1]), b"123456"),  # longer than it says
        header(entry([2]), b"1234"),
        header(entry([2**40]), b"1234"),
        header(entry([2**62, 2**62]), b"1234"),  # the product overflows
        header(entry([2**33, 2**33]), b"1234"),  # to zero
        header(entry([0, 2**62, 2**62], end=0)),
        header(entry([-1]), b"1234"),
        header(entry([1], start=4, end=0), b"1234"),
        header(entry([1], start=2**60, end=2**60 + 4), b"1234"),
        header(entry([1], dtype="PICKLE"), b"1234"),
        header({"policy/x": [1, 2]}, b"1234"),
        struct.pack("<Q", 200_000) + b"[" * 200_000,
    ],
    ids=range(19),
)
def test_a_header_that_does_not_add_up(home, kept, place, data):
    raw(kept, data)
    with pytest.raises(UserError, match=r"kept.safetensors (is not a file of tensors|ho)") as error:
        load_trained(kept)
    one_line(error)
    shard(place, data)
    said: list[str] = []
    assert load(home / "run", said.append).iteration == 0
    assert said[0].startswith("checkpoint 000001 is refused: 000.safetensors is not a file of")
    assert said[0].isprintable()
