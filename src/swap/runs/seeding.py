"""Seeds every global random generator, and saves and restores their states."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_everything(seed: int) -> None:
    """Seeds Python, numpy, and torch on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def rng_tensors() -> dict[str, Tensor]:
    """The exact states of all generators."""
    version, words, gauss = random.getstate()
    numpy: Any = np.random.get_state(legacy=False)
    numpy_gauss = torch.tensor([numpy["has_gauss"], numpy["gauss"]], dtype=torch.float64)
    python_gauss = torch.tensor([gauss is not None, gauss or 0.0], dtype=torch.float64)
    state = {
        "python": torch.tensor([version, *words], dtype=torch.int64),
        "python_gauss": python_gauss,
        "numpy": torch.tensor([numpy["state"]["pos"], *numpy["state"]["key"].tolist()]),
        "numpy_gauss": numpy_gauss,
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for i, device in enumerate(torch.cuda.get_rng_state_all()):
            state[f"cuda{i}"] = device
    return state


def restore_rng(state: Mapping[str, Tensor]) -> None:
    """Restores the states of `rng_tensors`; skips GPUs that are not here."""
    version, *words = state["python"].tolist()
    has_gauss, gauss = state["python_gauss"].tolist()
    random.setstate((version, tuple(words), gauss if has_gauss else None))
    position, *key = state["numpy"].tolist()
    has_gauss, gauss = state["numpy_gauss"].tolist()
    np.random.set_state(("MT19937", np.array(key, np.uint32), position, int(has_gauss), gauss))
    torch.set_rng_state(state["torch"])
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for i in range(count):
        if f"cuda{i}" in state:
            torch.cuda.set_rng_state(state[f"cuda{i}"], i)
