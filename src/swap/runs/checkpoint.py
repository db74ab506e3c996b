"""Saves the tensors, numbers and config of a run in a numbered folder, and loads them.

A checkpoint is written under a temporary name, flushed to the disk and renamed to `000123/`; the
file `latest` is updated last. So `latest` names a complete checkpoint even after a power cut.
Reading checks every hash; a damaged checkpoint is reported, and the one before it is read instead.
"""

import contextlib
import errno
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from swap.errors import UserError
from swap.files import replace_file, sync_folder
from swap.learn.trainer import NETWORKS
from swap.presets.run_cfg import RunCfg
from swap.runs.migrations import upgraded, upgraded_numbers
from swap.runs.safe_read import DamagedError, check_finite, is_count, read_file
from swap.runs.shards import MANIFEST, read_folder, write_folder

Say = Callable[[str], None]
FOLDER, LATEST, MILESTONE = "checkpoints", "latest", "milestone"
NAME = re.compile(r"[0-9]{6,}")
FULL = (errno.ENOSPC, errno.EDQUOT)


class SaveError(Exception):
    """Says in one line why a save failed, and which checkpoint is still good."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on as if it had never stopped."""

    path: Path
    iteration: int
    tensors: dict[str, Tensor]
    numbers: dict[str, Any]
    config: dict[str, Any]


def save(
    run: Path,
    iteration: int,
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    keep: int = 3,
    milestone: bool = False,
    shard_mib: float = RunCfg.shard_mib,
    say: Say = print,
) -> Path:
    """Writes `run/checkpoints/000123/`; then keeps the last few and the milestones.

    On a full disk it deletes old checkpoints, down to the last good one, and tries again: a new one
    is worth more. A failure is raised as SaveError, in one line. The folder `run` must exist: a run
    that was moved or removed is not written to its old place again.
    """
    home = run / FOLDER
    place = home / f"{iteration:06d}"
    fresh = home / f".saving-{place.name}"
    facts = {"iteration": iteration, "config": dict(config), "numbers": dict(numbers)}
    if (place / MILESTONE).exists():  # the run was resumed from before this milestone
        say(f"milestone {place.name} is of the run as it went on before; it is replaced")
        milestone = True
    if home.is_symlink():  # it would be filled and pruned elsewhere, and not read again
        raise SaveError(f"'{home}' is a symbolic link; name another folder")

    def write() -> None:
        home.mkdir(exist_ok=True)
        sweep(home)
        fresh.mkdir()
        if milestone:
            (fresh / MILESTONE).touch()
        write_folder(fresh, tensors, facts, shard_mib)
        retire(place)
        fresh.rename(place)
        sync_folder(home)
        replace_file(home / LATEST, f"{place.name}\n".encode())

    try:
        while True:
            try:
                write()
                break
            except OSError as error:
                shutil.rmtree(fresh, ignore_errors=True)
                if error.errno not in FULL or not make_room(home, iteration, keep, say):
                    raise
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        standing, why = latest_checkpoint(home), error.strerror or error
        if standing == place:  # only the last step failed
            raise SaveError(
                f"checkpoint {place.name} may not outlive a power cut ({why})"
            ) from error
        left = f"{standing.name} still stands" if standing else "there is none before it"
        raise SaveError(f"checkpoint {place.name} is NOT saved ({why}); {left}") from error
    prune(home, iteration, keep)
    return place


def load(run: Path, say: Say = print) -> Checkpoint:
    """Loads the latest checkpoint of a run, or the newest undamaged one before it.

    `run` may also be the folder of one checkpoint; then only that one is tried.
    """
    if is_checkpoint(run) and run.parent.name == FOLDER:
        try:
            return read(run)
        except DamagedError as fault:
            raise UserError(f"checkpoint {run.name} is refused: {fault}") from None
    home = run / FOLDER
    if home.is_symlink():
        raise UserError(f"'{home}' is a symbolic link; name the run that it leads to")
    refused = ""
    for place in candidates(home, say):
        try:
            found = read(place)
        except DamagedError as fault:
            refused = f"checkpoint {place.name} is refused: {fault}"
            say(refused)
            continue
        if refused:
            say(f"using checkpoint {place.name} instead")
        return found
    if refused:
        raise UserError(f"no checkpoint in '{run}' is whole; the last: {refused}")
    raise UserError(f"no checkpoint in '{run}'; name the folder of a run")


