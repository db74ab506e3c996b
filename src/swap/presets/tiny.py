"""The preset `tiny`: a robot that climbs and leaps a little, in minutes on a laptop."""

from swap.env import (
    CommandCfg,
    EnvCfg,
    ObservationNoiseCfg,
    RandomCfg,
    RewardCfg,
    StartCfg,
)
from swap.learn import PPOCfg
from swap.policy import PolicyCfg
from swap.presets.parkour import ParkourCfg
from swap.presets.run_cfg import RunCfg
from swap.sim import FIXED

READS = ("proprioception", "lin_vel", "action", "terrain_lines")
TINY = ParkourCfg(
    run=RunCfg(minutes=12.0),
    worlds=256,
    # A laptop gives few samples, so the task is simple: one robot without noise walks ahead in
    # every world, at about the same speed, from near the obstacle, which never gets very large,
    # and the networks read only the ground under the robot, along three lines.
    env=EnvCfg(
        families=(("flat", 0.05), ("box", 0.5), ("gap", 0.45)),
        levels=10,
        max_difficulty=0.2,
        commands=CommandCfg(forward_low_mps=0.8, forward_high_mps=(1.6, 1.6), free_fraction=0.0),
        start=StartCfg(run_up_skip=1.0),
        noise=ObservationNoiseCfg(0.0, 0.0, 0.0, 0.0),
        random=RandomCfg(FIXED, 0.0),
        rewards=RewardCfg("tiny"),  # without the gait terms: there is no time to learn them
        observations=("lin_vel", "action", "terrain_lines"),
    ),
    # Fewer inputs, narrow layers and two minibatches: 1.6 times the steps a second, and what is
    # learned is about the same. See the log.
    policy=PolicyCfg(
        actor_reads=READS,
        critic_reads=READS,
        actor_hidden=(128, 64),
        critic_hidden=(128, 64),
        init_std=0.4,
        max_std=0.45,
    ),
    # Samples are few, so each is used often: eight epochs. And large steps, KL .02: with .01 half
    # of the seeds did not learn in the time given. See the log.
    ppo=PPOCfg(
        steps=16,
        epochs=8,
        minibatches=2,
        entropy_coef=0.001,
        final_max_std=0.1,
        std_decay=(0.7, 0.9),
        desired_kl=0.02,
    ),
)
