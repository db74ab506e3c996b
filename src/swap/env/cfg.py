"""Configures an environment: frozen dataclasses that are checked when they are made."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import tyro

from swap.courses import FAMILIES
from swap.courses.tilted import TILT_DEG
from swap.env.observation_terms import OBSERVATIONS
from swap.env.reward_presets import WEIGHTS, RewardPreset
from swap.env.rewards import REWARDS
from swap.env.spaces import Spaces
from swap.env_spec import CameraSpec, EnvSpec
from swap.errors import UserError
from swap.robots import Robot, load
from swap.robots.friction_cone import FrictionCone
from swap.sensors import DepthCameraCfg, OpticsCfg
from swap.sim import CONTACT_ROWS, CONTACTS, CONTROL_DT, Ranges
from swap.validate import check_numbers

Range = tuple[float, float]


def _need(fine: bool, says: str) -> None:
    if not fine:
        raise UserError(says)


def _need_range(name: str, value: Range) -> None:
    _need(value[0] <= value[1], f"{name}={value} runs backwards; give (low, high)")


def check_tilt(name: str, tilt_deg: Range) -> None:
    """Check a range of tilts: a smaller tilt would count as flat ground, a larger one cannot be
    built."""
    low, high = TILT_DEG.low, TILT_DEG.high
    _need(
        low <= tilt_deg[0] <= tilt_deg[1] <= high,
        f"{name}={tilt_deg[0]:g} {tilt_deg[1]:g}; give a range within {low:g} to {high:g} degrees",
    )


@dataclass(frozen=True)
class CommandCfg:
    """Velocity commands. On a course they lead forward along the lane. Part of the flat worlds, the
    free ones, get commands in any direction, or to stand."""

    forward_low_mps: float = 0.35
    """The slowest forward command on a course."""
    forward_high_mps: Range = (2.0, 3.0)
    """The fastest command: the first value at the lowest level, the second at the top level."""
    free_fraction: float = 0.5
    """Share of the episodes on flat ground that have free commands and no goal."""
    free_back_mps: float = 0.5
    """Fastest free command backwards; forwards it is the fastest command."""
    free_lateral_mps: float = 0.6
    """Largest sideways command, to either side; free commands only."""
    stand_fraction: float = 0.2
    """Share of the free commands that are to stand still."""
    yaw_gain: float = 0.5
    """Commanded yaw rate per radian of heading error."""
    yaw_limit_rps: float = 1.0
    """Largest commanded yaw rate."""
    small_mps: float = 0.2
    """Commands slower than this become zero."""
    resample_s: float = 10.0
    """Duration of a command."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "commands.",
            not_negative=("free_back_mps", "free_lateral_mps", "yaw_gain", "small_mps"),
            positive=("yaw_limit_rps", "resample_s"),
            fractions=("free_fraction", "stand_fraction"),
        )
        _need_range("forward_high_mps", self.forward_high_mps)
        _need(
            self.small_mps <= self.forward_low_mps <= self.forward_high_mps[0],
            f"forward_low_mps={self.forward_low_mps:g} must lie between small_mps="
            f"{self.small_mps:g} and forward_high_mps[0]={self.forward_high_mps[0]:g}",
        )


@dataclass(frozen=True)
class CurriculumCfg:
    """How the level of each world follows its successes. A world's frontier is the level that it
    works on."""

    initial_level: int = 0
    """The frontier at which every world starts."""
    replay_fraction: float = 0.4
    """Share of the episodes at a random level below the frontier; these do not move it."""
    up_probability: float = 1.0
    down_probability: float = 0.6
    """A success at the frontier moves it up with the first probability, a failure down with the
    second. It settles where down / (up + down) of the attempts succeed: 3 of 8 for a robot that
    gets far, more for a reliable one."""

    def __post_init__(self) -> None:
        check_numbers(
            self, "curriculum.", fractions=("replay_fraction", "up_probability", "down_probability")
        )


@dataclass(frozen=True)
class RewardCfg:
    """A preset of reward weights, and changes and additions to it."""

    preset: RewardPreset = "teacher"
    """paper-table: the paper's Table III alone; paper: plus WMP's two terms against exploits;
    teacher: changed so that robots do not stop at walls; tiny: teacher without its gait terms;
    none: only the terms you give."""
    terms: tuple[tuple[str, float], ...] = ()
    """Terms and their weights, which replace the preset's: names from `swap rewards`, or functions
    of yours, file.py:NAME or package.module:NAME, which run when you name them here. TERM=WEIGHT
    works too."""
    only_positive: bool = True
    """A sum below zero counts as zero, so that ending an episode early never pays."""

    def __post_init__(self) -> None:
        check_numbers(self, "rewards.")
        for name, _ in self.terms:
            REWARDS.check(name)
        if not any({**WEIGHTS[self.preset], **dict(self.terms)}.values()):
            raise UserError("rewards.terms gives no term a weight; e.g. headway 1")


