"""Files that a stranger might send: changed kept files and checkpoints whose checksums fit."""

import json
import random

from swap.runs.shards import seal, sha256
from swap.runs.weights import seal as seal_of_card


def flips(data, count):
    """`count` copies, each with one bit or byte changed."""
    chance = random.Random(0)
    for k in range(count):
        at, other = chance.randrange(len(data)), bytearray(data)
        other[at] ^= 1 << chance.randrange(8) if k % 2 else chance.randrange(1, 256)
        yield bytes(other)


def edit(file, change, reseal=False):
    card = json.loads(file.read_text())
    change(card)
    if reseal:
        card["seal"] = seal_of_card(card)
    file.write_text(json.dumps(card))


def raw(kept, data):
    """These bytes as weights, with a card that seals them."""
    kept.write_bytes(data)
    edit(
        kept.with_suffix(".json"),
        lambda card: card.update(bytes=len(data), sha256=sha256(data)),
        reseal=True,
    )


def manifest(place, change):
    """Another manifest, with a seal that fits."""
    file = place / "manifest.json"
    told = json.loads(file.read_text())
    told = change(told) or told
    file.write_text(json.dumps(told))
    (place / "manifest.sha256").write_bytes(seal(file.read_bytes()))


def shard(place, data):
    (place / "000.safetensors").write_bytes(data)
    facts = {"bytes": len(data), "sha256": sha256(data)}
    manifest(place, lambda told: told["shards"].update({"000.safetensors": facts}))


def first(tensors, start="policy/"):
    return next(k for k, x in sorted(tensors.items()) if k.startswith(start) and x.dim() == 2)


def one_line(error):
    assert str(error.value).isprintable()
    return str(error.value)
