"""A Frame and the height maps in, the observation groups of the paper's Table out.

Every group is a Layout of the symmetry room and is packed in its order. A field has one scale
wherever it occurs, so a scale never breaks the mirror. Units: joint angles are from the default
pose; heights are metres, surface minus base (foot maps: minus foot); gains and link factors are
given as what they differ from nominal.
"""

import torch
from torch import Tensor

from swap.env.cfg import ObservationNoiseCfg
from swap.env.frame import Frame
from swap.env.heights import Heights
from swap.env.random_source import RandomSource
from swap.robots import Robot
from swap.sim import Draw
from swap.state_dict import Buffers
from swap.symmetry import Layout, Spaces

SCALES = {"ang_vel": 0.25, "joint_vel": 0.05, "kp": 5.0, "kd": 5.0, "com_offset": 20.0, "mass": 5.0}
"""By field; 1 where nothing is said. The networks normalise too: this is for readers of raw data,
such as the world model's reconstruction loss."""
MEASURED = ("ang_vel", "gravity", "joint_pos", "joint_vel")
"""What the robot measures itself, and measures with noise."""
TRAITS = ("kd", "kp", "com_offset", "mass", "restitution", "friction")
"""What differs between robots, as the critic is told it."""


class Observations(Buffers):
    """Observation groups of `n` worlds, by name."""

    history: Tensor
    """[N, H, 42]: what was measured and done, newest first."""

    def __init__(
        self, cfg: ObservationNoiseCfg, robot: Robot, spaces: Spaces, rng: RandomSource
    ) -> None:
        step = spaces.layout(*MEASURED, "action")
        super().__init__(history=torch.zeros(rng.n, spaces.history, step.dim, device=rng.device))
        self._robot, self._rng = robot, rng
        self.groups = spaces.groups
        self._measured = spaces.layout(*MEASURED)
        sizes = {
            "ang_vel": cfg.ang_vel_rps,
            "gravity": cfg.gravity,
            "joint_pos": cfg.joint_pos_rad,
            "joint_vel": cfg.joint_vel_rps,
        }
        self._noise = self._row(self._measured, {n: s * scale(n) for n, s in sizes.items()})
        self._noisy = any(size > 0 for size in sizes.values())
        self._scale = self._row(self._measured, {name: scale(name) for name in MEASURED})
        self._traits = torch.zeros(rng.n, spaces.layout(*TRAITS).dim, device=rng.device)
        # Both groups are put together from runs of fields: the command stands between the two
        # runs of what is measured.
        first = self._measured["joint_pos"].start
        self._moving, self._joints = slice(0, first), slice(first, None)
        run = (*MEASURED[:2], "command", *MEASURED[2:])
        assert spaces.proprioception.names == run
        known = ("contacts", *TRAITS, "lin_vel", *run, "action", "terrain_heights")
        assert spaces.privileged.names == known

    def __call__(
        self, f: Frame, command: Tensor, heights: Heights, fresh: Tensor
    ) -> dict[str, Tensor]:
        """`command` [N, 3] is the one to obey next; `fresh` [N] bool: no past before this step.
        The next call writes over what this one gives."""
        clean = torch.cat([f.ang_vel_b, f.gravity_b, f.joint_pos, f.joint_vel], 1) * self._scale
        noisy = clean
        if self._noisy:
            noisy = clean + self._rng.signed(self._measured.rep) * self._noise
        newest = torch.cat([noisy, f.action], 1)[:, None]  # [N, 1, 42]
        older = torch.where(fresh[:, None, None], newest, self.history[:, :-1])
        self.history[:, 1:] = older
        self.history[:, :1] = newest
        terrain, body, foot = heights.split(heights.out)
        command = command.clone()
        moving, joints = self._moving, self._joints
        known = (f.lin_vel_b, clean[:, moving], command, clean[:, joints], f.action, terrain)
        return {
            "proprioception": torch.cat([noisy[:, moving], command, noisy[:, joints]], 1),
            "history": self.history.flatten(1),
            "command": command,
            "privileged": torch.cat([f.hit.float(), self._traits, *known], 1),
            "terrain_heights": terrain,
            "body_heights": body,
            "foot_heights": foot,
        }

    def set_traits(self, drawn: Draw) -> None:
        """What differs between the robots; to be told whenever it has changed."""
        traits = {
            "kd": (drawn.kd - 1) * scale("kd"),
            "kp": (drawn.kp - 1) * scale("kp"),
            "com_offset": drawn.com * scale("com_offset"),
            "mass": drawn.payload[:, None] * (scale("mass") / self._robot.mass),
            "restitution": drawn.restitution[:, None],
            "friction": drawn.friction[:, None] - 1,
        }
        torch.cat([traits[name] for name in TRAITS], 1, out=self._traits)

    def _row(self, layout: Layout, by_name: dict[str, float]) -> Tensor:
        values = [by_name[field.name] for field in layout for _ in range(field.dim)]
        return torch.tensor(values, device=self._rng.device)


def scale(name: str) -> float:
    return SCALES.get(name, 1.0)
