"""Writes a trained robot as a bundle: two graphs, swap.json, test vectors."""

import json
import shutil
from pathlib import Path
from typing import Any

import swap
from swap.deploy.bundle import CARD, Bundle, file_spec, read_bundle, seal
from swap.deploy.spec import FORMAT, BundleSpec, GraphSpec, as_json
from swap.deploy.vectors import pack
from swap.env import ParkourEnv
from swap.env.observation_terms import HISTORY
from swap.errors import UserError
from swap.export.facts import facts, mjlab_metadata
from swap.export.graphs import PolicyGraph, WorldModelGraph, check_reads, shapes_of, to_onnx
from swap.export.recording import env_of, record
from swap.files import beside, write_file
from swap.policy import Networks
from swap.runs.trained_robot import TrainedRobot

VECTOR_STEPS = 100
"""Recorded steps in a bundle; a check records more."""
SEES = ("depth", "proprioception", "actions", "h", "z", "noise")
ACTS = ("history", "command", "h")


def networks_of(robot: TrainedRobot) -> Networks:
    """Its networks on the CPU."""
    env: ParkourEnv = env_of(robot.cfg, 0, 0)
    return robot.networks_for(env, "cpu")


def export(robot: TrainedRobot, out: Path, *, overwrite: bool = False) -> Bundle:
    """The bundle, written as a whole and read back."""
    if out.exists() and not (out / CARD).is_file():
        raise UserError(f"'{out}' is there and is no bundle; name another folder")
    if out.exists() and not overwrite:
        raise UserError(f"bundle '{out}' is there; name another folder, or add --overwrite")
    networks = networks_of(robot)
    model, policy = check_reads(networks.policy, networks.model), networks.policy
    known, history = facts(robot.cfg, model), robot.cfg.env.spec.groups[HISTORY]
    shapes = shapes_of(model, history)
    label = f"{robot.name}, iteration {robot.iteration}"
    files: dict[str, bytes] = {}

    def graph(name: str, module: Any, reads: tuple[str, ...], gives: dict[str, Any]) -> GraphSpec:
        inputs = {x: shapes[x] for x in reads}
        data = to_onnx(module, inputs, tuple(gives), mjlab_metadata(known, label))
        files[f"{name}.onnx"] = data
        return GraphSpec(file_spec(f"{name}.onnx", data), inputs, gives)

    latents = {"next_h": shapes["h"], "next_z": shapes["z"]}
    joints = {"action": (1, model.action.dim)}
    world_model = graph("world_model", WorldModelGraph(model), SEES, latents)
    acts = graph("policy", PolicyGraph(policy, history), ACTS, joints)
    files["vectors.npz"] = data = pack(record(robot.cfg, networks, VECTOR_STEPS))
    spec = BundleSpec(
        swap=swap.__version__,
        model=robot.name,
        iteration=robot.iteration,
        world_model=world_model,
        policy=acts,
        vectors=file_spec("vectors.npz", data),
        **known,
    )
    card = {"format": FORMAT, **as_json(spec)}
    card["seal"] = seal(card)
    files[CARD] = (json.dumps(card, indent=1) + "\n").encode()
    _write(out, files)
    return read_bundle(out)


def _write(out: Path, files: dict[str, bytes]) -> None:
    """Beside its place first: a bundle is whole or not there."""
    fresh = beside(out)
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(parents=True)
        for name, data in files.items():
            write_file(fresh / name, data)
        if out.exists():
            shutil.rmtree(out)
        fresh.replace(out)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise UserError(
            f"cannot write '{out}' ({error.strerror}); name a folder on a disk that can be written "
            "and has room"
        ) from None