@dataclass(frozen=True)
class TerminationCfg:
    """When an episode ends."""

    episode_length_s: float = 20.0
    """The time limit."""
    stall_s: float | None = 2.0
    """No headway for this long on a course is a failure: waiting at a wall must not pay. None: a
    robot may wait for ever."""
    stall_m: float = 0.1
    """Headway: the robot is this much further forward than ever before."""
    tilt_z: float = 0.3
    """Upside down: gravity's z in the body frame is above this (-1 is level, 0 on its side)."""
    tilt_flat_z: float = -0.3
    """The same limit on flat ground, where there is nothing to climb."""
    trunk_touch_n: float = 1.0
    """The robot has fallen if the trunk touches flat ground with more force than this."""
    trunk_hard: float = 3.0
    """A force on the trunk of more than this times the robot's weight ends the episode anywhere.
    With less force a robot may lie on the edge it climbs."""
    stray_m: float = 30.0
    """Episodes of free worlds end this far from the start, before the ground ends."""

    def __post_init__(self) -> None:
        above = ("episode_length_s", "stall_s", "stall_m", "trunk_touch_n", "trunk_hard", "stray_m")
        check_numbers(self, "terminations.", positive=above)
        for name in ("tilt_z", "tilt_flat_z"):
            value = getattr(self, name)
            _need(-0.7 < value <= 1, f"{name}={value:g}; use more than -0.7, at most 1")


@dataclass(frozen=True)
class StartCfg:
    """How far a start may differ from standing in the default pose at x = y = 0: uniform, to both
    sides.

    A symmetric policy in a symmetric state can only act symmetrically; these differences break the
    symmetry.
    """

    ahead_m: float = 0.3
    sideways_m: float = 0.2
    lifted_m: float = 0.05
    """Height of all starts above the ground, so that no bent leg starts inside it."""
    yaw_rad: float = 0.2
    lin_vel_mps: float = 0.3
    ang_vel_rps: float = 0.3
    joint_pos_rad: float = 0.15
    joint_vel_rps: float = 0.5
    run_up_skip: float = 0.0
    """Starts also move forward by up to this share of the level ground before the obstacle, so that
    episodes spend less time on the way. In training only."""

    def __post_init__(self) -> None:
        check_numbers(self, "start.", not_negative=tuple(vars(self)), fractions=("run_up_skip",))


@dataclass(frozen=True)
class ObservationNoiseCfg:
    """Measurement errors of the robot: uniform, to both sides, new at every step. The critic's
    group and the height maps have none."""

    ang_vel_rps: float = 0.2
    gravity: float = 0.05
    joint_pos_rad: float = 0.01
    joint_vel_rps: float = 1.5

    def __post_init__(self) -> None:
        check_numbers(self, "noise.", not_negative=tuple(vars(self)))


@dataclass(frozen=True)
class RandomCfg:
    """Domain randomisation."""

    ranges: Ranges = field(default_factory=lambda: Ranges(friction=(0.5, 1.25)))
    """Uniform ranges, drawn at each reset. Friction stays below WMP's 2: MuJoCo's pyramidal
    contacts get softer with friction, and at 2 feet sink in until the shank touches too."""
    push_every_s: float = 15.0
    """Mean time between pushes; 0 for none."""
    bodies_every: int = 24
    """Control steps between draws of new masses on the GPU, where they are slow: all episodes that
    began since the last draw get theirs together, in their first half second. 0: one draw for the
    whole run. On the CPU every episode begins with new masses."""

    def __post_init__(self) -> None:
        check_numbers(self, "random.", not_negative=("push_every_s",))


