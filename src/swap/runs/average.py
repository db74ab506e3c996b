"""Averages the weights of robots that were trained on from the same robot.

The mean can be better than each of them ("model soups", Wortsman et al. 2022, arXiv:2203.05482; in
docs/log.md "swap-rough: the mean of two"). It is exactly equivariant if they are: it is taken of
free weights, of which the mirrored ones are made.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from swap.errors import UserError
from swap.learn.trainer import NETWORKS
from swap.runs.saved_model import CURRICULUM, SavedModel


def average(models: Sequence[SavedModel], names: Sequence[str]) -> SavedModel:
    """The mean of the networks' weights; all else is the first one's, without its optimisers and
    figures. `names` says where the models come from."""
    first = models[0]
    tensors = {key: x for key, x in first.tensors.items() if key.startswith(NETWORKS)}
    for model, name in zip(models[1:], names[1:], strict=True):
        theirs = {key: x for key, x in model.tensors.items() if key.startswith(NETWORKS)}
        for key in sorted(tensors.keys() | theirs.keys()):
            ours, other = tensors.get(key), theirs.get(key)
            if ours is None or other is None or ours.shape != other.shape:
                raise UserError(
                    f"'{name}' has other networks than '{names[0]}' ('{key}' differs); average "
                    "robots that were trained on from one robot"
                )
    mean = {
        key: torch.stack([model.tensors[key].double() for model in models]).mean(0).to(x.dtype)
        for key, x in tensors.items()
        if x.is_floating_point()
    }
    curriculum = {k: x for k, x in first.tensors.items() if k.startswith(CURRICULUM)}
    origins = [f"{name}, iteration {m.iteration}" for m, name in zip(models, names, strict=True)]
    kept = tensors | mean | curriculum
    return replace(first, tensors=kept, figures={}, average_of=tuple(origins))
