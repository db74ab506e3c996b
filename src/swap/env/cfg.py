"""The configuration of an environment: frozen dataclasses that are checked when they are made."""

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
    """Less would count as flat ground, more cannot be built."""
    low, high = TILT_DEG.low, TILT_DEG.high
    _need(
        low <= tilt_deg[0] <= tilt_deg[1] <= high,
        f"{name}={tilt_deg[0]:g} {tilt_deg[1]:g}; give a range within {low:g} to {high:g} degrees",
    )


@dataclass(frozen=True)
class CommandCfg:
    """What the robot is asked to do. On a course: ahead, along the lane. On part of the flat
    worlds, the free ones: any direction, or to stand."""

    forward_low_mps: float = 0.35
    """The slowest command on a course."""
    forward_high_mps: Range = (2.0, 3.0)
    """The fastest: the first value at the lowest frontier, the second at the top of the range."""
    free_fraction: float = 0.5
    """Of the episodes on flat ground, so many have free commands and no goal."""
    free_back_mps: float = 0.5
    """Free commands go from this speed backwards up to the fastest command."""
    free_lateral_mps: float = 0.6
    """Largest sideways command, to either side; free commands only."""
    stand_fraction: float = 0.2
    """Of the free commands, so many are to stand still."""
    yaw_gain: float = 0.5
    """Yaw rate commanded for each radian the heading is off."""
    yaw_limit_rps: float = 1.0
    """Largest yaw rate commanded."""
    small_mps: float = 0.2
    """Slower commands than this are made zero."""
    resample_s: float = 10.0
    """A command lasts this long."""

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
    """How a world's level follows its successes."""

    initial_level: int = 0
    """The frontier every world starts at."""
    replay_fraction: float = 0.4
    """So many episodes are at a random level below the frontier, and do not move it."""
    up_probability: float = 1.0
    down_probability: float = 0.6
    """A success at the frontier moves it up with the first chance, a failure down with the second.
    It settles where down / (up + down) of the attempts succeed: 3 of 8 for a robot that is to get
    far, more for one that is to become reliable."""

    def __post_init__(self) -> None:
        check_numbers(
            self, "curriculum.", fractions=("replay_fraction", "up_probability", "down_probability")
        )


@dataclass(frozen=True)
class RewardCfg:
    """Which preset of weights, and what to change in it or to add to it."""

    preset: RewardPreset = "teacher"
    """paper-table: the paper's Table III and nothing else; paper: with WMP's two terms against
    exploits; teacher: the cure for its trap at the wall; tiny: the same without its terms for the
    gait; none: only the terms that are given."""
    terms: tuple[tuple[str, float], ...] = ()
    """Terms and their weights, which replace the preset's: names of swap rewards, or functions of
    yours, file.py:NAME or package.module:NAME, which run when you name them here. TERM=WEIGHT will
    do, too."""
    only_positive: bool = True
    """A sum below zero counts as zero, so that ending an episode early can never pay."""

    def __post_init__(self) -> None:
        check_numbers(self, "rewards.")
        for name, _ in self.terms:
            REWARDS.check(name)
        if not any({**WEIGHTS[self.preset], **dict(self.terms)}.values()):
            raise UserError("rewards.terms gives no term a weight; e.g. headway 1")


@dataclass(frozen=True)
class TerminationCfg:
    """When an episode is over."""

    episode_length_s: float = 20.0
    """The time limit."""
    stall_s: float | None = 2.0
    """No headway for this long on a course is a failure: waiting at a wall must not pay. None: a
    robot may wait for ever."""
    stall_m: float = 0.1
    """Headway is to be this much further ahead than ever before."""
    tilt_z: float = 0.3
    """Upside down: gravity's z in the body frame is above this (-1 is level, 0 on its side)."""
    tilt_flat_z: float = -0.3
    """On flat ground this much is enough: nothing there is climbed."""
    trunk_touch_n: float = 1.0
    """The trunk touches level ground with more than this: the robot has fallen."""
    trunk_hard: float = 3.0
    """A blow to the trunk of more than this times the robot's weight ends it anywhere. Below that
    a robot may lie on the edge it climbs."""
    stray_m: float = 30.0
    """Free worlds end this far from the start, before their ground does."""

    def __post_init__(self) -> None:
        above = ("episode_length_s", "stall_s", "stall_m", "trunk_touch_n", "trunk_hard", "stray_m")
        check_numbers(self, "terminations.", positive=above)
        for name in ("tilt_z", "tilt_flat_z"):
            value = getattr(self, name)
            _need(-0.7 < value <= 1, f"{name}={value:g}; use more than -0.7, at most 1")


