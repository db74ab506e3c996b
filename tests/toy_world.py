"""A toy world for tests: a craft with a left and a right thruster and a rudder must reach the
origin."""

from typing import NamedTuple

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS
from swap.env_spec import EnvSpec
from swap.learn import PPOCfg, TrainerCfg
from swap.policy import PolicyCfg
from swap.symmetry import Field, Layout, regular, signs, trivial

STATE = Layout((Field("pos", signs(1, -1)), Field("vel", signs(1, -1))))
SENSES = Layout((Field("walls", regular(1)), Field("clock", trivial(1))))
ACTION = Layout((Field("thrust", regular(1)), Field("rudder", signs(-1))))
DT, REACH, LIMIT = 0.2, 2.0, 40


class Step(NamedTuple):
    obs: dict[str, Tensor]
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    valid: Tensor
    info: dict[str, Tensor]


class Toy:
    """Both thrusters push forward; their difference and the rudder push to the left. Leaving the
    arena terminates an episode, LIMIT steps truncate it. `mirrored` makes the mirrored world.

    Left and right terms are added to each other first, so that mirrored runs agree in every bit.
    """

    def __init__(
        self, n: int = 64, *, seed: int = 0, mirrored: bool = False, device: str = "cpu"
    ) -> None:
        self.n, self.device, self.mirrored = n, torch.device(device), mirrored
        self.groups = {"state": STATE, "senses": SENSES}
        self.spec = EnvSpec(self.groups, ACTION)
        self.generator = torch.Generator().manual_seed(seed)
        self.pos, self.vel = torch.zeros(2, n, 2, device=device).unbind()
        self.clock, self.total = torch.zeros(2, n, device=device).unbind()
        self.ended = torch.zeros(n, dtype=torch.bool, device=device)
        self.done, self.returns = 0, 0.0

    def _begin(self, mask: Tensor) -> None:
        start = torch.rand(self.n, 4, generator=self.generator).to(self.device) * 2 - 1
        if self.mirrored:
            start = STATE.rep(start)
        self.pos = torch.where(mask[:, None], start[:, :2], self.pos)
        self.vel = torch.where(mask[:, None], start[:, 2:], self.vel)
        self.clock = torch.where(mask, 0.0, self.clock)
        self.total = torch.where(mask, 0.0, self.total)

    def _observe(self) -> dict[str, Tensor]:
        y = self.pos[:, 1]
        walls = torch.stack((REACH - y, REACH + y), -1)  # to the left, to the right
        return {
            "state": torch.cat((self.pos, self.vel), -1),
            "senses": torch.cat((walls, self.clock[:, None] / LIMIT), -1),
        }

    def reset(self) -> dict[str, Tensor]:
        self._begin(torch.ones_like(self.ended))
        self.ended = torch.zeros_like(self.ended)
        return self._observe()

    def step(self, action: Tensor) -> Step:
        fresh = self.ended
        left, right, rudder = action.clamp(-1, 1).unbind(-1)
        push = torch.stack((left + right, (right - left) + rudder), -1)
        self.vel = self.vel * 0.9 + DT * push
        self.pos = self.pos + DT * self.vel
        self.clock = self.clock + 1
        self._begin(fresh)
        valid = ~fresh
        squares = self.pos.square()
        near = torch.exp(-(squares[:, 0] + squares[:, 1]))
        terminated = (self.pos.abs() > REACH).any(-1) & valid
        truncated = (self.clock >= LIMIT) & valid & ~terminated
        reward = torch.where(valid, 0.1 * near - 0.2 * terminated, 0.0)
        self.total = self.total + reward
        self.ended = terminated | truncated
        self.done += int(self.ended.sum())
        self.returns += float(self.total[self.ended].sum())
        return Step(self._observe(), reward, terminated, truncated, valid, {})

    def metrics(self, processes=SINGLE_PROCESS) -> dict[str, float]:
        done, returns = processes.all_reduce(
            torch.tensor(self.done), torch.tensor(self.returns).double()
        )
        out = {"return": float(returns) / int(done)} if done else {}
        self.done, self.returns = 0, 0.0
        return out

    # --- saving and restoring -------------------------------------------------------------------
    KEPT = ("pos", "vel", "clock", "ended", "total")

    def state_dict(self) -> dict[str, Tensor]:
        kept = {name: getattr(self, name) for name in self.KEPT}
        told = torch.tensor([self.done, self.returns], dtype=torch.double)
        return {**kept, "told": told, "generator": self.generator.get_state()}

    def load_state_dict(self, state) -> None:
        for name in self.KEPT:
            setattr(self, name, state[name].to(self.device, copy=True))
        self.generator.set_state(state["generator"].cpu())
        self.done, self.returns = int(state["told"][0]), float(state["told"][1])


def small(*, equivariant: bool = True, seed: int = 0, **ppo) -> TrainerCfg:
    """A trainer that learns this world in seconds."""
    reads, hidden = ("state", "senses"), (32, 32)
    policy = PolicyCfg(reads, reads, hidden, hidden, equivariant=equivariant)
    return TrainerCfg(PPOCfg(**ppo), policy, seed=seed)
