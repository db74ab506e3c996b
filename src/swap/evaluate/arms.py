"""Measures which networks of each arm of the ablation obey the mirror, and how large they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from swap.learn import Trainer
from swap.motions import transitions
from swap.policy.normalized_mlp import NormalizedMLP
from swap.presets import SwapCfg
from swap.world_model import WorldModel

N = 4
"""Number of samples on which every part is tested."""
LIMIT = 7_000_000
"""Most parameters that may run on board, all parts together."""


def describe(arms: Mapping[str, SwapCfg]) -> list[dict[str, Any]]:
    """Returns a row for each arm, from networks that are built as for training."""
    # All arms have the same worlds, and one world is enough: networks do not depend on their
    # number.
    env = replace(next(iter(arms.values())), worlds=1, engine="cpu").make_env("cpu")
    reference = transitions(env.robot)
    return [row(name, cfg, Trainer(cfg.learning, env, reference)) for name, cfg in arms.items()]


def row(name: str, cfg: SwapCfg, trainer: Trainer) -> dict[str, Any]:
    symmetry, sizes = cfg.symmetry, parameters(trainer)
    penalty = (
        {"actor": symmetry.actor, "critic": symmetry.critic} if symmetry.kind == "loss" else {}
    )
    return {
        "arm": name,
        "networks": {
            part: "equivariant" if exact else "plain"
            for part, exact in exact_parts(trainer).items()
        },
        "penalty": {part: weight for part, weight in penalty.items() if weight},
        "augmentation": symmetry.kind == "augment",
        "parameters": sizes,
        "total": sum(sizes.values()),
    }


def parameters(trainer: Trainer) -> dict[str, int]:
    """Number of trainable parameters of each part."""
    assert trainer.amp is not None
    discriminator = sum(p.numel() for p in trainer.amp.net.parameters())
    return {
        **trainer.model.n_parameters,
        **trainer.policy.n_parameters,
        "discriminator": discriminator,
    }


@torch.no_grad()
def exact_parts(trainer: Trainer) -> dict[str, bool]:
    """Whether each part gives the mirrored output for a mirrored input, to the last bit."""
    assert trainer.amp is not None
    generator = torch.Generator().manual_seed(0)
    policy, discriminator = trainer.policy, trainer.amp.net
    return {
        **_model_is_exact(trainer.model, generator),
        "actor": _mlp_is_exact(policy.actor.mlp, generator),
        "critic": _mlp_is_exact(policy.critic.mlp, generator),
        "discriminator": _mlp_is_exact(discriminator.mlp, generator),
    }


def _mlp_is_exact(mlp: NormalizedMLP, generator: torch.Generator) -> bool:
    x = torch.randn(N, mlp.rep_in.dim, generator=generator)
    there = mlp(mlp.coordinates(mlp.rep_in(x)))
    return torch.equal(there, mlp.rep_out(mlp(mlp.coordinates(x))))


def _model_is_exact(model: WorldModel, generator: torch.Generator) -> dict[str, bool]:
    def normal(*shape: int) -> Tensor:
        return torch.randn(N, *shape, generator=generator)

    action, image = model.action.rep, model.encoder.rep
    depth, prop, actions = normal(*model.image), normal(model.prop.dim), normal(model.k, action.dim)
    embedding = model.embed(depth, prop)
    latent = model.predict(model.initial(N, "cpu"), actions, None)
    mirrored, goes_on = model.mirrored(latent), torch.zeros(N, dtype=torch.bool)

    posterior = model.tick(latent, actions, embedding, goes_on, None)
    prior = model.predict(latent, actions, None)
    there = model.tick(mirrored, action(actions), image(embedding), goes_on, None)
    there_prior = model.predict(mirrored, action(actions), None)
    seen, *felt = model.decode(latent)
    targets = zip((model.prop, model.body, model.foot), felt, strict=True)
    return {
        "encoder": torch.equal(model.embed(depth.flip(-1), model.prop.rep(prop)), image(embedding)),
        "rssm": _equal(there, model.mirrored(posterior))
        and _equal(there_prior, model.mirrored(prior)),
        "decoder": _equal(
            model.decode(mirrored), (seen.flip(-1), *(layout.rep(x) for layout, x in targets))
        ),
    }


def _equal(several: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(several, others, strict=True))
