"""Compiled layers (torch.compile) are exactly equivariant in the forward pass.

`swap check nn --compile` checks every layer in every precision; compiling takes minutes. Here each
kind of layer is compiled in fp32 with few layers, and some in another precision.
"""

import shutil

import pytest
import torch

from command_line import swap
from swap.env import Spaces
from swap.evaluate.layer_check import mirror_error
from swap.evaluate.layer_examples import Example, examples, flip_columns
from swap.nn import MLP, ConvDecoder, ConvTrunk
from swap.symmetry import regular

needs_compiler = pytest.mark.skipif(
    not shutil.which("c++"), reason="torch.compile on the CPU needs a C++ compiler"
)
torchs_own_warnings = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::UserWarning"
)
PROP, ACTION, HEIGHTS = (
    space.rep for space in (Spaces().proprioception, Spaces().action, Spaces().predicted_heights)
)
WIDE, SIZE = regular(256), (64, 64)
SHALLOW = [
    Example(
        "MLP elu", lambda eq: MLP(PROP, (512,), ACTION, equivariant=eq), [(33,)], [PROP], [ACTION]
    ),
    Example(
        "MLP silu, norm",
        lambda eq: MLP(WIDE, (512,), HEIGHTS, norm=True, act="silu", equivariant=eq),
        [(512,)],
        [WIDE],
        [HEIGHTS],
    ),
    Example(
        "ConvTrunk",
        lambda eq: ConvTrunk(SIZE, (32, 64), equivariant=eq),
        [(1, *SIZE)],
        [flip_columns],
        [regular(32 * 16 * 16)],
        batch=8,
    ),
    Example(
        "ConvDecoder",
        lambda eq: ConvDecoder(WIDE, SIZE, (64, 32), equivariant=eq),
        [(512,)],
        [WIDE],
        [flip_columns],
        batch=8,
    ),
]
FLAT = (
    *("GRUCell 512 + 512", "Categoricals 32 x 32: sample, KL"),
    "Gaussian actions: sample, density",
)
EXAMPLES = {x.name: x for x in (*SHALLOW, *(x for x in examples(steps=2) if x.name in FLAT))}
CASES = [
    *((name, "fp32") for name in EXAMPLES),
    *(("GRUCell 512 + 512", "fp64"), ("Gaussian actions: sample, density", "fp64")),
    ("MLP silu, norm", "bf16"),
]


@needs_compiler
@torchs_own_warnings
@pytest.mark.parametrize(("name", "precision"), CASES)
def test_compiled_layers_are_exact(name, precision):
    torch.manual_seed(0)
    module = EXAMPLES[name].build(True)
    torch.compiler.reset()
    assert mirror_error(module, EXAMPLES[name], precision, "cpu", compiled=True) == 0


@torchs_own_warnings
def test_without_a_compiler_the_command_is_one_line():
    from torch._inductor import config

    torch.compiler.reset()
    with config.patch({"cpp.cxx": (None, "/none")}):
        done = swap("check", "nn", "--device", "cpu", "--compile")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "torch.compile does not work here" in done.stderr
