"""The paper's two tables as data: how each quantity mirrors, and what each module reads.

`quantities(body)` is the Table "Symmetry transformations of observation and action components";
`Spaces(body)` is the Table "Input and target spaces of architectural modules". Both follow from
the robot's joint names alone.
"""

from dataclasses import dataclass, field
from functools import cached_property

from swap.errors import unknown
from swap.symmetry.body import ROTATION, VECTOR, Body, quadruped
from swap.symmetry.grid import Grid
from swap.symmetry.layout import Field, Layout
from swap.symmetry.rep import signs, trivial


@dataclass(frozen=True)
class Grids:
    """The sizes of what the robot sees."""

    terrain: Grid = Grid(17, 11)
    body: Grid = Grid(26, 11)
    foot: Grid = Grid(5, 5)
    depth: Grid = Grid(64, 64)


def quantities(body: Body, grids: Grids | None = None) -> dict[str, Field]:
    """Every row of the symmetry table for this robot, by name, and the depth image."""
    grids = grids or Grids()
    joint, leg = body.joint_rep, body.leg_rep
    rows = (
        Field("lin_vel", VECTOR, "v", "base linear velocity, m/s, body frame"),
        Field("ang_vel", ROTATION, "ω", "base angular velocity, rad/s, body frame"),
        Field("gravity", VECTOR, "g", "direction of gravity in the body frame"),
        Field("command", signs(1, -1, -1), "c", "commanded forward, left, yaw velocity"),
        Field("joint_pos", joint, "q", "joint angles, rad"),
        Field("joint_vel", joint, "q̇", "joint velocities, rad/s"),
        Field("action", joint, "a", "joint targets around the default pose, scaled"),
        Field("contacts", leg @ trivial(2), "b_c", "thigh and shank contact of each leg"),
        Field("kd", abs(joint), "k_d", "randomised damping gains"),
        Field("kp", abs(joint), "k_p", "randomised stiffness gains"),
        Field("com_offset", VECTOR, "Δp_com", "randomised shift of the centre of mass, m"),
        Field("mass", trivial(), "m", "base mass"),
        Field("restitution", trivial(), "e", "restitution"),
        Field("friction", trivial(), "μ", "friction"),
        Field("terrain_heights", grids.terrain.rep, "H_terrain", "heights around the robot, m"),
        Field("body_heights", grids.body.rep, "H_body", "heights the world model predicts, m"),
        Field("foot_heights", leg @ grids.foot.rep, "H_foot", "heights around each foot, m"),
        Field("depth", grids.depth.rep, "o_img", "depth image, rows from the top, flattened"),
    )
    return {row.name: row for row in rows}


@dataclass(frozen=True)
class Spaces:
    """What each module reads or predicts, by name."""

    body: Body = field(default_factory=quadruped)
    grids: Grids = Grids()
    history: int = 5
    """How many past steps the actor reads."""

    @cached_property
    def fields(self) -> dict[str, Field]:
        return quantities(self.body, self.grids)

    def layout(self, *names: str) -> Layout:
        """A layout of the named quantities, in that order."""
        for name in names:
            if name not in self.fields:
                raise unknown("field", name, self.fields)
        return Layout(tuple(self.fields[name] for name in names))

    @cached_property
    def groups(self) -> dict[str, Layout]:
        """What an environment observes, by the name under which networks read it."""
        return {
            "proprioception": self.proprioception,
            "history": self.actor_history,
            "command": self.command,
            "privileged": self.privileged,
            "terrain_heights": self.layout("terrain_heights"),
            "body_heights": self.layout("body_heights"),
            "foot_heights": self.layout("foot_heights"),
        }

    @cached_property
    def action(self) -> Layout:
        return self.layout("action")

    @cached_property
    def command(self) -> Layout:
        return self.layout("command")

    @cached_property
    def depth(self) -> Layout:
        """o_img, the encoder's image; as [rows, cols] it mirrors by flipping the last axis."""
        return self.layout("depth")

    @cached_property
    def proprioception(self) -> Layout:
        """o_prop, read by the encoder and predicted by the decoder."""
        return self.layout("ang_vel", "gravity", "command", "joint_pos", "joint_vel")

    @cached_property
    def heights(self) -> Layout:
        """H_wm, predicted by the decoder."""
        return self.layout("body_heights", "foot_heights")

    @cached_property
    def actor_history(self) -> Layout:
        """o_H: the newest step is `t0`, the oldest `t4`."""
        step = self.layout("ang_vel", "gravity", "joint_pos", "joint_vel", "action")
        return step.repeat(self.history, "t")

    @cached_property
    def privileged(self) -> Layout:
        """o_priv, read by the critic."""
        return self.layout(
            *("contacts", "kd", "kp", "com_offset", "mass", "restitution", "friction"),
            *("lin_vel", "ang_vel", "gravity", "command", "joint_pos", "joint_vel", "action"),
            "terrain_heights",
        )

    @cached_property
    def style(self) -> Layout:
        """The discriminator's input: two successive frames of motion."""
        return self.layout("joint_pos", "lin_vel", "ang_vel", "joint_vel").repeat(2, "frame")
