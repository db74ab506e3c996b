"""Compiled layers (torch.compile) are exactly equivariant in the forward pass."""

import shutil

import pytest
import torch

from swap.evaluate.layer_check import PRECISIONS, mirror_error
from swap.evaluate.layer_examples import examples

pytestmark = pytest.mark.skipif(
    not shutil.which("c++"), reason="torch.compile on the CPU needs a C++ compiler"
)
COMPILED = [
    *("Linear prop 33 -> 512", "MLP actor 725-256-128-64-12", "MLP decoder 512-512-386, norm"),
    *("ConvTrunk mixed 64x64", "ConvDecoder unmixed 64x64", "GRUCell 512 + 512"),
    *("Categoricals 32 x 32: sample, KL", "Gaussian actions: sample, density"),
]
EXAMPLES = {example.name: example for example in examples(steps=2)}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch's own
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_layers_are_exact(name):
    torch.manual_seed(0)
    module = EXAMPLES[name].build(True)
    for precision in PRECISIONS:
        assert mirror_error(module, EXAMPLES[name], precision, "cpu", compiled=True) == 0, precision
        torch.compiler.reset()
