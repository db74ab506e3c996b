"""Compares a bundle, run by onnxruntime, with the networks it was made from, run by torch."""

from typing import Any

import numpy as np

from swap.deploy.bundle import Bundle
from swap.deploy.runtime import Runtime, replay_vectors
from swap.deploy.vectors import TOLERANCE, Vectors, unpack
from swap.export.recording import mirrored, record
from swap.export.write import networks_of
from swap.runs.trained_robot import TrainedRobot


def check(robot: TrainedRobot, bundle: Bundle, steps: int, seed: int = 1) -> list[dict[str, Any]]:
    """A row a recording: newly recorded steps, their mirror image, and the bundle's own. Latents
    are carried along by each side for itself."""
    networks, runtime = networks_of(robot), Runtime(bundle)
    fresh = record(robot.cfg, networks, steps, seed=seed)
    rows = [
        _compared("recorded", runtime, fresh),
        _compared("mirrored", runtime, mirrored(fresh, networks, robot.cfg)),
        _compared("in the bundle", runtime, unpack(bundle.vectors)),
    ]
    plain = not (networks.policy.cfg.equivariant and networks.model.cfg.equivariant)  # type: ignore[union-attr]
    return [row for row in rows if not (plain and row["steps of"] == "mirrored")]


def _compared(name: str, runtime: Runtime, vectors: Vectors) -> dict[str, Any]:
    actions, latents = replay_vectors(runtime, vectors)
    error = float(np.abs(actions - vectors.action).max())
    return {
        "steps of": name,
        "steps": vectors.steps,
        "ticks": len(vectors.depth),
        "action error": error,
        "h error": float(np.abs(latents - vectors.h).max()),
        "fine": bool(error <= TOLERANCE),
    }
