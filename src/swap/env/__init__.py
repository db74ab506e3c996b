"""The reinforcement-learning environment: commands, observations, rewards and ends of episodes.

Read in this order: observation_terms -> spaces -> frame -> rewards -> cfg -> random_source ->
terminations -> commands -> curriculum -> bank -> tasks -> starts -> observations -> metrics ->
step -> env -> trials
"""

from typing import TYPE_CHECKING

from swap.lazy import names_of

if TYPE_CHECKING:
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
    from swap.env.observation_terms import OBSERVATIONS, Observation, Reading
    from swap.env.rewards import REWARDS
    from swap.env.spaces import Spaces
    from swap.env.step import Step
    from swap.env.terminations import EndReason
    from swap.env.trials import TrialResults, Trials
else:
    CONFIGS = ("CommandCfg", "CurriculumCfg", "EnvCfg", "ObservationNoiseCfg", "RandomCfg")
    MODULES = {
        "cfg": (*CONFIGS, "RewardCfg", "StartCfg", "TerminationCfg"),
        "env": ("ParkourEnv",),
        "frame": ("Frame",),
        "observation_terms": ("OBSERVATIONS", "Observation", "Reading"),
        "rewards": ("REWARDS",),
        "spaces": ("Spaces",),
        "step": ("Step",),
        "terminations": ("EndReason",),
        "trials": ("TrialResults", "Trials"),
    }
    __getattr__ = names_of(__name__, MODULES)

__all__ = [
    "OBSERVATIONS",
    "REWARDS",
    "CommandCfg",
    "CurriculumCfg",
    "EndReason",
    "EnvCfg",
    "Frame",
    "Observation",
    "ObservationNoiseCfg",
    "ParkourEnv",
    "RandomCfg",
    "Reading",
    "RewardCfg",
    "Spaces",
    "StartCfg",
    "Step",
    "TerminationCfg",
    "TrialResults",
    "Trials",
]
