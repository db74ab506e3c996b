"""Makes worlds in pairs that mirror each other: course, robot and random numbers."""

from collections.abc import Sequence

import torch
from torch import Tensor

from swap.courses import Course
from swap.env import EnvCfg, ParkourEnv, Trials
from swap.env.random_source import RandomSource
from swap.robots import Robot
from swap.sim import Draw, Ranges, mirror
from swap.sim.randomise import mirror_push
from swap.symmetry import Rep


class MirroredRandomSource(RandomSource):
    """Gives the second half of the worlds the mirrored random numbers of the first."""

    def uniform(self, *shape: int) -> Tensor:
        half = super().uniform(*shape)[: self.n // 2]
        return torch.cat([half, half])

    def signed(self, rep: Rep) -> Tensor:
        half = super().signed(rep)[: self.n // 2]
        return torch.cat([half, rep(half)])

    def draw(self, ranges: Ranges, robot: Robot) -> Draw:
        one = {k: v[: self.n // 2] for k, v in vars(super().draw(ranges, robot)).items()}
        two = vars(mirror(Draw(**one), robot))
        return Draw(**{name: torch.cat([one[name], two[name]]) for name in one})

    def push(self, ranges: Ranges) -> tuple[Tensor, Tensor]:
        one = [kick[: self.n // 2] for kick in super().push(ranges)]
        linear, angular = map(torch.cat, zip(one, mirror_push(*one), strict=True))
        return linear, angular


class Pairs(Trials):
    """World i is on course i, world P + i on its mirror image; all on the CPU."""

    def __init__(
        self,
        cfg: EnvCfg,
        courses: Sequence[Course],
        *,
        speed_mps: float,
        seed: int = 0,
        time_s: float = 20.0,
    ) -> None:
        both = [*courses, *(course.mirror() for course in courses)]
        rng = MirroredRandomSource(len(both), torch.device("cpu"), seed)
        command = (speed_mps, 0.0, 0.0)
        super().__init__(cfg, both, command=command, time_s=time_s, seed=seed, rng=rng)
        mirror_camera_noise(self)


def mirror_camera_noise(env: ParkourEnv) -> None:
    """Gives the cameras of the second half of the worlds the mirrored faults of the first."""
    if env.camera is not None:
        draws, half = env.camera.draws, env.n // 2
        draws.key[half:] = draws.key[:half]
        draws.mirrored[half:] = True
