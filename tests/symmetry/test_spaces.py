"""The paper's tables, row by row, written out here by hand."""

import pytest
import torch

from swap.errors import UserError
from swap.symmetry import Grid, Grids, Spaces, quadruped, quantities

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
    assert SPACES.heights.dim == 286 + 100
    assert SPACES.depth.dim == 64 * 64
    assert SPACES.style.dim == 2 * 30
    assert SPACES.actor_history["t4.action"] == slice(4 * 42 + 30, 5 * 42)


def test_other_cameras_and_grids():
    fields = quantities(quadruped(), Grids(depth=Grid(58, 87)))
    assert fields["depth"].rep.n_even == 58 * 44


def test_unknown_field_lists_close_names():
    with pytest.raises(UserError, match="unknown field 'joint_poss'; did you mean 'joint_pos'"):
        SPACES.layout("joint_poss")
