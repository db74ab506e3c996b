"""The reinforcement-learning environment: what robots are told, see, earn, and when they are done.

Read in this order: frame -> rewards -> cfg -> random_source -> terminations -> commands ->
curriculum -> bank -> tasks -> starts -> observations -> metrics -> step -> env ->
trials
"""

from swap.env.cfg import (
    CommandCfg,
    CurriculumCfg,
    EnvCfg,
    ObservationNoiseCfg,
    RandomCfg,
    RewardCfg,
    StartCfg,
    TerminationCfg,
)
from swap.env.env import ParkourEnv
from swap.env.frame import Frame
from swap.env.rewards import REWARDS
from swap.env.step import Step
from swap.env.terminations import EndReason
from swap.env.trials import TrialResults, Trials

__all__ = [
    "REWARDS",
    "CommandCfg",
    "CurriculumCfg",
    "EndReason",
    "EnvCfg",
    "Frame",
    "ObservationNoiseCfg",
    "ParkourEnv",
    "RandomCfg",
    "RewardCfg",
    "StartCfg",
    "Step",
    "TerminationCfg",
    "TrialResults",
    "Trials",
]
