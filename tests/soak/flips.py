"""One byte changed in a file of a run or a model: the same is read, or the change is told."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch

from soak.tally import Tally
from swap.errors import UserError
from swap.presets import RunCfg
from swap.runs import load, load_weights, read_metrics
from swap.runs.metrics import FILE, rewind
from swap.runs.saved_model import read_model
from toy_run import toy_run

MODEL = Path(__file__).parents[2] / "models" / "teacher.safetensors"
MASKS = (*(1 << bit for bit in range(8)), 0x15, 0x7F, 0xAA, 0xFF)
"""Single bits, as memory loses them, and whole bytes."""


def flips(count: int, home: Path, chance: Random) -> list[Tally]:
    home.mkdir(parents=True)
    run = home / "run"
    toy_run(run, RunCfg(iterations=6, save_minutes=0.0, shard_mib=6e-3))
    checkpoints = sorted(file for file in (run / "checkpoints").rglob("*") if file.is_file())
    others = sorted(file for file in run.rglob("*") if file.is_file() and file not in checkpoints)
    model, card = home / "robot.safetensors", home / "robot.json"
    shutil.copy(MODEL, model)
    shutil.copy(MODEL.with_suffix(".json"), card)
    share = max(count // 4, 1)

    def read_run(said: list[str]) -> Any:
        found = load(run, said.append)
        return plain(found.tensors), found.numbers, found.config

    def read_rest(said: list[str]) -> Any:
        """Metrics are not sealed: they have to be read without a word, that is all."""
        read_metrics(run)
        copy = home / FILE
        shutil.copy(run / FILE, copy)
        rewind(copy, 6)
        return plain(load(run, said.append).tensors)

    def read_robot(said: list[str]) -> Any:
        found = read_model(model, said.append)
        return plain(found.tensors), found.cfg, found.iteration, load_weights(model)[1]

    return [
        flip("byte flips, checkpoints", checkpoints, read_run, share, chance),
        flip("byte flips, rest of a run", others, read_rest, share, chance),
        flip("byte flips, weights", [model], read_robot, share, chance),
        flip("byte flips, card", [card], read_robot, share, chance),
    ]


def flip(
    what: str, files: Sequence[Path], read: Callable[[list[str]], Any], count: int, chance: Random
) -> Tally:
    tally = Tally(what)
    truth = read([])
    files = [file for file in files if file.stat().st_size]
    for _ in range(count):
        file = chance.choice(files)
        with file.open("r+b") as handle:
            at = chance.randrange(file.stat().st_size)
            handle.seek(at)
            old = handle.read(1)
            handle.seek(at)
            handle.write(bytes([old[0] ^ chance.choice(MASKS)]))
        tally.tried += 1
        where, said = f"{file.name}, byte {at}", []
        try:
            if read(said) != truth and not said:
                tally.fault("silent", where)
        except UserError as error:
            if "\n" in str(error):
                tally.fault("tracebacks", f"{where}: not one line: {error}")
            elif "checkpoint" in what:  # the one before it is whole
                tally.fault("lost", f"{where}: {error}")
        except Exception as error:
            tally.fault("tracebacks", f"{where}: {type(error).__name__}: {error}")
        with file.open("r+b") as handle:
            handle.seek(at)
            handle.write(old)
    assert read([]) == truth, "the soak has not put back what it took"
    return tally


def plain(tensors: dict[str, torch.Tensor]) -> str:
    """Something to compare that is not a tensor."""
    sums = {k: hash(x.contiguous().numpy().tobytes()) for k, x in tensors.items()}
    return json.dumps(sums, sort_keys=True)
