"""Compares a bundle, run by onnxruntime, with the networks it was made from, run by torch; tells
whether it was made from them."""

from typing import Any

import numpy as np
import torch

from swap.deploy.bundle import Bundle
from swap.deploy.runtime import Runtime, replay_vectors
from swap.deploy.vectors import TOLERANCE, Vectors, unpack
from swap.env.observation_terms import HISTORY
from swap.errors import UserError
from swap.export.graphs import PolicyGraph, check_reads, shapes_of
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


@torch.no_grad()
def made_of(bundle: Bundle, robot: TrainedRobot) -> bool:
    """Whether the bundle's recorded actions are this robot's. Its name alone would not tell: all
    runs of a preset have the same."""
    said, vectors = bundle.spec, unpack(bundle.vectors)
    if (said.model, said.iteration) != (robot.name, robot.iteration):
        return False
    networks, history = networks_of(robot), robot.cfg.env.spec.groups[HISTORY]
    try:
        shapes = shapes_of(check_reads(networks.policy, networks.model), history)
    except UserError:  # no bundle can be made of it
        return False
    if {name: shapes[name] for name in said.policy.inputs} != said.policy.inputs:
        return False
    read = (torch.from_numpy(x) for x in (vectors.history, vectors.command, vectors.h))
    actions = PolicyGraph(networks.policy, history)(*read).numpy()
    return bool(np.abs(actions - vectors.action).max() <= TOLERANCE)


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
