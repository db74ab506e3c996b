"""The mean action of a policy that acts on a CPU: a handful of calls, with dense weights.

A batch of one prefers one large product a layer to two small ones with sums between. It equals
`ActorCritic.mean`, and its own mirror image, up to rounding only.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.nn import MLP
from swap.nn.weight_cache import WeightCache
from swap.policy.actor_critic import ActorCritic


class FastActor:
    """`ActorCritic.mean` of a policy whose actor is an MLP of ours (`usable`)."""

    def __init__(self, policy: ActorCritic) -> None:
        self.reads, self.mlp = policy.cfg.actor_reads, policy.actor.mlp
        assert isinstance(self.mlp.net, MLP)
        self.act = self.mlp.net.act
        self._read = [*self.mlp.net.parameters()]
        self._layers: WeightCache[list[tuple[Tensor, Tensor | None]]] = WeightCache()

    @torch.no_grad()
    def __call__(self, obs: Mapping[str, Tensor]) -> Tensor:
        norm, layers = self.mlp.norm, self._layers(self._read, self._fold)
        x = norm(torch.cat([obs[name] for name in self.reads], -1))
        for weight, bias in layers[:-1]:
            x = self.act(F.linear(x, weight, bias))
        return F.linear(x, *layers[-1])

    def _fold(self) -> list[tuple[Tensor, Tensor | None]]:
        net = self.mlp.net
        assert isinstance(net, MLP)
        assert net.out is not None
        plain = [layer.dense() for layer in (*net.layers, net.out)]
        return [(x.weight[0].detach(), None if x.bias is None else x.bias.detach()) for x in plain]


def usable(policy: ActorCritic) -> bool:
    """It is on a CPU, and its actor is an MLP of ours without norms, as all are by name."""
    net = policy.actor.mlp.net
    return isinstance(net, MLP) and not net.normed and policy.actor.mlp.norm.mean.is_cpu
