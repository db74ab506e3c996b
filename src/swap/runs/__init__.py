"""Runs: checkpoints, metrics, guards, console and the loop that a training lives in."""

from swap.runs.checkpoint import Checkpoint, SaveError, load, save
from swap.runs.config import from_json, to_json
from swap.runs.guard import GuardCfg
from swap.runs.metrics import read_metrics
from swap.runs.parkour import ParkourCfg
from swap.runs.presets import PRESETS, TrainCfg, register
from swap.runs.run import RunCfg, RunResult, train
from swap.runs.seeding import seed_everything
from swap.runs.sighted import SwapCfg
from swap.runs.toy import ToyCfg
from swap.runs.trainee import Trainable
from swap.runs.weights import load_weights, save_weights

register("_toy", ToyCfg())

__all__ = [
    "PRESETS",
    "Checkpoint",
    "GuardCfg",
    "ParkourCfg",
    "RunCfg",
    "RunResult",
    "SaveError",
    "SwapCfg",
    "ToyCfg",
    "TrainCfg",
    "Trainable",
    "from_json",
    "load",
    "load_weights",
    "read_metrics",
    "register",
    "save",
    "save_weights",
    "seed_everything",
    "to_json",
    "train",
]
