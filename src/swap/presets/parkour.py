"""The config of training from a height map: environment, policy and PPO."""

from dataclasses import dataclass, field
from typing import Literal

from swap.device.memory import check_memory
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env import EnvCfg, ParkourEnv
from swap.learn import AMPCfg, ModelCfg, PPOCfg, SymmetryCfg, Trainer, TrainerCfg
from swap.learn.trainable import Trainable
from swap.policy import PolicyCfg
from swap.presets.table import TrainCfg
from swap.sim import EngineName, engine_for
from swap.validate import check_numbers


@dataclass(frozen=True)
class ParkourCfg(TrainCfg):
    """A policy that reads the heights of the terrain around it instead of a world model."""

    worlds: int = 6000
    """Number of robots simulated in parallel; under torchrun, in all processes together."""
    engine: Literal["auto", EngineName] = "auto"
    """auto: gpu where there is a GPU, otherwise cpu."""
    env: EnvCfg = field(default_factory=EnvCfg)
    policy: PolicyCfg = field(default_factory=PolicyCfg)
    ppo: PPOCfg = field(default_factory=PPOCfg)
    symmetry: SymmetryCfg = field(default_factory=SymmetryCfg)
    """How plain networks learn the mirror."""
    capture: bool = True
    """On a GPU, record environment, inference and gradient steps as CUDA graphs."""
    tf32: bool = True
    """On a GPU, multiply matrices in TF32."""

    def __post_init__(self) -> None:
        check_numbers(self, at_least_1=("worlds",))
        assert self.learning  # building it checks that the parts fit together

    def build(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> Trainable:
        return self.trainer(self.make_env(device, processes), processes)

    def check_memory(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> str:
        # Each GPU has its own memory, but all processes share that of the machine.
        sharers = processes.size if device.startswith("cuda") else 1
        world_model = self.learning.model is not None
        return check_memory(self.worlds // sharers, device, world_model=world_model)

    def make_env(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> ParkourEnv:
        """Builds this process's share of the worlds, with its own courses and random numbers."""
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
        return self.learning_with(model=None, amp=None)

    def learning_with(self, model: ModelCfg | None, amp: AMPCfg | None) -> TrainerCfg:
        """`learning`, of a preset with a world model and a style reward."""
        return TrainerCfg(
            self.ppo,
            self.policy,
            model,
            amp,
            symmetry=self.symmetry,
            seed=self.seed,
            capture=self.capture,
            tf32=self.tf32,
        )
