"""The robot and its course in C MuJoCo, and its motors: torques from commands at every step."""

import mujoco
import numpy as np

from swap.deploy.joints import MotorChannel
from swap.deploy.messages import MotorCommand, RobotState
from swap.robots import Robot
from swap.robots.mjcf import build_spec
from swap.sim2sim.cfg import SimCfg, Trial, random_source
from swap.sim2sim.clutter import HIDDEN, scatter
from swap.sim2sim.disturbances import Disturbances


class SimulatedRobot:
    """One robot on one course. Motors are listed as `motors` says, not as the model has them."""

    def __init__(
        self, robot: Robot, motors: tuple[MotorChannel, ...], cfg: SimCfg, trial: Trial
    ) -> None:
        self.robot, self.cfg = robot, cfg
        self.model = self._compile(trial)
        self.data = mujoco.MjData(self.model)
        names = robot.joint_names
        self._angles, self._speeds = slice(7, 7 + len(names)), slice(6, 6 + len(names))
        self._joint = np.array([names.index(motor.joint) for motor in motors])
        self._sign = np.array([motor.sign for motor in motors], float)
        self._zero = np.array([motor.zero_rad for motor in motors])
        joints = [robot.joints[k] for k in self._joint]
        self._peak = np.array([joint.motor.torque for joint in joints])
        self._no_load = np.array([joint.motor.speed for joint in joints])
        draw = random_source(trial, "motors")
        n = len(motors)
        self._kp, self._kd = draw.uniform(*cfg.gains, n), draw.uniform(*cfg.gains, n)
        self._strength = draw.uniform(*cfg.strength, n)
        self._strength[draw.integers(n)] *= cfg.weak_motor
        self._errors = random_source(trial, "sensors")
        self._disturbances = Disturbances(random_source(trial, "blows"))
        self.torque_share = 0.0
        self._stand(trial)

    def _compile(self, trial: Trial) -> mujoco.MjModel:
        course, cfg = trial.course, self.cfg
        cone, boxes = cfg.friction_cone, (course.pos, course.quat, course.half)
        spec = build_spec(self.robot, course.n, *boxes, cone=cone)
        spec.option.timestep = cfg.timestep_s
        draw = random_source(trial, "body")
        friction = max(float(draw.uniform(*cfg.friction)), course.friction)
        for geom in spec.geoms:
            if not geom.name.startswith("box"):
                geom.group = HIDDEN
        scatter(spec, course, cfg, random_source(trial, "clutter"))
        for geom in spec.geoms:
            if geom.priority:
                geom.friction = (friction, 0.005, 0.0001)
        model = spec.compile()
        trunk = model.body("trunk").id
        legs = trunk + 1 + np.arange(len(self.robot.joints))
        factor = draw.uniform(*cfg.link_mass, len(legs))
        model.body_mass[legs] *= factor
        model.body_inertia[legs] *= factor[:, None]
        extra = 1 + draw.uniform(*cfg.payload) * self.robot.mass / model.body_mass[trunk]
        model.body_mass[trunk] *= extra
        model.body_inertia[trunk] *= extra
        model.body_ipos[trunk] += draw.uniform(-cfg.com_m, cfg.com_m, 3)
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return model

    def hang(self) -> None:
        """Back to where it started, at rest, as if hung up."""
        self.data.qpos[:] = self._start
        self.data.qvel[:] = 0

    def _stand(self, trial: Trial) -> None:
        draw, data = random_source(trial, "start"), self.data
        ahead, aside = self.cfg.start_m
        data.qpos[0], data.qpos[1] = draw.uniform(-ahead, ahead), draw.uniform(-aside, aside)
        data.qpos[2] = trial.course.start_z + self.robot.stance + 0.01
        half_yaw = draw.uniform(-self.cfg.start_yaw_rad, self.cfg.start_yaw_rad) / 2
        data.qpos[3:7] = np.cos(half_yaw), 0, 0, np.sin(half_yaw)
        data.qpos[self._angles] = self.robot.default_pose
        mujoco.mj_forward(self.model, data)
        self._start = data.qpos.copy()

    # --- motors and sensors ---------------------------------------------------------------------
    def step(self, command: MotorCommand | None) -> None:
        """One physics step under a command; none: motors are off."""
        data, at = self.data, self._joint
        if command is None:
            data.ctrl[:] = 0
        else:
            pos, vel = data.qpos[self._angles][at], data.qvel[self._speeds][at]
            target = self._sign * (command.pos - self._zero)
            desired = self._kp * command.kp * (target - pos) - self._kd * command.kd * vel
            desired = self._strength * (desired + self._sign * command.torque)
            share = vel / self._no_load
            upper = self._peak * (1 - share).clip(0, 1)
            lower = -self._peak * (1 + share).clip(0, 1)
            self.torque_share = max(self.torque_share, float(np.abs(desired / self._peak).max()))
            data.ctrl[at] = desired.clip(lower, upper)
        self._disturbances.apply(self)
        mujoco.mj_step(self.model, data)

    def state(self) -> RobotState:
        """As its own electronics measure it, with their errors."""
        data, at, cfg, draw = self.data, self._joint, self.cfg, self._errors
        error = draw.normal(size=3) * cfg.attitude_rad / 2
        quat, turned = np.empty(4), np.array([1.0, *error])
        mujoco.mju_mulQuat(quat, data.qpos[3:7], turned / np.linalg.norm(turned))
        n = len(at)
        pos = data.qpos[self._angles][at] + draw.normal(size=n) * cfg.joint_pos_rad
        vel = data.qvel[self._speeds][at] + draw.normal(size=n) * cfg.joint_vel_rps
        gyro = data.qvel[3:6] + draw.normal(size=3) * cfg.gyro_rps
        torque = self._sign * data.ctrl[at]
        return RobotState(
            data.time, quat, gyro, self._sign * pos + self._zero, self._sign * vel, torque
        )

    # --- what is true ---------------------------------------------------------------------------
    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.data.qpos).all() or bool(np.abs(self.data.qvel).max() > 1e4)

    def feet(self) -> np.ndarray:
        """Centres of the feet in the world, [4, 3]."""
        ids = [self.model.geom(f"{leg.name}_foot").id for leg in self.robot.legs]
        return self.data.geom_xpos[ids]

    def trunk_force(self) -> np.ndarray:
        """Net contact force on the trunk, N, world [3]."""
        total, force = np.zeros(3), np.zeros(6)
        trunk = self.model.body("trunk").id
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            sides = [self.model.geom_bodyid[g] == trunk for g in contact.geom]
            if any(sides):
                mujoco.mj_contactForce(self.model, self.data, k, force)
                total += (1 if sides[1] else -1) * contact.frame.reshape(3, 3).T @ force[:3]
        return total
