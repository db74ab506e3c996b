"""Weights to publish: tensors and a card in, one safetensors file and its JSON card out, and back.

The card (config, seed, steps, figures) lies beside the weights under the same name and seals them.
"""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from swap.errors import UserError
from swap.files import beside, replace_pair
from swap.runs.shards import pack, plain, sha256

ENDING = ".safetensors"


def save_weights(path: Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """`models/teacher.safetensors` and `models/teacher.json`."""
    plain(card, "card")
    if path.suffix != ENDING:
        raise UserError(f"weights file '{path}' must end in {ENDING}")
    (shard,), _ = pack(tensors, sum(x.nbytes for x in tensors.values()) + 1)
    data = safetensors.torch.save(shard)
    sealed = {**card, "bytes": len(data), "sha256": sha256(data)}
    text = (json.dumps(sealed, indent=1) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_pair(path, data, path.with_suffix(".json"), text)


def load_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and the card; one line if either is missing or damaged."""
    if not path.is_file():
        raise UserError(f"no file '{path}'; weights are NAME{ENDING} and NAME.json together")
    data = path.read_bytes()
    card_file = card_of(path, data)
    if not card_file.is_file():
        raise UserError(f"no file '{card_file}'; weights are NAME{ENDING} and NAME.json together")
    try:
        card: dict[str, Any] = json.loads(card_file.read_bytes())
        expected = card["sha256"]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"the card '{card_file}' is damaged; fetch it again") from None
    if sha256(data) != expected:
        raise UserError(f"'{path}' is not what its card seals (sha256 differs); fetch it again")
    return safetensors.torch.load(data), card


def card_of(path: Path, data: bytes) -> Path:
    """Where the card of these weights is: in its place, or beside it, if whoever wrote the two was
    stopped between them."""
    place = path.with_suffix(".json")
    for file in (place, beside(place)):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(file.read_bytes())["sha256"] == sha256(data):
                return file
    return place
