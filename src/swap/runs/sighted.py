"""Presets that learn parkour from a depth camera: SWAP itself, in one training stage."""

from dataclasses import dataclass, field, replace

from swap.env import EnvCfg, ParkourEnv
from swap.learn import AMPCfg, ModelCfg, Trainer, TrainerCfg
from swap.motions import transitions
from swap.policy import PolicyCfg
from swap.runs.parkour import CALM, PPO, ParkourCfg
from swap.runs.presets import register


@dataclass(frozen=True)
class SwapCfg(ParkourCfg):
    """A policy that reads the latent of a world model, which sees the terrain by its camera."""

    env: EnvCfg = field(default_factory=lambda: EnvCfg(camera=True))
    model: ModelCfg = field(default_factory=ModelCfg)
    """The world model and how it learns."""
    amp: AMPCfg = field(default_factory=AMPCfg)
    """The reward for style."""

    def trainer(self, env: ParkourEnv) -> Trainer:
        return Trainer(self.learning, env, transitions(env.robot))

    @property
    def learning(self) -> TrainerCfg:
        return replace(super().learning, model=self.model, amp=self.amp)


SEES = PolicyCfg(
    actor_reads=("history", "command", "latent"),
    critic_reads=("privileged", "latent"),
    init_std=CALM.init_std,
    max_std=CALM.max_std,
)

register("swap", SwapCfg(policy=SEES, ppo=PPO))
