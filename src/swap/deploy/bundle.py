"""Reads a bundle, the folder that `swap export` writes, and refuses one that is damaged or does not
fit, in one line."""

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swap.deploy.spec import FORMAT, BundleSpec, FileSpec, parse
from swap.errors import UserError, printable
from swap.files import open_untrusted

CARD = "swap.json"
MOST_BYTES = 1 << 28
"""No file of a bundle has as many."""


@dataclass(frozen=True)
class Bundle:
    """What was read: facts, and graphs as the bytes whose hashes were checked."""

    path: Path
    spec: BundleSpec
    seal: str
    """The sha256 of the card, which holds those of all files: one name for all of it."""
    world_model: bytes
    policy: bytes
    vectors: bytes


def read_bundle(
    path: Path, *, robot: str | None = None, joints: Sequence[str] | None = None
) -> Bundle:
    """`robot`: it must be of this one; `joints`: it must have just these, in any order."""
    if not path.is_dir():
        raise UserError(f"no bundle '{path}'; name a folder that swap export wrote")
    if not os.path.lexists(path / CARD):
        raise UserError(
            f"'{path}' is no bundle, it has no {CARD}; name a folder that swap export wrote"
        )
    card = _card(path)
    spec = parse(BundleSpec, {k: x for k, x in card.items() if k not in ("format", "seal")})
    if robot is not None and spec.robot != robot:
        raise _refused(path, f"it is of robot '{spec.robot}', not of '{robot}'")
    if joints is not None and (other := sorted(set(joints) ^ set(spec.joint_names))):
        names = ", ".join(other[:4])
        raise _refused(path, f"its joints are not the robot's; these differ: {names}")
    _check_shapes(path, spec)
    files = (spec.world_model.file, spec.policy.file, spec.vectors)
    return Bundle(path, spec, card["seal"], *(_content(path, file) for file in files))


def seal(card: Mapping[str, Any]) -> str:
    """The sha256 of all that a card says but this."""
    said = {key: value for key, value in card.items() if key != "seal"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_spec(name: str, data: bytes) -> FileSpec:
    return FileSpec(name, len(data), hashlib.sha256(data).hexdigest())


def _card(path: Path) -> dict[str, Any]:
    data = _read(path, CARD)
    try:
        card = json.loads(data)
    except (ValueError, RecursionError):
        raise _refused(path, f"{CARD} is not JSON; export it again") from None
    if not isinstance(card, dict):
        raise _refused(path, f"{CARD} holds no table; export it again")
    if (version := card.get("format")) != FORMAT:
        told = printable(repr(version), 20)
        raise _refused(path, f"it is of format {told}, this swap reads {FORMAT}; export it again")
    try:
        fine = card.get("seal") == seal(card)
    except (ValueError, RecursionError):
        fine = False
    if not fine:
        raise _refused(path, f"{CARD} was altered (its seal differs); export it again")
    return card


def _content(path: Path, spec: FileSpec) -> bytes:
    data = _read(path, spec.file)
    if len(data) != spec.bytes:
        raise _refused(path, f"{spec.file} has {len(data)} bytes instead of {spec.bytes}")
    if hashlib.sha256(data).hexdigest() != spec.sha256:
        raise _refused(path, f"{spec.file} was altered (its sha256 differs)")
    return data


def _read(path: Path, name: str) -> bytes:
    try:
        with open(path / name, "rb", opener=open_untrusted) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
                raise _refused(path, f"{name} is no plain file of a bundle")
            return file.read()
    except OSError as error:
        raise _refused(path, f"{name} cannot be read ({error.strerror})") from None


def _check_shapes(path: Path, spec: BundleSpec) -> None:
    """The graphs must read what the facts say there is."""
    n, seen, o = len(spec.joints), spec.world_model.inputs, spec.observation
    h, z = spec.world_model.outputs.get("next_h"), spec.world_model.outputs.get("next_z")
    sight = (1, spec.camera.rows, spec.camera.cols)
    wanted = {
        "depth": sight,
        "proprioception": (1, spec.width(o.proprioception)),
        "actions": (1, spec.ticks_every, n),
        "h": h,
        "z": z,
        "noise": z,
    }
    acts = {"history": (1, spec.width(o.history) * o.history_steps), "command": (1, 3), "h": h}
    if h is None or z is None or seen != wanted or spec.policy.inputs != acts:
        raise _refused(path, "its graphs do not read what its facts say; export it again")
    if spec.policy.outputs != {"action": (1, n)}:
        raise _refused(path, f"its policy does not move {n} joints; export it again")


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"bundle '{path}' is refused: {why}")