def read(place: Path) -> Checkpoint:
    """Reads one checkpoint; raises DamagedError if a byte is not what was written."""
    tensors, manifest = read_folder(place)
    iteration, numbers, config = (manifest.get(key) for key in ("iteration", "numbers", "config"))
    if not isinstance(numbers, dict) or not isinstance(config, dict) or not is_count(iteration):
        raise DamagedError(f"{MANIFEST} is not that of a checkpoint")
    if iteration != int(place.name):
        raise DamagedError(f"{place.name} holds iteration {iteration}: it was renamed")
    if not tensors:
        raise DamagedError(f"{place.name} holds no tensors")
    check_finite(tensors, NETWORKS)
    today, tensors = upgraded(config, tensors)
    numbers, tensors = upgraded_numbers(config, numbers, tensors)
    return Checkpoint(place, iteration, tensors, numbers, today)


def candidates(home: Path, say: Say) -> list[Path]:
    """The checkpoints to try: the one that `latest` names, then older ones, newest first; then
    newer ones."""
    places = sorted(numbered(home).items(), reverse=True)
    target = latest_checkpoint(home)
    if target is None:
        if places:
            say(f"the file '{LATEST}' is missing or damaged; trying the newest checkpoint")
        return [place for _, place in places]
    # One newer than `latest` was renamed just before a crash. It is good if its checksums are.
    latest = int(target.name)
    older = [place for n, place in places if n < latest]
    newer = [place for n, place in places if n > latest]
    return [target, *older, *newer]


def latest_checkpoint(home: Path) -> Path | None:
    """The checkpoint that `latest` names, if it exists."""
    try:
        name = read_file(home / LATEST, most=100).decode().strip()
    except (DamagedError, UnicodeDecodeError):
        return None
    place = home / name
    return place if NAME.fullmatch(name) and place.is_dir() else None


def prune(home: Path, newest: int, keep: int) -> None:
    """Deletes all but the last `keep` and the milestones; one that cannot be deleted may stay."""
    places = sorted(numbered(home).items())
    # A run that resumed from an older checkpoint has abandoned the newer ones.
    ahead = [place for n, place in places if n > newest]
    behind = [place for n, place in places if n <= newest]
    for place in ahead + behind[:-keep]:
        drop(place)


def make_room(home: Path, newest: int, keep: int, say: Say) -> bool:
    """Deletes checkpoints on a full disk: first those that the new one will replace, all but the
    last `keep` - 1; if there are none, the oldest, with a line. Never deletes the newest good one.
    Returns whether one was deleted."""
    places = sorted(numbered(home).items(), reverse=True)
    ahead = [place for n, place in places if n > newest]
    behind = [place for n, place in places if n <= newest]
    last = next(filter(is_whole, behind), None)
    safe = {latest_checkpoint(home), last, *behind[: keep - 1]}
    dropped = [drop(place) for place in ahead + behind if place not in safe]  # all, not the first
    if any(dropped):
        return True
    oldest = next((place for place in reversed(behind) if place != last and drop(place)), None)
    if oldest:
        say(f"the disk is full: checkpoint {oldest.name} is dropped to make room for {newest:06d}")
    return oldest is not None


def drop(place: Path) -> bool:
    """Deletes a checkpoint, if it is not a milestone and can be deleted."""
    if (place / MILESTONE).exists():
        return False
    with contextlib.suppress(OSError):
        retire(place)
    return not place.exists()


def is_whole(place: Path) -> bool:
    try:
        read(place)
    except DamagedError:
        return False
    return True


def retire(place: Path) -> None:
    """Renames a checkpoint and then deletes it, so that a crash leaves no half checkpoint under a
    number."""
    if place.exists():
        gone = place.with_name(f".gone-{place.name}")
        shutil.rmtree(gone, ignore_errors=True)
        place.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def sweep(home: Path) -> None:
    """Deletes what a crash left half written or half deleted."""
    for left in [*home.glob(".saving-*"), *home.glob(".gone-*")]:
        shutil.rmtree(left, ignore_errors=True)


def numbered(home: Path) -> dict[int, Path]:
    """Every folder whose name is a checkpoint's number."""
    found = home.iterdir() if home.is_dir() else ()
    return {int(place.name): place for place in found if is_checkpoint(place)}


def is_checkpoint(place: Path) -> bool:
    return bool(NAME.fullmatch(place.name)) and place.is_dir()
