"""Writes a folder of checksummed files, shards of tensors with a manifest, and reads it back.

    000.safetensors, 001.safetensors, ...   the tensors, each file small enough to commit or to send
    manifest.json                           the facts, who wrote it, size and sha256 of every shard
    manifest.sha256                         seals the manifest; `sha256sum -c` reads it

Reading checks every checksum before it uses a byte, and the contents of the manifest before it
follows them. Nothing is pickled.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from swap.files import sync_folder, write_file
from swap.presets.run_cfg import RunCfg
from swap.runs.provenance import origin
from swap.runs.safe_read import DamagedError, is_count, parse_json, parse_tensors, read_file

__all__ = ["DamagedError", "read_folder", "read_manifest", "write_folder"]

FORMAT = 1
"""Format of the manifest; a reader refuses a newer one."""
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
SHARD = re.compile(r"[0-9]{3,9}\.safetensors")
MIB = 1 << 20


def write_folder(
    folder: Path,
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
    shard_mib: float = RunCfg.shard_mib,
) -> None:
    """Fills an empty folder and flushes it to the disk."""
    plain(facts, "facts")
    shards, split = pack(tensors, int(shard_mib * MIB))
    listed = {}
    for i, shard in enumerate(shards):
        name, data = f"{i:03d}.safetensors", safetensors.torch.save(shard)
        write_file(folder / name, data)
        listed[name] = {"bytes": len(data), "sha256": sha256(data)}
    manifest = {
        "format": FORMAT,
        **origin(),
        "shards": listed,
        "split": split,
        **facts,
    }
    text = (json.dumps(manifest, indent=1) + "\n").encode()
    write_file(folder / MANIFEST, text)
    write_file(folder / SEAL, seal(text))
    sync_folder(folder)


def read_folder(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Returns the tensors, on the CPU, and the manifest; a DamagedError names the first bad
    file."""
    manifest = read_manifest(folder)
    pieces: dict[str, Tensor] = {}
    for name, facts in manifest["shards"].items():
        data = read_file(folder / name, size=facts["bytes"])
        if sha256(data) != facts["sha256"]:
            raise DamagedError(f"{name} is not what was written (its sha256 differs)")
        mine = parse_tensors(data, name)
        if twice := pieces.keys() & mine.keys():
            raise DamagedError(f"{name} holds '{min(twice)}', which another shard holds too")
        pieces |= mine
    return unpack(pieces, manifest["split"]), manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads only the manifest and checks it against its checksum; all its shards must lie in that
    folder."""
    if folder.is_symlink():
        raise DamagedError(f"{folder.name} is a symbolic link, not a folder")
    text, sealed = read_file(folder / MANIFEST), read_file(folder / SEAL)
    if len(sealed) != len(seal(text)):
        raise DamagedError(f"{SEAL} is cut short or has grown")
    if sealed != seal(text):
        raise DamagedError(f"{MANIFEST} and its seal {SEAL} differ")
    manifest = parse_json(text, MANIFEST)
    version, shards, split = (manifest.get(key) for key in ("format", "shards", "split"))
    if not is_count(version):
        raise DamagedError(f"{MANIFEST} has no format")
    if version > FORMAT:
        raise DamagedError(f"{MANIFEST} is of format {version}; upgrade swap to read it")
    if not isinstance(shards, dict) or not isinstance(split, dict):
        raise DamagedError(f"{MANIFEST} lists no shards")
    for name, facts in shards.items():
        if not SHARD.fullmatch(name):
            raise DamagedError(f"{MANIFEST} lists '{name}', which is no name of a shard")
        fine = isinstance(facts, dict) and is_count(facts.get("bytes"))
        if not fine or not isinstance(facts.get("sha256"), str):
            raise DamagedError(f"{MANIFEST} does not say the size and the sha256 of {name}")
    for name, shape in split.items():
        if not isinstance(shape, list) or not all(map(is_count, shape)):
            raise DamagedError(f"{MANIFEST} gives '{name}' no shape")
    return manifest


def pack(
    tensors: Mapping[str, Tensor], limit: int
) -> tuple[list[dict[str, Tensor]], dict[str, list[int]]]:
    """Packs tensors into shards of at most `limit` bytes; splits larger tensors into flat pieces
    `name#0`, ..."""
    # Copies, even on the CPU, because safetensors refuses tensors that share memory (tied weights).
    copies = {name: x.detach().to("cpu", copy=True).contiguous() for name, x in tensors.items()}
    split: dict[str, list[int]] = {}
    pieces: dict[str, Tensor] = {}
    for name, x in copies.items():
        if "#" in name:
            raise ValueError(f"tensor name '{name}' holds '#', which marks pieces of a tensor")
        if x.nbytes <= limit:
            pieces[name] = x
        else:
            split[name] = list(x.shape)
            parts = x.reshape(-1).split(max(limit // x.element_size(), 1))
            pieces |= {f"{name}#{i}": part.clone() for i, part in enumerate(parts)}
    shards: list[dict[str, Tensor]] = [{}]
    room = limit
    for name, x in pieces.items():
        if x.nbytes > room and shards[-1]:
            shards.append({})
            room = limit
        shards[-1][name] = x
        room -= x.nbytes
    return shards, split


def unpack(pieces: dict[str, Tensor], split: Mapping[str, list[int]]) -> dict[str, Tensor]:
    """Reverses `pack`; raises DamagedError if pieces are missing, too many, or do not add up."""
    tensors = {name: x for name, x in pieces.items() if "#" not in name}
    left = pieces.keys() - tensors.keys()
    for name, shape in split.items():
        count = sum(piece.startswith(f"{name}#") for piece in left)
        parts = [pieces.get(f"{name}#{i}") for i in range(count)]
        whole_parts = [x for x in parts if x is not None and x.dim() == 1]
        fine = count and len(whole_parts) == count and len({x.dtype for x in whole_parts}) == 1
        if not fine or sum(x.numel() for x in whole_parts) != math.prod(shape) or name in tensors:
            raise DamagedError(f"the pieces of '{name}' do not add up to {shape}")
        tensors[name] = torch.cat(whole_parts).reshape(shape)
        left -= {f"{name}#{i}" for i in range(count)}
    if left:
        raise DamagedError(f"'{min(left)}' is a piece of no tensor")
    return tensors


def plain(value: Any, where: str) -> None:
    """Raises a TypeError for what JSON does not return unchanged, such as a tuple or an int key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}; JSON keeps text keys only")
            plain(item, f"{where}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            plain(item, f"{where}[{i}]")
    elif value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(f"{where} is a {type(value).__name__}; make it a list, number or text")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def seal(text: bytes) -> bytes:
    return f"{sha256(text)}  {MANIFEST}\n".encode()
