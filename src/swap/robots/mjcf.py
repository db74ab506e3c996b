"""Builds the MuJoCo model of one world, as an MjSpec, from a Robot and a number of box slots.

The robot consists of spheres and capsules only: MuJoCo's capsule-box collider treats left and right
alike, its box-box collider does not. Robot shapes collide with boxes and nothing else. Boxes have
priority, so every contact has the friction and softness of the box, and the course alone decides
how much grip there is.
"""

import mujoco
import numpy as np

from swap.robots.friction_cone import FrictionCone
from swap.robots.parts import Capsule, Leg
from swap.robots.robot import Robot

TIMESTEP = 0.005
"""Physics steps of 5 ms (200 Hz)."""
GRAVITY = 9.81
CONES: dict[FrictionCone, mujoco.mjtCone] = {
    "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL,
    "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC,
}
SOLREF_TIME = 0.02
"""Time constant of contacts, which do not bounce, s."""


def build_spec(
    robot: Robot,
    slots: int = 32,
    pos: np.ndarray | None = None,
    quat: np.ndarray | None = None,
    half: np.ndarray | None = None,
    force_sensors: bool = False,
    cone: FrictionCone = "pyramidal",
) -> mujoco.MjSpec:
    """Build the model: boxes `box0`.. first, then the robot, so that box k is geom k.

    `pos`, `quat`, `half` [slots, ...] place the boxes; without them they are parked far below.
    `force_sensors` adds the net contact force of `force_groups(robot)` as sensors.
    """
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.compiler.autolimits = True
    option = spec.option
    option.timestep, option.gravity = TIMESTEP, (0.0, 0.0, -GRAVITY)
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.cone = CONES[cone]
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.iterations, option.ls_iterations = 10, 20
    for k in range(slots):
        box = spec.worldbody.add_geom(name=f"box{k}", type=mujoco.mjtGeom.mjGEOM_BOX)
        box.size = half[k] if half is not None else (0.05, 0.05, 0.05)
        box.pos = pos[k] if pos is not None else (0.0, 0.0, -100.0)
        if quat is not None:
            box.quat = quat[k]
        box.contype, box.conaffinity, box.condim, box.priority = 1, 0, 3, 1
        box.solref = (SOLREF_TIME, 1.0)
        box.rgba = (0.55, 0.53, 0.5, 1.0)
    _add_robot(spec, robot)
    if force_sensors:
        for name in force_groups(robot):
            _add_force_sensor(spec, name)
    return spec


def force_groups(robot: Robot) -> tuple[str, ...]:
    """The parts that report contact forces: four feet, four thighs, four shanks, the trunk."""
    parts = ("foot", "thigh", "shank")
    return (*(f"{leg.name}_{part}" for part in parts for leg in robot.legs), "trunk")


def group_of_geom(robot: Robot, model: mujoco.MjModel) -> np.ndarray:
    """The index of each geom in `force_groups`; -1 for boxes."""
    groups = force_groups(robot)
    index = np.full(model.ngeom, -1, np.int32)
    for g in range(model.ngeom):
        name = model.geom(g).name
        if name in groups:
            index[g] = groups.index(name)
        elif name.startswith("trunk"):
            index[g] = groups.index("trunk")
    return index


def _add_robot(spec: mujoco.MjSpec, robot: Robot) -> None:
    trunk = spec.worldbody.add_body(name="trunk", pos=(0.0, 0.0, robot.stance))
    trunk.add_freejoint(name="base")
    trunk.mass, trunk.ipos, trunk.inertia = robot.trunk.mass, robot.trunk.com, robot.trunk.inertia
    trunk.explicitinertial = True
    for k, shape in enumerate(robot.trunk_shapes):
        _add_shape(trunk, f"trunk{k}", shape)
    camera = trunk.add_camera(name="depth", pos=robot.camera.pos)
    camera.quat = _camera_quat(robot.camera.pitch)
    for leg in robot.legs:
        _add_leg(spec, trunk, leg)


def _camera_quat(pitch: float) -> np.ndarray:
    """MuJoCo cameras look along -z with y up: x is the robot's right, -z points ahead and down."""
    s, c = np.sin(pitch), np.cos(pitch)
    frame = np.array([[0.0, s, -c], [-1.0, 0.0, 0.0], [0.0, c, s]])
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, frame.ravel())
    return quat


def _add_leg(spec: mujoco.MjSpec, trunk: mujoco.MjsBody, leg: Leg) -> None:
    places = (leg.mount, (0.0, leg.offset, 0.0), (0.0, 0.0, -leg.thigh))
    parent = trunk
    for joint, link, place in zip(leg.joints, leg.links, places, strict=True):
        name = f"{leg.name}_{joint.part}"
        body = parent.add_body(name=name, pos=place)
        body.mass, body.ipos, body.inertia = link.mass, link.com, link.inertia
        body.explicitinertial = True
        hinge = body.add_joint(
            name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=joint.axis, range=joint.range
        )
        hinge.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        hinge.armature = joint.motor.armature
        hinge.damping[0] = joint.motor.damping
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_motor()
        parent = body
    thigh, shank = (spec.body(f"{leg.name}_{part}") for part in ("hip", "knee"))
    origin, knee, foot = (0.0, 0.0, 0.0), (0.0, 0.0, -leg.thigh), (0.0, 0.0, -leg.shank)
    _add_shape(thigh, f"{leg.name}_thigh", Capsule(origin, knee, leg.thigh_radius))
    # The shank ends above the foot: a foot that sinks into soft contact must not count as a shank
    # that has hit something.
    shin = (0.0, 0.0, -(leg.shank - 2 * leg.foot_radius))
    _add_shape(shank, f"{leg.name}_shank", Capsule(origin, shin, leg.shank_radius))
    _add_shape(shank, f"{leg.name}_foot", Capsule(foot, foot, leg.foot_radius))


def _add_shape(body: mujoco.MjsBody, name: str, shape: Capsule) -> None:
    geom = body.add_geom(name=name)
    if shape.a == shape.b:
        geom.type, geom.pos = mujoco.mjtGeom.mjGEOM_SPHERE, shape.a
        geom.size = (shape.radius, 0.0, 0.0)
    else:
        geom.type, geom.fromto = mujoco.mjtGeom.mjGEOM_CAPSULE, (*shape.a, *shape.b)
        geom.size = (shape.radius, 0.0, 0.0)
    geom.contype, geom.conaffinity, geom.condim = 0, 1, 3


def _add_force_sensor(spec: mujoco.MjSpec, name: str) -> None:
    """Add a sensor of the net contact force on a geom (for the trunk: on its body), world frame."""
    sensor = spec.add_sensor(name=f"force_{name}", type=mujoco.mjtSensor.mjSENS_CONTACT)
    whole_body = name == "trunk"
    sensor.objtype = mujoco.mjtObj.mjOBJ_BODY if whole_body else mujoco.mjtObj.mjOBJ_GEOM
    sensor.objname = name
    force, net, slots = 1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE), 3, 1
    sensor.intprm[:3] = (force, net, slots)
