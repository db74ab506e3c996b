"""Presets that learn parkour from a height map: environment, policy and PPO in, a trainer out."""

from dataclasses import dataclass, field
from typing import Literal

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env import (
    CommandCfg,
    EnvCfg,
    ObservationNoiseCfg,
    ParkourEnv,
    RandomCfg,
    RewardCfg,
    StartCfg,
)
from swap.learn import PPOCfg, Trainer, TrainerCfg
from swap.learn.trainable import Trainable
from swap.policy import PolicyCfg
from swap.presets.run_cfg import RunCfg
from swap.presets.table import TrainCfg, register
from swap.sim import FIXED, EngineName, engine_for
from swap.validate import check_numbers


@dataclass(frozen=True)
class ParkourCfg(TrainCfg):
    """A policy that reads the terrain's heights around it, in place of a world model."""

    worlds: int = 6000
    """Robots that learn side by side; under torchrun, in all processes together."""
    engine: Literal["auto", EngineName] = "auto"
    """auto: gpu where there is a GPU, otherwise cpu."""
    env: EnvCfg = field(default_factory=EnvCfg)
    policy: PolicyCfg = field(default_factory=PolicyCfg)
    ppo: PPOCfg = field(default_factory=PPOCfg)
    capture: bool = True
    """On a GPU, record environment, inference and gradient steps and replay them."""
    tf32: bool = True
    """On a GPU, multiply matrices in TF32."""

    def __post_init__(self) -> None:
        check_numbers(self, at_least_1=("worlds",))
        assert self.learning  # making it is a check: do its parts go together?

    def build(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> Trainable:
        return self.trainer(self.make_env(device, processes), processes)

    def make_env(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> ParkourEnv:
        """This process's share of the worlds, with courses and chance of its own."""
        engine = engine_for(device) if self.engine == "auto" else self.engine
        return ParkourEnv(
            self.env,
            processes.split_evenly(self.worlds, "worlds"),
            engine=engine,
            device=device,
            seed=self.seed + processes.rank,
            capture=self.capture,
        )

    def trainer(self, env: ParkourEnv, processes: ProcessGroup = SINGLE_PROCESS) -> Trainer:
        return Trainer(self.learning, env, processes=processes)

    @property
    def learning(self) -> TrainerCfg:
        return TrainerCfg(
            self.ppo, self.policy, seed=self.seed, capture=self.capture, tf32=self.tf32
        )


# An exploration of 1.0, usual elsewhere, throws this robot over within a second, and nearly every
# reward is then clipped to zero: nothing was learned in 25 M steps. See docs/log.md.
LOW_NOISE_POLICY = PolicyCfg(init_std=0.4, max_std=0.5)
# Bold at first, when there is most to find; calm in the end: a policy that is used to its noise
# fails without it. Short rollouts, many of them: of six settings what learned most in nine minutes.
PPO = PPOCfg(steps=12, entropy_coef=0.005, final_max_std=0.15)
NEAR_STARTS = StartCfg(run_up_skip=0.5)

register(
    "teacher",
    ParkourCfg(
        run=RunCfg(minutes=18.0), env=EnvCfg(start=NEAR_STARTS), policy=LOW_NOISE_POLICY, ppo=PPO
    ),
)
register(
    "tiny",
    ParkourCfg(
        run=RunCfg(minutes=12.0),
        worlds=128,
        # A laptop's samples are few: one robot, no noise, every world walks ahead, at about the
        # same speed, from near the obstacle, which never gets very large, and the networks read no
        # more of the ground than what is under the robot.
        env=EnvCfg(
            families=(("flat", 0.05), ("box", 0.5), ("gap", 0.45)),
            levels=10,
            max_difficulty=0.2,
            commands=CommandCfg(
                forward_low_mps=0.8, forward_high_mps=(1.6, 1.6), free_fraction=0.0
            ),
            start=StartCfg(run_up_skip=1.0),
            noise=ObservationNoiseCfg(0.0, 0.0, 0.0, 0.0),
            random=RandomCfg(FIXED, 0.0),
            # It has no time to learn how to walk well as well.
            rewards=RewardCfg(
                weights=(("foot_slip", 0.0), ("foot_swing", 0.0), ("footfalls", 0.0))
            ),
        ),
        policy=PolicyCfg(
            actor_reads=("history", "command", "terrain_heights"),
            critic_reads=("privileged",),
            actor_hidden=(256, 128),
            critic_hidden=(256, 128),
            init_std=0.4,
            max_std=0.45,
        ),
        # Large steps, KL .02: with .01 half of the seeds had not learned in its time. See the log.
        ppo=PPOCfg(
            steps=32,
            epochs=5,
            entropy_coef=0.001,
            final_max_std=0.15,
            std_decay=(0.7, 0.9),
            desired_kl=0.02,
        ),
    ),
)
