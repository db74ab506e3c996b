"""The reinforcement-learning environment: what robots are told, see, earn, and when they are done.

Read in this order: frame -> rewards -> cfg -> chance -> terminations -> commands -> curriculum ->
bank -> starts -> observations -> metrics -> env -> trials
"""

from swap.env.cfg import (
    CommandCfg,
    CurriculumCfg,
    EndCfg,
    EnvCfg,
    NoiseCfg,
    RandomCfg,
    RewardCfg,
    StartCfg,
)
from swap.env.env import ParkourEnv, Step
from swap.env.frame import Frame
from swap.env.rewards import REWARDS
from swap.env.terminations import End
from swap.env.trials import Outcome, Trials

__all__ = [
    "REWARDS",
    "CommandCfg",
    "CurriculumCfg",
    "End",
    "EndCfg",
    "EnvCfg",
    "Frame",
    "NoiseCfg",
    "Outcome",
    "ParkourEnv",
    "RandomCfg",
    "RewardCfg",
    "StartCfg",
    "Step",
    "Trials",
]
