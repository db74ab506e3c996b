"""Draws the poses that new episodes start from: standing, with small random offsets."""

import torch
from torch import Tensor

from swap.env.cfg import StartCfg
from swap.env.random_source import RandomSource
from swap.robots import Robot
from swap.sim import Start, standing
from swap.symmetry import ROTATION, VECTOR, Field, Layout, signs


class Starts:
    """Draws starts for all worlds at once; the mask of `Engine.reset` selects those that use it."""

    def __init__(self, cfg: StartCfg, robot: Robot, rng: RandomSource) -> None:
        self._rng, self._lifted_m, self._run_up_skip = rng, cfg.lifted_m, cfg.run_up_skip
        joint = robot.body.joint_rep
        sizes = {
            Field("pos", signs(1, -1)): (cfg.ahead_m, cfg.sideways_m),
            Field("half_yaw", signs(-1)): (cfg.yaw_rad / 2,),
            Field("lin_vel", VECTOR): (cfg.lin_vel_mps,) * 3,
            Field("ang_vel", ROTATION): (cfg.ang_vel_rps,) * 3,
            Field("joint_pos", joint): (cfg.joint_pos_rad,) * joint.dim,
            Field("joint_vel", joint): (cfg.joint_vel_rps,) * joint.dim,
        }
        self._layout = Layout(tuple(sizes))
        device = rng.device
        self._size = torch.tensor([x for size in sizes.values() for x in size], device=device)
        self._standing = standing(robot, torch.zeros(rng.n, device=device))

    def draw(self, ground_z: Tensor, run_up: Tensor) -> Start:
        """Draw starts, given the height of the ground at each world's start and the length of level
        ground ahead of it, [N] each."""
        off = self._layout.unpack(self._rng.signed(self._layout.rep) * self._size)
        rest = self._standing
        base_pos = rest.base_pos.clone()
        base_pos[:, :2] += off["pos"]
        if self._run_up_skip:
            base_pos[:, 0] += self._run_up_skip * run_up * self._rng.uniform()
        base_pos[:, 2] += ground_z + self._lifted_m
        quat = torch.zeros_like(rest.base_quat)
        quat[:, 0], quat[:, 3] = off["half_yaw"][:, 0].cos(), off["half_yaw"][:, 0].sin()
        return Start(
            base_pos=base_pos,
            base_quat=quat,
            base_lin_vel=off["lin_vel"],
            base_ang_vel=off["ang_vel"],
            joint_pos=rest.joint_pos + off["joint_pos"],
            joint_vel=off["joint_vel"],
        )
