"""The configuration of the simulated robot: rates, latencies, errors, and what differs by trial."""

from dataclasses import dataclass

import numpy as np

from swap.courses import Course
from swap.errors import UserError
from swap.robots.friction_cone import FrictionCone
from swap.validate import check_numbers

Range = tuple[float, float]


@dataclass(frozen=True)
class SimCfg:
    """A robot between its wires. Ranges are drawn uniformly."""

    timestep_s: float = 0.001
    friction_cone: FrictionCone = "elliptic"
    state_every: int = 5
    """Physics steps from one state message to the next, and from one command to the next."""
    image_every: int = 66
    """Physics steps from one depth image to the next."""
    state_latency_s: Range = (0.0, 0.003)
    """A new one for every message."""
    command_latency_s: Range = (0.0, 0.003)
    image_latency_s: Range = (0.07, 0.11)
    gyro_rps: float = 0.03
    """Standard deviations of what is measured."""
    attitude_rad: float = 0.01
    joint_pos_rad: float = 0.002
    joint_vel_rps: float = 0.2
    depth_m: float = 0.01
    depth_per_m: float = 0.004
    """Grows with the square of the depth."""
    edge_m: float = 0.15
    """Neighbouring pixels that differ by more are an edge."""
    edge_holes: float = 0.3
    """Chance that a pixel on an edge has no return."""
    holes: float = 0.01
    """Chance that any pixel has none."""
    friction: Range = (0.5, 1.25)
    payload: Range = (0.0, 0.2)
    """On the trunk, over the robot's mass."""
    com_m: float = 0.05
    """Largest shift of the trunk's centre of mass along each axis."""
    link_mass: Range = (0.8, 1.2)
    gains: Range = (0.8, 1.2)
    """Factors of each motor's kp and of its kd."""
    strength: Range = (0.8, 1.2)
    """Factors of the torque that each motor is asked for."""
    specular: float = 0.0
    """Share of the image that discs without a return cover; they wander."""
    weak_motor: float = 1.0
    """Strength of one motor, drawn by trial."""
    push_every_s: float = 0.0
    """Mean time between pushes; 0 for none."""
    push_mps: float = 1.0
    """Largest sudden change of the base's velocity, along x and y."""
    hit_every_s: float = 0.0
    """Mean time between blows to a shank; 0 for none."""
    hit_n: float = 200.0
    """Each a sideways force of this size for 50 ms."""
    grass: int = 0
    """So many blades before the obstacle that are seen, and not solid."""
    glass: int = 0
    """So many sills before the obstacle that are solid, and not seen."""
    rubble: int = 0
    """So many loose stones before the obstacle."""
    carpet_n: float = 0.0
    """A carpet before the obstacle that slides when pushed with more than this; 0: none."""
    start_m: tuple[float, float] = (0.3, 0.2)
    """A start is up to so far ahead or behind, and to a side."""
    start_yaw_rad: float = 0.2

    def __post_init__(self) -> None:
        check_numbers(
            self, "sim2sim.", positive=("timestep_s",), at_least_1=("state_every", "image_every")
        )
        for name in ("state_latency_s", "command_latency_s", "image_latency_s", "payload"):
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise UserError(f"sim2sim.{name}={low:g} {high:g}; give 0 <= low <= high")


def as_trained(cone: FrictionCone = "pyramidal") -> SimCfg:
    """Steps and friction cones of training's physics: what then is lost is lost by wires and
    camera."""
    return SimCfg(timestep_s=0.005, friction_cone=cone, state_every=1, image_every=13)


@dataclass(frozen=True)
class Trial:
    """One attempt: a course, a command, and the seed of all that is random."""

    course: Course
    seed: int
    speed_mps: float = 1.0
    time_s: float = 20.0
    """From when it is told to go."""


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended, as the simulator saw it."""

    reason: str
    """`success`, or why not."""
    time_s: float
    far_m: float
    """The largest x."""
    torque_share: float
    """The largest torque that was asked for beyond what a motor has, over its limit; 1 is just."""

    @property
    def success(self) -> bool:
        return self.reason == SUCCESS


SUCCESS = "success"


def random_source(trial: Trial, what: str) -> np.random.Generator:
    """Random numbers for one purpose: drawing more for one changes no other."""
    return np.random.default_rng([trial.seed, *what.encode()])
