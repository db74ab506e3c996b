"""Actor and critic that read named groups of observations and normalise them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from swap.env_spec import unknown_group
from swap.errors import UserError
from swap.nn import Gaussian
from swap.policy.actor import Actor
from swap.policy.critic import Critic
from swap.policy.network_registry import NETWORKS
from swap.symmetry import Layout, Rep, trivial
from swap.validate import check_numbers


@dataclass(frozen=True)
class PolicyCfg:
    """What actor and critic read, and how wide they are. The defaults are the teacher's."""

    actor_reads: tuple[str, ...] = ("history", "command", "body_heights")
    """Observation groups the actor reads."""
    critic_reads: tuple[str, ...] = ("privileged", "body_heights")
    """Observation groups the critic reads."""
    actor_hidden: tuple[int, ...] = (512, 256, 128)
    """Hidden widths of the actor; each counts both views."""
    critic_hidden: tuple[int, ...] = (512, 256, 128)
    """Hidden widths of the critic."""
    act: str = "elu"
    """Non-linearity."""
    init_std: float = 1.0
    """Standard deviation of actions at the start."""
    min_std: float = 0.08
    """Lower bound of the standard deviation of actions."""
    max_std: float = 2.0
    """Upper bound of the standard deviation of actions."""
    equivariant: bool = True
    """Mirrored observations give mirrored actions and equal values; False is the plain twin."""
    actor: str = "mlp"
    """The actor's network: mlp, or your own class as file.py:NAME or package.module:NAME; its code
    runs when you name it here."""
    critic: str = "mlp"
    """The critic's network, likewise."""

    def __post_init__(self) -> None:
        widths, stds = ("actor_hidden", "critic_hidden"), ("init_std", "min_std", "max_std")
        check_numbers(self, "policy.", at_least_1=widths, filled=widths, positive=stds)
        for network in (self.actor, self.critic):
            NETWORKS.check(network)
        if not self.min_std < self.init_std < self.max_std:
            raise UserError(
                f"policy.init_std={self.init_std} must lie between min_std={self.min_std} and "
                f"max_std={self.max_std}"
            )
        for name in ("actor_reads", "critic_reads"):
            reads = getattr(self, name)
            if not reads:
                raise UserError(f"{name} is empty; name at least one observation group")
            if len(set(reads)) < len(reads):
                raise UserError(f"{name}={reads} names a group twice; name each once")


class Inputs(NamedTuple):
    """What the networks read: joined groups, normalised, in even and odd coordinates.

    A rollout stores this. So each sample is normalised and split only once, not once per epoch, and
    later changes of the statistics do not change the inputs for which a stored action was chosen.
    """

    actor: Tensor  # [..., d_actor]
    critic: Tensor  # [..., d_critic]


class ActorCritic(nn.Module):
    """Actor and critic, each with a running normaliser of all it reads."""

    def __init__(self, cfg: PolicyCfg, groups: Mapping[str, Layout], action: Rep) -> None:
        super().__init__()
        self.cfg, self.action = cfg, action
        self.reads = tuple(dict.fromkeys((*cfg.actor_reads, *cfg.critic_reads)))
        """The names of all groups that are read, each once."""
        for name in self.reads:
            if name not in groups:
                raise unknown_group(name, groups)
        self.actor = Actor(
            _total(cfg.actor_reads, groups),
            action,
            cfg.actor_hidden,
            act=cfg.act,
            init_std=cfg.init_std,
            min_std=cfg.min_std,
            max_std=cfg.max_std,
            equivariant=cfg.equivariant,
            network=cfg.actor,
        )
        self.critic = Critic(
            _total(cfg.critic_reads, groups),
            cfg.critic_hidden,
            act=cfg.act,
            equivariant=cfg.equivariant,
            network=cfg.critic,
        )

    # --- for acting; all but `value` need only the actor's groups ---------------------------------
    def distribution(self, obs: Mapping[str, Tensor]) -> Gaussian:
        return self.actor(self._actor_input(obs))

    def mean(self, obs: Mapping[str, Tensor]) -> Tensor:
        """The action without exploration, [..., d]."""
        return self.actor.mlp(self._actor_input(obs))

    def act(self, obs: Mapping[str, Tensor], noise: Tensor) -> Tensor:
        """An action drawn with standard normal `noise`; mirrored noise gives the mirrored one."""
        return self.distribution(obs).sample(noise)

    def value(self, obs: Mapping[str, Tensor]) -> Tensor:
        """[...]"""
        return self.critic(self._critic_input(obs))

    # --- for the learner ------------------------------------------------------------------------
    def update_normalizers(self, obs: Mapping[str, Tensor], valid: Tensor | None = None) -> None:
        """Updates the normalisers with the rows [...] that are valid."""
        self.actor.mlp.norm.update(_join(self.cfg.actor_reads, obs), valid)
        self.critic.mlp.norm.update(_join(self.cfg.critic_reads, obs), valid)

    def inputs(self, obs: Mapping[str, Tensor]) -> Inputs:
        """What `actor` and `critic` read, in the form that is stored."""
        return Inputs(self._actor_input(obs), self._critic_input(obs))

    def _actor_input(self, obs: Mapping[str, Tensor]) -> Tensor:
        return self.actor.mlp.coordinates(_join(self.cfg.actor_reads, obs))

    def _critic_input(self, obs: Mapping[str, Tensor]) -> Tensor:
        return self.critic.mlp.coordinates(_join(self.cfg.critic_reads, obs))

    # --- sizes ----------------------------------------------------------------------------------
    @property
    def n_parameters(self) -> dict[str, int]:
        """Numbers of trainable parameters of actor and critic."""
        return {
            name: sum(p.numel() for p in part.parameters())
            for name, part in (("actor", self.actor), ("critic", self.critic))
        }

    @property
    def widths(self) -> tuple[int, int]:
        """The widths of `Inputs`."""
        return self.actor.mlp.width, self.critic.mlp.width


def _join(names: Sequence[str], obs: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([obs[name] for name in names], -1)


def _total(names: Sequence[str], groups: Mapping[str, Layout]) -> Rep:
    """The Rep of all groups side by side. (Layouts may share field names, so Reps are added
    instead.)"""
    total = trivial(0)
    for name in names:
        total = total + groups[name].rep
    return total
