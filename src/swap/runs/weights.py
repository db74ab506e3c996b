"""Weights to publish: tensors and a card in, one safetensors file and its JSON card out, and back.

The card (config, seed, steps, figures) lies beside the weights under the same name and seals them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from swap.errors import UserError
from swap.runs.shards import pack, plain, replace_file, sha256

ENDING = ".safetensors"


def save_weights(path: Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """`models/teacher.safetensors` and `models/teacher.json`."""
    plain(card, "card")
    if path.suffix != ENDING:
        raise UserError(f"weights file '{path}' must end in {ENDING}")
    (shard,), _ = pack(tensors, sum(x.nbytes for x in tensors.values()) + 1)
    data = safetensors.torch.save(shard)
    sealed = {**card, "bytes": len(data), "sha256": sha256(data)}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data)
    replace_file(path.with_suffix(".json"), (json.dumps(sealed, indent=1) + "\n").encode())


def load_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and the card; one line if either is missing or damaged."""
    card_file = path.with_suffix(".json")
    for file in (path, card_file):
        if not file.is_file():
            raise UserError(f"no file '{file}'; weights are NAME{ENDING} and NAME.json together")
    data = path.read_bytes()
    try:
        card: dict[str, Any] = json.loads(card_file.read_bytes())
        expected = card["sha256"]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"the card '{card_file}' is damaged; fetch it again") from None
    if sha256(data) != expected:
        raise UserError(f"'{path}' is not what its card seals (sha256 differs); fetch it again")
    return safetensors.torch.load(data), card
