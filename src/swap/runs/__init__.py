"""Runs: the training loop with its checkpoints, metrics, guards and console."""

from swap.runs.checkpoint import Checkpoint, SaveError, load, save
from swap.runs.config import from_json, to_json
from swap.runs.metrics import read_metrics
from swap.runs.run import RunResult, train
from swap.runs.seeding import seed_everything
from swap.runs.weights import load_weights, save_weights

__all__ = [
    "Checkpoint",
    "RunResult",
    "SaveError",
    "from_json",
    "load",
    "load_weights",
    "read_metrics",
    "save",
    "save_weights",
    "seed_everything",
    "to_json",
    "train",
]
