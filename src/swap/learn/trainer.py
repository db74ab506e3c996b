"""Worlds in, a trained policy out: the loop, and all it takes to go on tomorrow as if today."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from swap.kept import named, put_back, under
from swap.learn.collect import Collector
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.rollout import Rollout
from swap.learn.stopwatch import Stopwatch
from swap.learn.tally import Tally
from swap.learn.world import World
from swap.policy import ActorCritic, PolicyCfg


@dataclass(frozen=True)
class TrainerCfg:
    ppo: PPOCfg = field(default_factory=PPOCfg)
    policy: PolicyCfg = field(default_factory=PolicyCfg)
    seed: int = 0
    """Of the first weights, the exploration and the order of samples."""
    capture: bool = True
    """On a GPU, record inference and gradient steps and replay them in one launch each."""
    tf32: bool = True
    """On a GPU, multiply matrices in TF32. The mirror stays exact."""


class Trainer:
    """`iterate()` collects and learns once; everything stays on the device of `env`."""

    def __init__(self, cfg: TrainerCfg, env: World) -> None:
        self.cfg, self.env = cfg, env
        device, ppo = env.device, cfg.ppo
        if device.type == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = cfg.tf32
        with torch.random.fork_rng(devices=[]):  # the same first weights on every device
            torch.manual_seed(cfg.seed)
            policy = ActorCritic(cfg.policy, env.groups, env.spaces.action.rep)
        self.policy = policy.to(device)
        self.generator = torch.Generator(device).manual_seed(cfg.seed)
        self.tally = Tally(device)
        orbits = policy.actor.head.orbits.size
        self.rollout = Rollout(ppo.steps, env.n, policy.widths, policy.action.dim, orbits, device)
        self.ppo = PPO(ppo, self.policy, self.rollout, self.tally, capture=cfg.capture)
        self.collector = Collector(
            *(self.policy, env, self.rollout, self.tally, self.noise), capture=cfg.capture
        )
        self.stopwatch = Stopwatch(device)
        self.iteration = 0

    def iterate(self) -> dict[str, float]:
        """Collect, estimate, update; then, and only then, wait for the device and read figures."""
        self.stopwatch.start()
        self.collector.collect(self.cfg.ppo.gamma, self.cfg.ppo.lam)
        self.stopwatch.lap("time/collect_s")
        self.ppo.update(self.generator)
        self.stopwatch.lap("time/update_s")
        self.iteration += 1
        figures = self.tally.read()
        return {"steps": self.steps, **self.env.metrics(), **figures, **self.stopwatch.read()}

    @property
    def steps(self) -> int:
        """Control steps so far, of all worlds together."""
        return self.iteration * len(self.rollout)

    def noise(self) -> Tensor:
        """Standard normal exploration for one step, [N, d]. A mirrored run overrides this."""
        shape = self.env.n, self.policy.action.dim
        return torch.randn(shape, generator=self.generator, device=self.env.device)

    # --- resume ---------------------------------------------------------------------------------
    def tensors(self) -> dict[str, Tensor]:
        """All that changes, copied."""
        out = named(policy=self.policy.state_dict(), env=self.env.tensors())
        out |= {**self._live(), "generator": self.generator.get_state()}
        return {name: x.detach().clone() for name, x in out.items()}

    def numbers(self) -> dict[str, Any]:
        """What is no tensor, as JSON can hold it."""
        running, env = self.collector.running, self.env.numbers()
        return {"iteration": self.iteration, "running": running, "env": env}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the trainer that gave these, its config being the same. Written in place:
        recordings keep their addresses."""
        self.policy.load_state_dict(under("policy/", tensors))
        put_back(self._live(), tensors)
        self.generator.set_state(tensors["generator"].cpu())
        self.iteration, self.collector.running = numbers["iteration"], numbers["running"]
        self.env.restore(under("env/", tensors), numbers["env"])

    def _live(self) -> dict[str, Tensor]:
        """What changes in place, but for the policy and the worlds."""
        parts = named(ppo=dict(self.ppo.state()), obs=self.collector.obs)
        return {**parts, "begun": self.collector.begun}
