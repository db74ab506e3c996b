"""Layouts and mirrors equal the paper's tables, which are written out here by hand."""

import subprocess
import sys

import pytest
import torch

import swap.env
import swap.sensors
from swap.env import Spaces
from swap.errors import UserError
from swap.sensors import HeightCfg, OpticsCfg, Patch
from swap.symmetry import Grid

SPACES = Spaces()


def mirrored(name, values):
    field = SPACES.fields[name]
    return field.rep(torch.tensor(values, dtype=torch.float64)).tolist()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("lin_vel", [1, 2, 3], [1, -2, 3]),
        ("ang_vel", [1, 2, 3], [-1, 2, -3]),
        ("gravity", [1, 2, 3], [1, -2, 3]),
        ("command", [1, 2, 3], [1, -2, -3]),
        ("com_offset", [1, 2, 3], [1, -2, 3]),
        ("mass", [5], [5]),
        ("restitution", [5], [5]),
        ("friction", [5], [5]),
        ("contacts", [1, 2, 3, 4, 5, 6, 7, 8], [3, 4, 1, 2, 7, 8, 5, 6]),
    ],
)
def test_small_rows(name, values, expected):
    assert mirrored(name, values) == expected


@pytest.mark.parametrize("name", ["joint_pos", "joint_vel", "action"])
def test_joints(name):
    FL, FR, RL, RR = [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]
    expected = [-4, 5, 6, -1, 2, 3, -10, 11, 12, -7, 8, 9]
    assert mirrored(name, FL + FR + RL + RR) == expected


@pytest.mark.parametrize("name", ["kp", "kd"])
def test_gains_move_without_a_sign(name):
    assert mirrored(name, list(range(1, 13))) == [4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9]


@pytest.mark.parametrize(
    ("name", "rows", "cols"),
    [("terrain_heights", 17, 11), ("body_heights", 26, 11), ("depth", 64, 64)],
)
def test_grids_reverse_their_columns(name, rows, cols):
    image = torch.randn(rows, cols)
    flat = SPACES.fields[name].rep(image.flatten())
    assert torch.equal(flat, image.flip(-1).flatten())


def test_foot_patches_change_legs_and_are_flipped():
    patches = torch.randn(4, 5, 5)
    flat = SPACES.fields["foot_heights"].rep(patches.flatten())
    assert torch.equal(flat, patches[[1, 0, 3, 2]].flip(-1).flatten())


def test_every_row_of_the_table_is_there():
    dims = {name: field.dim for name, field in SPACES.fields.items()}
    assert dims == {
        "lin_vel": 3,
        "ang_vel": 3,
        "gravity": 3,
        "command": 3,
        "joint_pos": 12,
        "joint_vel": 12,
        "action": 12,
        "contacts": 8,
        "kd": 12,
        "kp": 12,
        "com_offset": 3,
        "mass": 1,
        "restitution": 1,
        "friction": 1,
        "terrain_heights": 187,
        "body_heights": 286,
        "foot_heights": 100,
        "depth": 4096,
    }


def test_module_inputs():
    assert SPACES.proprioception.dim == 33
    assert (SPACES.proprioception.rep.n_even, SPACES.proprioception.rep.n_odd) == (16, 17)
    assert SPACES.actor_history.dim == 5 * 42
    assert SPACES.privileged.dim == 273
    assert SPACES.predicted_heights.dim == 286 + 100
    assert SPACES.depth.dim == 64 * 64
    assert SPACES.style.dim == 2 * 30
    assert SPACES.actor_history["t4.action"] == slice(4 * 42 + 30, 5 * 42)


def test_other_cameras_and_grids():
    fields = Spaces(optics=OpticsCfg(rows=58, cols=87)).fields
    assert fields["depth"].rep.n_even == 58 * 44
    small = HeightCfg(terrain=Patch(Grid(3, 2), back_m=0.0, spacing_m=0.1, clip_m=2.0))
    assert Spaces(heights=small).privileged.dim == SPACES.privileged.dim - 187 + 6


def test_they_are_known_where_there_is_no_simulator():
    """`make test-oracles` and `make bench-oracles` must run without a simulator."""
    blocked = "import sys; sys.modules |= dict.fromkeys(('mujoco', 'mujoco_warp', 'warp'))"
    wanted = "import swap.cli.bench_nn, swap.evaluate.layer_examples; from swap.env import Spaces"
    code = f"{blocked}; {wanted}; print(Spaces().privileged.dim)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(SPACES.privileged.dim)


@pytest.mark.parametrize("package", [swap.env, swap.sensors])
def test_names_come_when_they_are_asked_for(package):
    listed = [name for names in package.MODULES.values() for name in names]
    assert sorted(listed) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'no'"):
        _ = package.no


def test_unknown_field_lists_close_names():
    with pytest.raises(UserError, match="unknown field 'joint_poss'; did you mean 'joint_pos'"):
        SPACES.layout("joint_poss")
