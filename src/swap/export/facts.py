"""States what a controller must know of a robot's training, from its config."""

from typing import Any

from swap.deploy.spec import (
    ActionSpec,
    CommandSpec,
    DepthCameraSpec,
    JointSpec,
    LimitSpec,
    ObservationSpec,
    TermSpec,
)
from swap.env.observation_terms import GROUPS, HISTORY
from swap.errors import UserError
from swap.presets import ParkourCfg
from swap.robots import Robot
from swap.runs.config import to_json
from swap.sim import CONTROL_DT
from swap.world_model import WorldModel

BEYOND_RANGE_RAD = 0.3
"""With 0 boxes of 1.63 m and gaps of 2.13 m lose 2 and 9 of 100 trials, with this none."""
SWING, TORQUE_SHARE = 2.0, 1.5
"""Boxes of 1.63 m in `swap sim2sim`, commands at 200 Hz, motors of 0.8 to 1.2 times their strength:
of 40, 28 succeed if commands are cut to just the curve, 35 at a quarter beyond it."""
STATE_S, GAP_S = 0.05, 0.06


def joints_of(robot: Robot) -> tuple[JointSpec, ...]:
    return tuple(
        JointSpec(
            name=name,
            axis=joint.axis,
            default_rad=joint.default,
            low_rad=joint.range[0],
            high_rad=joint.range[1],
            kp=robot.kp,
            kd=robot.kd,
            torque_nm=joint.motor.torque,
            speed_rps=joint.motor.speed,
        )
        for name, joint in zip(robot.joint_names, robot.joints, strict=True)
    )


def observation_of(cfg: ParkourCfg, robot: Robot) -> ObservationSpec:
    read = dict.fromkeys((*GROUPS["proprioception"], *GROUPS[HISTORY]))
    terms = {term.name: term for term in cfg.env.spaces.terms}
    return ObservationSpec(
        terms=tuple(TermSpec(name, terms[name].scale_of(robot)) for name in read),
        proprioception=GROUPS["proprioception"],
        history=GROUPS[HISTORY],
        history_steps=cfg.env.spaces.history,
    )


def camera_of(cfg: ParkourCfg, robot: Robot, model: WorldModel) -> DepthCameraSpec:
    camera = cfg.env.camera
    if camera is None:
        raise UserError("it was trained without a camera; export one that sees: swap")
    eye = camera.optics
    return DepthCameraSpec(
        rows=eye.rows,
        cols=eye.cols,
        fov_deg=eye.fov_deg,
        near_m=eye.near_m,
        far_m=eye.far_m,
        bend=model.codec.bend,
        pos_m=robot.camera.pos,
        pitch_rad=robot.camera.pitch,
        age_s=camera.latency_s,
    )


def command_of(cfg: ParkourCfg) -> CommandSpec:
    commands = cfg.env.commands
    return CommandSpec(
        forward_mps=(-commands.free_back_mps, max(commands.forward_high_mps)),
        left_mps=(-commands.free_lateral_mps, commands.free_lateral_mps),
        yaw_rps=commands.yaw_limit_rps,
        yaw_gain=commands.yaw_gain,
    )


def limits_of(cfg: ParkourCfg, robot: Robot) -> LimitSpec:
    """From the robot's facts. A linear motor gives most power at half of its no-load speed."""
    camera = cfg.env.camera
    assert camera is not None
    motors = [joint.motor for joint in robot.joints]
    return LimitSpec(
        beyond_range_rad=BEYOND_RANGE_RAD,
        swing=SWING,
        torque_share=TORQUE_SHARE,
        power_w=sum(motor.torque * motor.speed / 4 for motor in motors),
        tilt_z=cfg.env.terminations.tilt_z,
        state_s=STATE_S,
        # The oldest of training, and two frames that never came.
        depth_s=camera.latency_s[1] + 3 * camera.every * CONTROL_DT,
        gap_s=GAP_S,
    )


def facts(cfg: ParkourCfg, model: WorldModel) -> dict[str, Any]:
    """The parts of a BundleSpec that a config knows."""
    robot = cfg.env.load_robot()
    return {
        "robot": robot.name,
        "control_period_s": CONTROL_DT,
        "ticks_every": model.k,
        "joints": joints_of(robot),
        "action": ActionSpec(robot.action_scale, cfg.env.action_clip),
        "observation": observation_of(cfg, robot),
        "camera": camera_of(cfg, robot, model),
        "command": command_of(cfg),
        "limits": limits_of(cfg, robot),
        "robot_data": to_json(robot),
    }


def mjlab_metadata(known: dict[str, Any], name: str) -> dict[str, str]:
    """The keys that mjlab writes into its graphs, as texts separated by commas, for tools that read
    those. They round to three digits and know no period, limits or camera: swap.json does."""
    joints, seen = known["joints"], known["observation"]
    scales = {term.name: term.scale for term in seen.terms}
    terms = seen.history

    def row(values: list[Any]) -> str:
        return ",".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in values)

    return {
        "run_path": name,
        "joint_names": row([joint.name for joint in joints]),
        "joint_stiffness": row([joint.kp for joint in joints]),
        "joint_damping": row([joint.kd for joint in joints]),
        "default_joint_pos": row([joint.default_rad for joint in joints]),
        "command_names": "velocity",
        "observation_names": row(list(terms)),
        "observation_terms_scale": row([float(scales[x]) for x in terms]),
        "observation_terms_flatten_history_dim": row([True for _ in terms]),
        "observation_terms_history_length": row([seen.history_steps for _ in terms]),
        "observation_terms_clip": row(["None" for _ in terms]),
        "action_scale": row([known["action"].scale_rad for _ in joints]),
    }