@dataclass(frozen=True)
class StartCfg:
    """How far a start is from standing in the default pose at x = y = 0: uniform, to both sides.

    A symmetric policy in a symmetric state can only act symmetrically; these break the tie.
    """

    ahead_m: float = 0.3
    sideways_m: float = 0.2
    lifted_m: float = 0.05
    """All starts are this much above the ground: a bent leg must not start inside it."""
    yaw_rad: float = 0.2
    lin_vel_mps: float = 0.3
    ang_vel_rps: float = 0.3
    joint_pos_rad: float = 0.15
    joint_vel_rps: float = 0.5
    run_up_skip: float = 0.0
    """Starts also lie ahead, by up to this share of the level ground before the obstacle: less
    walking to it, more of it. In training only."""

    def __post_init__(self) -> None:
        check_numbers(self, "start.", not_negative=tuple(vars(self)), fractions=("run_up_skip",))


@dataclass(frozen=True)
class ObservationNoiseCfg:
    """Errors of what the robot measures: uniform, to both sides, new at every step. The critic's
    group and the height maps have none."""

    ang_vel_rps: float = 0.2
    gravity: float = 0.05
    joint_pos_rad: float = 0.01
    joint_vel_rps: float = 1.5

    def __post_init__(self) -> None:
        check_numbers(self, "noise.", not_negative=tuple(vars(self)))


@dataclass(frozen=True)
class RandomCfg:
    """What differs between worlds."""

    ranges: Ranges = field(default_factory=lambda: Ranges(friction=(0.5, 1.25)))
    """Uniform ranges, drawn anew at a reset. Grip stays below WMP's 2: MuJoCo's pyramidal contacts
    get softer with friction, and at 2 a standing foot sinks so deep that the shank touches too."""
    push_every_s: float = 15.0
    """Mean time between pushes; 0 for none."""
    bodies_every: int = 24
    """On the GPU new masses cost hundreds of launches. So all episodes that began since the last
    time get theirs together, every so many control steps: within their first half second. 0: one
    body for a whole run. On the CPU every episode begins with a body of its own."""

    def __post_init__(self) -> None:
        check_numbers(self, "random.", not_negative=("push_every_s",))


@dataclass(frozen=True)
class EnvCfg:
    """Everything about an environment but its size, engine, device and seed."""

    robot: str = "apollo"
    """A known robot, or a robot file of yours, which runs when you name it here."""
    robot_data: Annotated[Robot | None, tyro.conf.Suppress] = None
    """The robot itself, as checkpoints and cards hold it; None: the known one of that name."""
    families: tuple[tuple[str, float], ...] = (
        ("flat", 0.1),
        ("box", 0.25),
        ("gap", 0.25),
        ("stairs", 0.15),
        ("lateral_slope", 0.1),
        ("rocks", 0.15),
    )
    """Course families and the share of the worlds each gets; shares need not sum to one. A family
    of yours is file.py:NAME or package.module:NAME, which runs when you name it here."""
    levels: int = 20
    """Difficulties of each family, evenly from 0 to `max_difficulty`."""
    max_difficulty: float = 1.0
    """The top level's difficulty; 1 is the end of a family's range. A world that has passed it
    plays all levels alike: less than 1 buys reliability with reach. More than 1 goes beyond the
    range, as far as a family can be built: boxes and gaps; the others stop at 1."""
    variants: int = 4
    """Random courses of each family and level."""
    mirror_half: bool = True
    """Every second variant is mirrored: courses with a high side come high on either. False is for
    studies of what a robot makes of the side that it has never seen."""
    tilt_deg: Range | None = None
    """Tilted boxes, stairs and gaps are tilted by a random angle of this range, whatever their
    size; None: the larger the more, from 5 to 20 degrees."""
    action_clip: float = 6.0
    """Actions are clipped to this before anything reads them."""
    camera: Annotated[DepthCameraCfg | None, tyro.conf.AvoidSubcommands] = None
    """The depth camera, for what sees by one; None: no images among the observations."""
    observations: tuple[str, ...] = ()
    """Observations beside the usual groups, each a group of its own name, for actor, critic and
    world model to read: lin_vel, contacts, friction, ..."""
    contacts: int = CONTACTS
    """On the GPU, room for so many contacts and candidates a world, in a pool all share; a full one
    drops contacts and shows as guard/contact_pool. On the CPU MuJoCo makes room as needed."""
    contact_rows: int = CONTACT_ROWS
    """On the GPU, room for so many constraint rows in one world, four a contact; a world that needs
    more has failed and shows as guard/overflow. On the CPU as above."""
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
        """The robot; no file is run for it."""
        return self.robot_data or load(self.robot)

    @cached_property
    def spaces(self) -> Spaces:
        """What is observed of its robot, and how it mirrors."""
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
