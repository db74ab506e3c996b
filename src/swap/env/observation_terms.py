"""Declares every observation once: how it is read, how it mirrors, its scale and its noise.

`BUILT_IN` is the paper's Table "Symmetry transformations of observation and action components",
`GROUPS` its Table "Input and target spaces of architectural modules". To add a sensor, declare an
`Observation` and name it in `EnvCfg.observations`; networks read it as a group of its own name:

    FOOT_LOAD = Observation(
        "foot_load",
        rep=lambda spaces: spaces.body.leg_rep,  # one number per leg: left and right trade places
        read=lambda now: now.frame.foot_force[..., 2],  # [N, 4], newtons
        scale=1e-3,
        noise=5.0,
    )

Units: joint angles are relative to the default pose; heights are metres, surface minus base (foot
maps: minus foot); gains and link factors are differences from nominal.
"""

import math
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

from swap.errors import UserError
from swap.registry import Registry, instance_of
from swap.sensors.cfg import HeightCfg
from swap.symmetry import ROTATION, VECTOR, Field, Grid, Rep, signs, trivial

if TYPE_CHECKING:  # this module must import without a simulator
    from swap.courses import Boxes
    from swap.env.cfg import ObservationNoiseCfg
    from swap.env.frame import Frame
    from swap.env.heights import Heights
    from swap.env.spaces import Spaces
    from swap.robots import Robot
    from swap.sim import Draw, State


T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """One control step of N worlds, to read observations from. The next step overwrites it."""

    frame: "Frame"
    command: Tensor  # [N, 3]: the command for the next action
    heights: "Heights"
    state: "State"  # of the engine
    drawn: "Draw"  # the robots' randomisation
    boxes: "Boxes"  # of the courses
    robot: "Robot"


@dataclass(frozen=True)
class Observation:
    """One observed quantity. Its Rep gives its width and how it mirrors."""

    name: str
    rep: Rep | Callable[["Spaces"], Rep]
    """A Rep, or a function that makes it from the robot's body and the sizes of its sensors."""
    read: Callable[[Reading], Tensor]
    """Returns [N, d] on the worlds' device. It must not wait for a GPU."""
    symbol: str = ""
    """The paper's symbol."""
    doc: str = ""
    """What it is, with its unit."""
    scale: float | Callable[["Robot"], float] = 1.0
    """Factor of all entries, for every reader, so it never breaks the mirror. Policies normalise
    their inputs; a world model does not, and bounds them at 5."""
    noise: float | Callable[["ObservationNoiseCfg"], float] = 0.0
    """The largest error, before scaling: uniform, to both sides, new at every step."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise UserError(f"observation '{self.name}' is no name; use letters, digits and _")
        for what, x in (("scale", self.scale), ("noise", self.noise)):
            if not callable(x) and not (math.isfinite(x) and x >= 0):
                raise UserError(f"observation '{self.name}' has {what}={x}; give 0 or more")

    def field(self, spaces: "Spaces") -> Field:
        rep = self.rep if isinstance(self.rep, Rep) else self._ask("rep", self.rep, spaces)
        if not isinstance(rep, Rep):
            raise UserError(f"observation '{self.name}' has a rep that is none: {rep!r:.80}")
        return Field(self.name, rep, self.symbol, self.doc)

    def value(self, now: Reading, shape: tuple[int, int]) -> Tensor:
        """The value, float32; UserError if it does not have this shape."""
        x = self._ask("read", self.read, now)
        if not isinstance(x, Tensor) or x.shape != shape:
            found = list(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise UserError(
                f"observation '{self.name}' is read as {found}, by its rep it is {list(shape)}; "
                "let both say the same"
            )
        return x.float()

    def _ask(self, what: str, function: Callable[..., T], *given: object) -> T:
        """Call a user's function; an error in it becomes a UserError of one line."""
        try:
            return function(*given)
        except UserError:
            raise
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{at.filename}, line {at.lineno}: {type(error).__name__}: {error}"
            raise UserError(f"observation '{self.name}' has a {what} that fails: {why}") from error

    def scale_of(self, robot: "Robot") -> float:
        return self.scale(robot) if callable(self.scale) else self.scale

    def noise_of(self, cfg: "ObservationNoiseCfg") -> float:
        return self.noise(cfg) if callable(self.noise) else self.noise


def _joints(spaces: "Spaces") -> Rep:
    return spaces.body.joint_rep


def _gains(spaces: "Spaces") -> Rep:
    return abs(spaces.body.joint_rep)


