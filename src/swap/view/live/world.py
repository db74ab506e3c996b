"""Simulates one robot, or a robot and its mirror image, step by step and driven by hand.

It knows no page and no clock. The physics are the CPU engine's, the networks those of a trained
robot; the second robot lives in the mirrored course, with mirrored noise and mirrored commands.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from swap.courses import Course
from swap.env import EndReason, ParkourEnv, RewardCfg
from swap.env.cfg import EnvCfg
from swap.env.frame import heading_of
from swap.env.random_source import RandomSource
from swap.evaluate.imagination import Imagination
from swap.evaluate.mirrored_pairs import MirroredRandomSource, mirror_camera_noise
from swap.evaluate.model_audit import GRID
from swap.policy import Agent
from swap.runs.trained_robot import TrainedRobot
from swap.sensors import DepthCameraCfg
from swap.sim import CONTROL_DT, FIXED
from swap.symmetry import VECTOR
from swap.view.live.driving import DrivenCommands, DrivenTasks, VelocityCommand
from swap.view.live.faults import LATENCY_S, Faults

EPISODE_S = 1e6
"""Nobody drives longer."""


class LiveWorld:
    """Call `step` fifty times a second."""

    def __init__(
        self,
        robot: TrainedRobot,
        course: Course,
        *,
        mirrored: bool = False,
        seed: int = 0,
        command: VelocityCommand | None = None,
        faults: Faults | None = None,
    ) -> None:
        """`mirrored`: a second robot, in the mirror image of all this."""
        self.course, self.seed, self.mirrored = course, seed, mirrored
        self.command, self.faults = command or VelocityCommand(), faults or Faults()
        cfg = driven_cfg(robot.cfg.env)
        courses = [course, course.mirror()] if mirrored else [course]
        n, device = len(courses), torch.device("cpu")
        source = MirroredRandomSource if mirrored else RandomSource
        rng = source(n, device, seed)
        self.tasks = DrivenTasks(cfg.curriculum, courses, 1, (0.0, 0.0, 0.0), rng)
        self.env = ParkourEnv(cfg, n, seed=seed, rng=rng, tasks=self.tasks)
        if mirrored:
            mirror_camera_noise(self.env)
        self.commands = self.env.commands = DrivenCommands(self.env)
        # Together in one batch a row's place could change the order of a sum.
        self._networks = robot.networks_for(self.env)
        self.reset()

    def reset(self) -> None:
        """Starts again with the same random numbers."""
        env = self.env
        env.rng.generator.manual_seed(self.seed)
        assert env.camera is not None, "a live world always has a camera"
        env.camera.draws.count.zero_()
        # Fast, but for a pair: that shows that mirrored robots stay mirrored to the last bit.
        fast = not self.mirrored
        self.agents = [Agent(self._networks, 1, env.device, fast=fast) for _ in range(env.n)]
        self.imagination = Imagination(self.agents[0]) if self._networks.model else None
        self.obs: Mapping[str, Tensor] = env.reset()
        self.faults.apply(env)
        self.steps, self.apart_m = 0, 0.0
        self.drive(self.command)

    def drive(self, command: VelocityCommand) -> None:
        self.command = command
        self.commands.drive(command, heading_of(self.env.engine.state.base_quat))

    def set_faults(self, faults: Faults) -> None:
        """Sets faults from now on."""
        self.faults = faults
        faults.apply(self.env)

    def push(self, forward_mps: float, left_mps: float) -> None:
        """Pushes the robot: its base is at once faster by this much, in the world's directions."""
        kick = torch.tensor([[forward_mps, left_mps, 0.0]])
        linear = torch.cat([kick, VECTOR(kick)])[: self.env.n]
        everyone = torch.ones(self.env.n, dtype=torch.bool)
        self.env.engine.push(everyone, linear, torch.zeros_like(linear))

    @torch.no_grad()
    def step(self) -> bool:
        """Takes one control step; returns whether the images are new."""
        tick = self.steps % self.images_every == 0
        self.seen = self.obs["depth_noisy"].clone()
        actions = []
        for k, agent in enumerate(self.agents):
            mine = {name: x[k : k + 1] for name, x in self.obs.items()}
            if self.mirrored:  # see GRID
                mine = {name: (x * GRID).round() / GRID for name, x in mine.items()}
            actions.append(agent.act(mine))
        if self.imagination is not None:
            self.imagination.follow(actions[0])
        self.true_depth = self.obs["depth_clean"].clone()
        self.obs = self.env.step(torch.cat(actions)).obs
        self.steps += 1
        if self.mirrored:
            self.apart_m = max(self.apart_m, self._apart())
        return tick

    @property
    def images_every(self) -> int:
        assert self.env.camera is not None
        return self.env.camera.cfg.every

    @property
    def time_s(self) -> float:
        return self.steps * CONTROL_DT

    @property
    def end(self) -> tuple[EndReason, float]:
        """How the first robot's attempt ended and after how many seconds; it can be driven on after
        that."""
        return EndReason(int(self.tasks.reason[0])), float(self.tasks.steps[0]) * CONTROL_DT

    def _apart(self) -> float:
        """How far joints and base of the second robot are from the mirror image of the first's, m
        and rad."""
        state = self.env.engine.state
        joint = self.env.robot.body.joint_rep
        base = state.base_pos[1] - VECTOR(state.base_pos[0])
        pose = state.joint_pos[1] - joint(state.joint_pos[0])
        return float(torch.cat([base, pose]).abs().max())


def driven_cfg(cfg: EnvCfg) -> EnvCfg:
    """The config of training, without what is random from robot to robot and what ends an
    episode."""
    camera = cfg.camera or DepthCameraCfg()
    return replace(
        cfg,
        camera=replace(camera, latency_s=(0.0, LATENCY_S)),
        random=replace(cfg.random, ranges=FIXED, push_every_s=0.0),
        start=replace(cfg.start, run_up_skip=0.0),
        terminations=replace(cfg.terminations, episode_length_s=EPISODE_S, stall_s=None),
        rewards=RewardCfg(preset="none", terms=(("headway", 1.0),)),  # nobody learns here
    )
