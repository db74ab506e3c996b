"""Holds one example of every layer, at the sizes the robot uses, with the mirrors of its inputs and
outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from swap.env.spaces import Spaces
from swap.nn.basis import Basis
from swap.nn.categorical import Categoricals
from swap.nn.conv import ConvDecoder, ConvTrunk
from swap.nn.gaussian import GaussianHead
from swap.nn.gru import GRUCell
from swap.nn.linear import InvariantHead, Linear
from swap.nn.mlp import MLP
from swap.nn.norm import RMSNorm
from swap.nn.running_norm import RunningNorm
from swap.nn.views import views_of
from swap.symmetry import Rep, regular, trivial

MirrorMap = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Example:
    """A module, the shapes it reads (after the batch), and the mirror of each input and output."""

    name: str
    build: Callable[[bool], nn.Module]
    """Builds the module, equivariant or not."""
    shapes: Sequence[tuple[int, ...]]
    reads: Sequence[MirrorMap]
    gives: Sequence[MirrorMap]
    batch: int = 64

    def inputs(self, dtype: torch.dtype, device: str, seed: int = 1) -> list[Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [
            torch.randn(self.batch, *shape, generator=generator, dtype=dtype).to(device)
            for shape in self.shapes
        ]


def flip_columns(image: Tensor) -> Tensor:
    """Mirrors an image."""
    return image.flip(-1)


class Normed(nn.Module):
    """An RMS norm between flat tensors."""

    def __init__(self, width: int, *, equivariant: bool) -> None:
        super().__init__()
        self.equivariant, self.norm = equivariant, RMSNorm(width, equivariant=equivariant)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(self.norm(views_of(x, self.equivariant)), -1)


class RoundTrip(nn.Module):
    """Splits into even and odd coordinates, and merges again."""

    def __init__(self, rep: Rep, *, equivariant: bool) -> None:
        super().__init__()
        self.basis = Basis(rep, equivariant=equivariant)

    def forward(self, x: Tensor) -> Tensor:
        return self.basis.merge(self.basis.split(x))


class Latents(nn.Module):
    """From logits, other logits and noise: a sample, the KL, the density of the sample, the
    entropy."""

    def __init__(self, variables: int, classes: int, *, equivariant: bool) -> None:
        super().__init__()
        self.latent = Categoricals(variables, classes, equivariant=equivariant)

    def forward(self, logits: Tensor, other: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
        z = self.latent.sample(logits, noise)
        kl, entropy = self.latent.kl(logits, other), self.latent.entropy(logits)
        return z, kl[..., None], self.latent.log_prob(other, z)[..., None], entropy[..., None]


class Actions(nn.Module):
    """From a mean, another mean and noise: an action, its log-probability, and the KL between the
    two."""

    def __init__(self, rep: Rep, *, equivariant: bool) -> None:
        super().__init__()
        self.head = GaussianHead(rep, equivariant=equivariant)
        with torch.no_grad():  # stds that differ from joint to joint, as after training
            self.head.raw_std.copy_(torch.linspace(-2, 1, len(self.head.raw_std)))

    def forward(self, mean: Tensor, other: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
        policy, old = self.head(mean), self.head(other)
        action = policy.sample(noise)
        return action, old.log_prob(action)[..., None], policy.kl(old)[..., None]


class UpdatedNorm(nn.Module):
    """A normaliser after an update with a one-sided batch."""

    def __init__(self, rep: Rep, *, equivariant: bool) -> None:
        super().__init__()
        self.norm = RunningNorm(rep, equivariant=equivariant)
        lean = torch.linspace(-1, 2, rep.dim)
        noise = torch.randn(256, rep.dim, generator=torch.Generator().manual_seed(7))
        self.norm.update(noise * (1 + lean.abs()) + lean)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class ToyAgent(nn.Module):
    """A small agent that acts for many steps on its own samples, as the whole system does.

    It maps observations [B, T, o], latent noise [B, T, z] and action noise [B, T, a] to actions and
    states.
    """

    def __init__(self, spaces: Spaces, width: int = 64, *, equivariant: bool) -> None:
        super().__init__()
        obs, act = spaces.proprioception.rep, spaces.action.rep
        self.width, self.act_dim = width, act.dim
        self.latent = Categoricals(8, 8, equivariant=equivariant)
        state, z = regular(width // 2), self.latent.rep
        twin: dict[str, Any] = {"equivariant": equivariant}
        self.encoder = MLP(obs, (width,), norm=True, act="silu", **twin)
        self.lift = MLP(z + act, (width,), norm=True, act="silu", **twin)
        self.cell = GRUCell(width, width, **twin)
        self.posterior = Linear(state + state, z, **twin)
        self.actor = MLP(obs + state, (width, width), act, **twin)
        self.head = GaussianHead(act, **twin)

    def forward(self, obs: Tensor, z_noise: Tensor, a_noise: Tensor) -> tuple[Tensor, Tensor]:
        h, z = obs.new_zeros(len(obs), self.width), obs.new_zeros(len(obs), self.latent.dim)
        action = obs.new_zeros(len(obs), self.act_dim)
        actions, states = [], []
        for t in range(obs.shape[1]):
            h = self.cell(self.lift(torch.cat((z, action), -1)), h)
            seen = torch.cat((h, self.encoder(obs[:, t])), -1)
            z = self.latent.sample(self.posterior(seen), z_noise[:, t])
            mean = self.actor(torch.cat((obs[:, t], h), -1))
            action = self.head(mean).sample(a_noise[:, t])
            actions.append(action)
            states.append(h)
        return torch.stack(actions, 1), torch.stack(states, 1)


def examples(steps: int = 60) -> list[Example]:
    """Every layer; `steps` is the length of the rollout."""
    spaces = Spaces()
    prop, act, priv = spaces.proprioception.rep, spaces.action.rep, spaces.privileged.rep
    history = spaces.actor_history.rep + spaces.command.rep + regular(256)
    heights, style, wide = spaces.predicted_heights.rep, spaces.style.rep, regular(256)
    latent = Categoricals()
    flip, number = flip_columns, trivial(1)

    def one(
        name: str, build: Callable[[bool], nn.Module], read: Rep, give: Rep, batch: int = 64
    ) -> Example:
        return Example(name, build, [(read.dim,)], [read], [give], batch)

    trunk = Example(
        "ConvTrunk 64x64",
        lambda eq: ConvTrunk(equivariant=eq),
        [(1, 64, 64)],
        [flip],
        [regular(2048)],
        batch=8,
    )
    decoder = Example(
        "ConvDecoder 64x64",
        lambda eq: ConvDecoder(wide, equivariant=eq),
        [(512,)],
        [wide],
        [flip],
        batch=8,
    )
    rollout = Example(
        f"Rollout, {steps} steps: GRU + latents + actor",
        lambda eq: ToyAgent(spaces, equivariant=eq),
        [(steps, prop.dim), (steps, 64), (steps, act.dim)],
        [prop, regular(32), act],
        [act, regular(32)],
        batch=4,
    )
    return [
        one("even/odd basis 386", lambda eq: RoundTrip(heights, equivariant=eq), heights, heights),
        one("Linear prop 33 -> 512", lambda eq: Linear(prop, wide, equivariant=eq), prop, wide),
        one("Linear 512 -> 512", lambda eq: Linear(wide, wide, equivariant=eq), wide, wide),
        one("Linear 512 -> action 12", lambda eq: Linear(wide, act, equivariant=eq), wide, act),
        one("InvariantHead 512 -> 1", lambda eq: InvariantHead(wide, equivariant=eq), wide, number),
        one("RMSNorm 512", lambda eq: Normed(512, equivariant=eq), wide, wide),
        one(
            "MLP actor 725-256-128-64-12",
            lambda eq: MLP(history, (256, 128, 64), act, equivariant=eq),
            history,
            act,
        ),
        one(
            "MLP critic 785-512-256-128-1",
            lambda eq: MLP(priv + wide, (512, 256, 128), number, equivariant=eq),
            priv + wide,
            number,
        ),
        one(
            "MLP discriminator 60-512-256-1",
            lambda eq: MLP(style, (512, 256), number, act="relu", equivariant=eq),
            style,
            number,
        ),
        one(
            "MLP decoder 512-512-386, norm",
            lambda eq: MLP(wide, (512,), heights, norm=True, act="silu", equivariant=eq),
            wide,
            heights,
        ),
        trunk,
        decoder,
        Example(
            "GRUCell 512 + 512",
            lambda eq: GRUCell(512, 512, equivariant=eq),
            [(512,), (512,)],
            [wide, wide],
            [wide],
        ),
        Example(
            "Categoricals 32 x 32: sample, KL",
            lambda eq: Latents(32, 32, equivariant=eq),
            [(latent.dim,)] * 3,
            [latent.rep] * 3,
            [latent.rep, number, number, number],
        ),
        Example(
            "Gaussian actions: sample, density",
            lambda eq: Actions(act, equivariant=eq),
            [(act.dim,)] * 3,
            [act] * 3,
            [act, number, number],
        ),
        one("RunningNorm privileged 273", lambda eq: UpdatedNorm(priv, equivariant=eq), priv, priv),
        rollout,
    ]
