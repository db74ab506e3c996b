"""Folds the networks into plain dense ones and writes them as ONNX graphs.

    world_model(depth, proprioception, actions, h, z, noise) -> next_h, next_z
    policy(history, command, h) -> action

Even and odd weights are multiplied out, which a batch of one prefers: two small products a layer
become one. Noise is an argument; zeros give the likeliest z.
"""

import copy
import io
import logging
import warnings
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swap.env.observation_terms import GROUPS, HISTORY
from swap.errors import UserError
from swap.nn.views import cat, views_of
from swap.policy import ActorCritic
from swap.symmetry import Layout
from swap.world_model import WorldModel
from swap.world_model.encoder import PROP_CLIP, Encoder

NEWEST = {"proprioception": GROUPS["proprioception"], **{x: (x,) for x in GROUPS[HISTORY]}}
"""Groups that are parts of the command and of the newest step of the history, with their terms."""
READS = ("history", "command", "latent", *NEWEST)
"""What a policy may read on a robot."""
OPSET = 20


class DenseEncoder(nn.Module):
    """An `Encoder` with plain layers."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.equivariant = encoder.equivariant
        self.image, self.prop = encoder.image.dense(), encoder.prop.dense()

    def forward(self, depth: Tensor, prop: Tensor) -> Tensor:
        seen = self.image(depth.unsqueeze(-3))
        felt = self.prop(prop.clamp(-PROP_CLIP, PROP_CLIP))
        sides = cat(views_of(seen, self.equivariant), views_of(felt, self.equivariant))
        return torch.cat(sides, -1)


class WorldModelGraph(nn.Module):
    """One tick of the posterior."""

    def __init__(self, model: WorldModel) -> None:
        super().__init__()
        rssm = model.rssm
        ours = isinstance(model.encoder, Encoder)
        self.encoder = DenseEncoder(model.encoder) if ours else copy.deepcopy(model.encoder)
        self.z_in, self.actions_in = rssm.z_in.dense(), rssm.actions_in.dense()
        self.in_norm, self.cell = rssm.in_norm.dense(), rssm.cell.dense()
        self.h_seen, self.seen_in = rssm.h_seen.dense(), rssm.seen_in.dense()
        self.seen_norm, self.posterior = rssm.seen_norm.dense(), rssm.posterior.dense()
        self.clip, self.latent = model.action_clip, rssm.latent

    def forward(
        self, depth: Tensor, prop: Tensor, actions: Tensor, h: Tensor, z: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        heard = self.actions_in(actions.flatten(-2).clamp(-self.clip, self.clip))
        (x,) = self.in_norm((self.z_in(z) + heard,))
        h = self.cell(F.silu(x), h)
        (y,) = self.seen_norm((self.h_seen(h) + self.seen_in(self.encoder(depth, prop)),))
        logits = self.posterior(F.silu(y)).unflatten(-1, (-1, self.latent.classes))
        unimix = self.latent.unimix
        p = F.softmax(logits, -1) * (1 - unimix) + unimix / self.latent.classes
        scores = torch.log(p) + noise.unflatten(-1, (-1, self.latent.classes))
        z = F.one_hot(scores.argmax(-1), self.latent.classes).to(h.dtype).flatten(-2)
        return h, z


class PolicyGraph(nn.Module):
    """The mean action."""

    mean: Tensor
    inverse_std: Tensor

    def __init__(self, policy: ActorCritic, history: Layout) -> None:
        super().__init__()
        self.reads = policy.cfg.actor_reads
        self.newest = {name: history[f"t0.{name}"] for name in GROUPS[HISTORY]}
        mlp = policy.actor.mlp
        self.register_buffer("mean", mlp.norm.mean.clone())
        self.register_buffer("inverse_std", mlp.norm.inverse_std.clone())
        self.clip = mlp.norm.clip
        dense: Any = getattr(mlp.net, "dense", None)
        self.net = copy.deepcopy(mlp.net) if dense is None else dense()

    def forward(self, history: Tensor, command: Tensor, h: Tensor) -> Tensor:
        now = {name: history[..., at] for name, at in self.newest.items()} | {"command": command}
        groups = {"history": history, "command": command, "latent": h}
        groups |= {name: torch.cat([now[x] for x in terms], -1) for name, terms in NEWEST.items()}
        x = torch.cat([groups[name] for name in self.reads], -1)
        x = ((x - self.mean) * self.inverse_std).clamp(-self.clip, self.clip)
        out: Tensor = self.net(x)
        return out


def check_reads(policy: ActorCritic, model: WorldModel | None) -> WorldModel:
    """One line for a robot that no camera and no joint could serve."""
    if model is None:
        raise UserError("it has no world model, so it reads no camera; export one that sees: swap")
    strange = [name for name in policy.cfg.actor_reads if name not in READS]
    strange += [name for name in model.cfg.reads if name != "proprioception"]
    if strange:
        raise UserError(
            f"its networks read {', '.join(strange)}, which no robot measures; train one whose "
            f"actor reads some of {', '.join(READS)}, and whose model reads proprioception"
        )
    if "latent" not in policy.cfg.actor_reads:
        raise UserError("its actor does not read the latent, so it sees nothing; add it and train")
    return model


def shapes_of(model: WorldModel, history: Layout) -> dict[str, tuple[int, ...]]:
    """Of every input, by name, one robot at a time."""
    h, z = (1, model.cfg.deter), (1, model.categoricals.dim)
    return {
        "depth": (1, *model.image),
        "proprioception": (1, model.prop.dim),
        "actions": (1, model.k, model.action.dim),
        "h": h,
        "z": z,
        "noise": z,
        "history": (1, history.dim),
        "command": (1, 3),
    }


def to_onnx(
    module: nn.Module,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: tuple[str, ...],
    metadata: Mapping[str, str],
) -> bytes:
    """The graph as bytes, with `metadata` as text by name."""
    try:
        import onnxscript  # noqa: F401  (torch asks for it late, and says less)
        from onnx import ModelProto
    except ModuleNotFoundError as error:
        raise UserError(
            f"no module '{error.name}' here; install it: pip install -c constraints.txt '.[export]'"
        ) from None
    quiet = logging.getLogger("torch.onnx")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch's, about itself
            made = torch.onnx.export(
                module.eval().cpu(),
                tuple(torch.zeros(shape) for shape in inputs.values()),
                input_names=list(inputs),
                output_names=list(outputs),
                dynamo=True,
                opset_version=OPSET,
                verbose=False,
            )
    except Exception as error:  # a network of the user's may hold anything
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"torch cannot write this network as ONNX: {reason}") from error
    finally:
        quiet.setLevel(level)
    assert made is not None
    proto: ModelProto = made.model_proto
    for node in proto.graph.node:  # where our files lie is nobody's business
        del node.metadata_props[:]
        node.doc_string = ""
    del proto.metadata_props[:]
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)
    file = io.BytesIO()
    file.write(proto.SerializeToString(deterministic=True))
    return file.getvalue()
