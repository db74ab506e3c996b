"""Writes weights to publish, as one safetensors file and its JSON card, and reads them back.

The card (config with the whole robot, seed, figures, origin and time) lies beside the weights under
the same name. It holds the sha256 of the weights and, as its last line, of its own contents,
whatever their spacing. So damage to either file is found, and so is a card of other weights.
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
from swap.runs.provenance import origin
from swap.runs.safe_read import DamagedError, is_count, parse_json, parse_tensors, read_file
from swap.runs.shards import pack, plain, sha256

ENDING = ".safetensors"
FORMAT = 2
"""Format of the card; a reader refuses a newer one. Older cards have no format, seal or origin."""
SEAL = "seal"
NEW = ("format", "swap", "git", "time", SEAL)
"""The keys that older cards lack."""


def save_weights(path: Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """Writes weights and card, for example `models/teacher.safetensors` and
    `models/teacher.json`."""
    plain(card, "card")
    if path.suffix != ENDING:
        raise UserError(f"weights file '{path}' must end in {ENDING}")
    if not tensors:
        raise UserError(f"there are no tensors to write into '{path}'; name a trained robot")
    (shard,), _ = pack(tensors, sum(x.nbytes for x in tensors.values()) + 1)
    data = safetensors.torch.save(shard)
    written = {"format": FORMAT, **origin(), **card, "bytes": len(data), "sha256": sha256(data)}
    try:
        written[SEAL] = seal(written)
    except ValueError:
        raise UserError("a card holds finite numbers only; look for NaN in its figures") from None
    text = (json.dumps(written, indent=1) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    finish_stopped_save(path)
    replace_pair(path, data, path.with_suffix(".json"), text)


def finish_stopped_save(path: Path) -> None:
    """If a writer was stopped between the two files, gives the new card its place, so that the next
    writer does not replace it before it has replaced the weights."""
    card = path.with_suffix(".json")
    if beside(card).exists():
        with contextlib.suppress(UserError):
            load_pair(path, beside(card))
            beside(card).replace(card)


def load_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Returns the tensors, on the CPU, and the card; raises a UserError if either is missing or
    damaged."""
    place = path.with_suffix(".json")
    try:
        return load_pair(path, place)
    except UserError:
        # The writer may have been stopped between the two files; then the new card still has its
        # temporary name.
        with contextlib.suppress(UserError):
            return load_pair(path, beside(place))
        raise


def load_pair(path: Path, card_file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    for file in (path, card_file):
        if not file.exists() and not file.is_symlink():
            raise UserError(f"no file '{file}'; weights are NAME{ENDING} and NAME.json together")
    try:
        card = read_card(card_file)
    except DamagedError as fault:
        raise UserError(f"the card '{card_file}' is damaged: {fault}; fetch it again") from None
    try:
        data = read_file(path, size=card["bytes"])
        if sha256(data) != card["sha256"]:
            raise DamagedError(f"{path.name} is not what its card seals (sha256 differs)")
        tensors = parse_tensors(data, path.name)
        if not tensors:
            raise DamagedError(f"{path.name} holds no tensors")
    except DamagedError as fault:
        raise UserError(f"'{path}' is refused: {fault}; fetch it again") from None
    return tensors, card


def read_card(file: Path) -> dict[str, Any]:
    """Reads a card and checks it against its seal, if it has one; older cards have none."""
    card = parse_json(read_file(file), file.name)
    if any(key in card for key in NEW):
        version = card.get("format")
        if is_count(version) and version > FORMAT:
            raise UserError(f"the card '{file}' is of format {version}; upgrade swap to read it")
        try:
            fine = card.get(SEAL) == seal(card)
        except (ValueError, RecursionError):
            fine = False
        if not fine:
            raise DamagedError("it is not what was written (its seal differs)")
    if not is_count(card.get("bytes")) or not isinstance(card.get("sha256"), str):
        raise DamagedError("it does not say the size and the sha256 of its weights")
    return card


def seal(card: Mapping[str, Any]) -> str:
    """The sha256 of a card's contents without its seal; raises a ValueError if a number is not
    finite."""
    said = {key: value for key, value in card.items() if key != SEAL}
    return sha256(json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