BUILT_IN = (
    Observation(
        "lin_vel",
        VECTOR,
        lambda now: now.frame.lin_vel_b,
        "v",
        "base linear velocity, m/s, body frame",
    ),
    Observation(
        "ang_vel",
        ROTATION,
        lambda now: now.frame.ang_vel_b,
        "ω",
        "base angular velocity, rad/s, body frame",
        scale=0.25,
        noise=lambda cfg: cfg.ang_vel_rps,
    ),
    Observation(
        "gravity",
        VECTOR,
        lambda now: now.frame.gravity_b,
        "g",
        "direction of gravity in the body frame",
        noise=lambda cfg: cfg.gravity,
    ),
    Observation(
        "command",
        signs(1, -1, -1),
        lambda now: now.command,
        "c",
        "commanded forward, left, yaw velocity",
    ),
    Observation(
        "joint_pos",
        _joints,
        lambda now: now.frame.joint_pos,
        "q",
        "joint angles, rad",
        noise=lambda cfg: cfg.joint_pos_rad,
    ),
    Observation(
        "joint_vel",
        _joints,
        lambda now: now.frame.joint_vel,
        "q̇",
        "joint velocities, rad/s",
        scale=0.05,
        noise=lambda cfg: cfg.joint_vel_rps,
    ),
    Observation(
        "action",
        _joints,
        lambda now: now.frame.action,
        "a",
        "joint targets around the default pose, scaled",
    ),
    Observation(
        "contacts",
        lambda spaces: spaces.body.leg_rep @ trivial(2),
        lambda now: now.frame.leg_contact.float(),
        "b_c",
        "thigh and shank contact of each leg",
    ),
    Observation(
        "kd",
        _gains,
        lambda now: now.drawn.kd - 1,
        "k_d",
        "randomised damping gains",
        scale=5.0,
    ),
    Observation(
        "kp",
        _gains,
        lambda now: now.drawn.kp - 1,
        "k_p",
        "randomised stiffness gains",
        scale=5.0,
    ),
    Observation(
        "com_offset",
        VECTOR,
        lambda now: now.drawn.com,
        "Δp_com",
        "randomised shift of the centre of mass, m",
        scale=20.0,
    ),
    Observation(
        "mass",
        trivial(),
        lambda now: now.drawn.payload[:, None],
        "m",
        "base mass",
        scale=lambda robot: 5.0 / robot.mass,
    ),
    Observation(
        "restitution",
        trivial(),
        lambda now: now.drawn.restitution[:, None],
        "e",
        "restitution",
    ),
    Observation(
        "friction",
        trivial(),
        lambda now: now.drawn.friction[:, None] - 1,
        "μ",
        "friction",
    ),
    Observation(
        "terrain_heights",
        lambda spaces: spaces.heights.terrain.grid.rep,
        lambda now: now.heights.terrain,
        "H_terrain",
        "heights around the robot, m",
    ),
    Observation(
        "body_heights",
        lambda spaces: spaces.heights.body.grid.rep,
        lambda now: now.heights.body,
        "H_body",
        "heights the world model predicts, m",
    ),
    Observation(
        "foot_heights",
        lambda spaces: spaces.body.leg_rep @ spaces.heights.foot.grid.rep,
        lambda now: now.heights.foot,
        "H_foot",
        "heights around each foot, m",
    ),
)
"""All built-in observations, in the order in which their noise is drawn."""


def _terrain_lines(now: Reading) -> Tensor:
    grid = HeightCfg.terrain.grid
    left, middle = grid.cols // 4, grid.cols // 2
    heights = now.heights.terrain.unflatten(1, (grid.rows, grid.cols))
    return heights[:, :, left : grid.cols - left : middle - left].flatten(1)


TERRAIN_LINES = Observation(
    "terrain_lines",
    lambda spaces: Grid(spaces.heights.terrain.grid.rows, 3).rep,
    _terrain_lines,
    doc="heights along three lines, at the left, in the middle and at the right, m",
)
"""A part of `terrain_heights` that is enough for obstacles that go straight across. It is in no
group; `EnvCfg.observations` names it."""

OBSERVATIONS = Registry(
    "observation",
    "swap.observations",
    instance_of(Observation, "swap.env.Observation"),
    how="swap train ... --env.observations {}",
    label=lambda term: term.name,
)
"""Observations by the names that `EnvCfg.observations` may use."""
for _term in (*BUILT_IN, TERRAIN_LINES):
    OBSERVATIONS.add(_term.name, _term)

MEASURED = ("ang_vel", "gravity", "joint_pos", "joint_vel")
HISTORY = "history"
"""The group of past steps; the newest is `t0`."""
GROUPS: dict[str, tuple[str, ...]] = {
    "proprioception": ("ang_vel", "gravity", "command", "joint_pos", "joint_vel"),
    HISTORY: (*MEASURED, "action"),
    "command": ("command",),
    "privileged": (
        *("contacts", "kd", "kp", "com_offset", "mass", "restitution", "friction"),
        *("lin_vel", "ang_vel", "gravity", "command", "joint_pos", "joint_vel", "action"),
        "terrain_heights",
    ),
    "style": ("joint_pos", "lin_vel", "ang_vel", "joint_vel"),
    "terrain_heights": ("terrain_heights",),
    "body_heights": ("body_heights",),
    "foot_heights": ("foot_heights",),
}
"""Groups that networks read by name: the encoder reads o_prop, which the decoder predicts; the
actor reads o_H; the critic o_priv; AMP's discriminator two successive frames of `style`."""
NOISELESS = ("privileged", "style")
"""Groups without noise, because no robot measures them."""