@dataclass(frozen=True)
class EnvCfg:
    """All settings of an environment except its size, engine, device and seed."""

    robot: str = "apollo"
    """A known robot, or a robot file of yours, which runs when you name it here."""
    robot_data: Annotated[Robot | None, tyro.conf.Suppress] = None
    """The robot itself, as checkpoints and cards store it; None: the known robot of that name."""
    families: tuple[tuple[str, float], ...] = (
        ("flat", 0.1),
        ("box", 0.25),
        ("gap", 0.25),
        ("stairs", 0.15),
        ("lateral_slope", 0.1),
        ("rocks", 0.15),
    )
    """Course families and each one's share of the worlds; shares need not sum to one. A family of
    yours is file.py:NAME or package.module:NAME, which runs when you name it here."""
    levels: int = 20
    """Number of difficulties of each family, evenly from 0 to `max_difficulty`."""
    max_difficulty: float = 1.0
    """The top level's difficulty; 1 is the end of a family's range. A world that has passed it
    draws all levels equally often, so less than 1 gives a more reliable robot with less reach. More
    than 1 goes beyond the range where that can be built: boxes and gaps; others stop at 1."""
    variants: int = 4
    """Random courses of each family and level."""
    mirror_half: bool = True
    """Mirror every second variant, so that courses with a high side have it left or right. Use
    False to study how a robot copes with the side that it has never seen."""
    tilt_deg: Range | None = None
    """Range of the random tilt of tilted boxes, stairs and gaps of any size. None: the tilt grows
    with size, from 5 to 20 degrees."""
    action_clip: float = 6.0
    """Actions are clipped to this before anything reads them."""
    camera: Annotated[DepthCameraCfg | None, tyro.conf.AvoidSubcommands] = None
    """The depth camera; None: no images among the observations."""
    observations: tuple[str, ...] = ()
    """Observations beside the usual groups, each a group of its own name, for actor, critic and
    world model to read: lin_vel, contacts, friction, ..."""
    friction_cone: FrictionCone = "pyramidal"
    """pyramidal is fast; elliptic is what friction is, and what swap sim2sim has."""
    contacts: int = CONTACTS
    """On the GPU: contacts and candidates per world, in a pool that all share. A full pool drops
    contacts and shows as guard/contact_pool. On the CPU MuJoCo allocates as needed."""
    contact_rows: int = CONTACT_ROWS
    """On the GPU: constraint rows per world, four per contact. A world that needs more has failed
    and shows as guard/overflow. On the CPU as above."""
    commands: CommandCfg = field(default_factory=CommandCfg)
    curriculum: CurriculumCfg = field(default_factory=CurriculumCfg)
    rewards: RewardCfg = field(default_factory=RewardCfg)
    terminations: TerminationCfg = field(default_factory=TerminationCfg)
    start: StartCfg = field(default_factory=StartCfg)
    noise: ObservationNoiseCfg = field(default_factory=ObservationNoiseCfg)
    random: RandomCfg = field(default_factory=RandomCfg)

    def __post_init__(self) -> None:
        check_numbers(
            self,
            at_least_1=("levels", "variants", "contacts", "contact_rows"),
            positive=("action_clip",),
            not_negative=("max_difficulty",),
        )
        for word in self.observations:
            OBSERVATIONS.check(word)
        names = [name for name, _ in self.families]
        for name, share in self.families:
            FAMILIES.check(name)
            _need(
                share > 0, f"family '{name}' has share {share:g}; give more than 0 or leave it out"
            )
            _need(names.count(name) == 1, f"family '{name}' is listed twice; add up its shares")
        if self.tilt_deg is not None:
            check_tilt("tilt_deg", self.tilt_deg)
        _need(bool(names), "families is empty; list at least one, e.g. flat 1")
        _need(
            self.curriculum.initial_level <= self.levels,
            f"curriculum.initial_level={self.curriculum.initial_level} with {self.levels} levels; "
            "use at most that",
        )

    def load_robot(self) -> Robot:
        """The robot; this runs no file."""
        return self.robot_data or load(self.robot)

    @cached_property
    def spaces(self) -> Spaces:
        """The observations of this robot, and how they mirror."""
        optics = OpticsCfg() if self.camera is None else self.camera.optics
        extra = tuple(OBSERVATIONS[word] for word in self.observations)
        return Spaces(self.load_robot().body, extra, optics)

    @cached_property
    def spec(self) -> EnvSpec:
        """What networks must know of an environment of this config."""
        camera = None
        if self.camera is not None:
            eye = self.camera.optics
            camera = CameraSpec(eye.rows, eye.cols, eye.near_m, eye.far_m, self.camera.every)
        return EnvSpec(self.spaces.groups, self.spaces.action, self.action_clip, camera)

    @property
    def episode_steps(self) -> int:
        return round(self.terminations.episode_length_s / CONTROL_DT)
