"""Computes a Frame, all that rewards and terminations read, from the engine's state and the height
maps.

Only `FrameBuilder` keeps state from one control step to the next; rewards and terminations are pure
functions of a Frame.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from swap.courses import Goals, held, reached
from swap.env.heights import Heights
from swap.robots import PARTS, Robot
from swap.sim import CONTROL_DT, State
from swap.sim.engine import FEET, SHANKS, THIGHS, TRUNK
from swap.state_dict import Buffers

TOUCH_N = 1.0
"""A foot with more force than this stands on the ground."""
HIT_N = 0.1
"""A thigh, a shank or the trunk with more force than this touches something."""
LEVEL_M = 0.04
"""The ground around the robot is flat if its heights differ by less than this. The lowest
obstacles, boxes of 5 cm and courses tilted by 5 degrees (9 cm over the map), differ by more."""
AHEAD_M = 0.5
"""New ground counts only up to this distance ahead of where the commands lead."""
TRUNK_M = (0.4, 0.2)
"""Half length and half width of the ground that counts as below the trunk."""


@dataclass(frozen=True)
class Frame:
    """One control step of N worlds, after the physics. Many tensors belong to the engine, the
    commands or the builder: read a frame before any of these advances."""

    base_pos: Tensor  # [N, 3] world, m
    heading_rad: Tensor  # [N]
    lin_vel_b: Tensor  # [N, 3] m/s
    ang_vel_b: Tensor  # [N, 3] rad/s
    gravity_b: Tensor  # [N, 3] unit vector
    command: Tensor  # [N, 3] the command that the robot had when it acted
    heading_error_rad: Tensor  # [N] from the heading to hold
    height_error_m: Tensor  # [N] base above the ground below it, minus the robot's h_des
    flat: Tensor  # [N] bool: the ground all around is flat
    flat_ahead: Tensor  # [N] bool: it is also flat as far ahead as the body map reaches
    has_goal: Tensor  # [N] bool: the world has a goal; False with free commands
    progress: Tensor  # [N] in [0, 1]: the world's frontier as a share of all levels
    joint_pos: Tensor  # [N, 12] from the default pose, rad
    joint_vel: Tensor  # [N, 12] rad/s
    joint_acc: Tensor  # [N, 12] rad/s^2
    torque: Tensor  # [N, 12] Nm
    abad_pos: Tensor  # [N, 4] from the default pose, rad
    foot_force: Tensor  # [N, 4, 3] world, N
    foot_contact: Tensor  # [N, 4] bool: this foot touches the ground, now or one step ago
    landed: Tensor  # [N, 4] bool: this foot has just come down
    air_s: Tensor  # [N, 4] how long it was in the air
    swing_m: Tensor  # [N, 4] greatest height of its underside in this swing or the one just ended
    slip_mps: Tensor  # [N, 4] speed of its contact point over the ground; 0 in the air
    leg_contact: Tensor  # [N, 8] bool: thigh and shank of each leg touch something
    trunk_force: Tensor  # [N] N
    action: Tensor  # [N, 12]
    last_action: Tensor  # [N, 12]
    older_action: Tensor  # [N, 12]
    headway_mps: (
        Tensor  # [N] growth of the new ground that counts (`FrameBuilder.frame`); free worlds: 0
    )
    stalled_s: Tensor  # [N] time since the last headway (`stall_m`), under a forward command
    held_s: Tensor  # [N] time beyond the goal without a break
    steps: Tensor  # [N] long: control steps of this episode
    failed: Tensor  # [N] bool: the physics diverged


class FrameBuilder(Buffers):
    """Builds frames, and keeps what they need from earlier steps of `n` worlds."""

    action: Tensor  # [N, 12], and the two before it
    last_action: Tensor
    older_action: Tensor
    joint_vel: Tensor  # [N, 12]
    air_s: Tensor  # [N, 4]
    touched: Tensor  # [N, 4] bool
    swing_m: Tensor  # [N, 4]
    knee_foot: Tensor  # [N, 4, 2, 3]: positions of knee and foot at the last step
    best_x: Tensor  # [N]: the largest x so far
    asked_m: Tensor  # [N]: how far the commands so far would have led
    first_x: Tensor  # [N]: x at the start of the episode
    mark_x: Tensor  # [N]: x at the last headway of at least `stall_m`
    stalled_s: Tensor  # [N]: time since then
    held_s: Tensor  # [N]: time beyond the goal
    steps: Tensor  # [N] long: control steps of the episode

    def __init__(
        self, robot: Robot, heights: Heights, stall_m: float, known_empty: Callable[[Tensor], bool]
    ) -> None:
        """`known_empty` returns True if it knows that a mask is empty; work is then skipped."""
        n, device = heights.out.shape[0], heights.out.device
        joints, legs = len(robot.joints), len(robot.legs)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        super().__init__(
            action=zeros(joints),
            last_action=zeros(joints),
            older_action=zeros(joints),
            joint_vel=zeros(joints),
            air_s=zeros(legs),
            touched=zeros(legs, dtype=torch.bool),
            swing_m=zeros(legs),
            knee_foot=zeros(legs, 2, 3),
            best_x=zeros(),
            asked_m=zeros(),
            first_x=zeros(),
            mark_x=zeros(),
            stalled_s=zeros(),
            held_s=zeros(),
            steps=zeros(dtype=torch.long),
        )
        self._robot, self._stall_m, self._known_empty = robot, stall_m, known_empty
        self._pose = torch.tensor(robot.default_pose, device=device)
        self._abad = slice(PARTS.index("abad"), None, len(PARTS))
        self._down = torch.tensor([0.0, 0.0, -1.0], device=device).expand(n, 3)
        self._grid = heights.cfg.terrain.grid
        xs = [x for x, _ in heights.cfg.terrain.points[:: self._grid.cols]]
        ys = [y for _, y in heights.cfg.terrain.points[: self._grid.cols]]
        self._below = _within(xs, TRUNK_M[0]), _within(ys, TRUNK_M[1])
        self._foot_radius = torch.tensor([leg.foot_radius for leg in robot.legs], device=device)

    def act(self, action: Tensor) -> None:
        self.older_action.copy_(self.last_action)
        self.last_action.copy_(self.action)
        self.action.copy_(action)

    def reset(self, mask: Tensor, state: State) -> None:
        """Begin an episode in the worlds in `mask` [N], where their robots are now."""
        rows = mask[:, None]
        feet = self.air_s, self.touched, self.swing_m
        for x in (self.action, self.last_action, self.older_action, *feet):
            x.masked_fill_(rows, 0)
        for x in (self.asked_m, self.stalled_s, self.held_s, self.steps):
            x.masked_fill_(mask, 0)
        for x in (self.best_x, self.first_x, self.mark_x):
            torch.where(mask, state.base_pos[:, 0], x, out=x)
        torch.where(rows, state.joint_vel, self.joint_vel, out=self.joint_vel)
        legs = mask[:, None, None, None]
        torch.where(legs, state.leg_pos[:, :, 1:], self.knee_foot, out=self.knee_foot)

    def frame(
        self,
        state: State,
        heights: Heights,
        goals: Goals,
        command: Tensor,
        heading_to_hold: Tensor,
        has_goal: Tensor,
        progress: Tensor,
    ) -> Frame:
        """Build the frame after a control step."""
        heading = heading_of(state.base_quat)
        vectors = torch.stack([state.base_lin_vel, self._down], 1)  # [N, 2, 3]
        lin_vel_b, gravity_b = into_body(state.base_quat, vectors).unbind(1)
        terrain = heights.terrain
        flat, body_flat = (x.amax(1) - x.amin(1) < LEVEL_M for x in (terrain, heights.body))
        below = terrain.unflatten(1, (self._grid.rows, self._grid.cols))
        height = -below[:, self._below[0], self._below[1]].mean((1, 2))

        force = state.force.norm(dim=-1)  # [N, 13]
        touching = force[:, FEET] > TOUCH_N
        foot_contact = touching | self.touched  # a foot that bounces for a step has not stepped
        landed = foot_contact & (self.air_s > 0)
        air_s = self.air_s + CONTROL_DT
        planted = touching & self.touched  # it neither lands nor lifts in this step
        slip_mps = self._slip(state.leg_pos) * planted
        # Height above the ground below the trunk; on flat ground the foot's ground is as high.
        ground_z = state.base_pos[:, 2] - height
        above = state.foot_pos[..., 2] - ground_z[:, None] - self._foot_radius
        swing_m = torch.maximum(self.swing_m, above)
        leg_contact = torch.stack([force[:, THIGHS], force[:, SHANKS]], 2).flatten(1) > HIT_N
        self.touched.copy_(touching)
        self.air_s.copy_(air_s).masked_fill_(foot_contact, 0)
        self.swing_m.copy_(swing_m).masked_fill_(foot_contact, 0)

        x = state.base_pos[:, 0]
        # New ground counts, but no faster than commanded: a robot that lost time at a wall can make
        # it up by climbing, and one that runs ahead of the command earns nothing.
        before = self._won()
        torch.maximum(self.best_x, x, out=self.best_x)
        self.asked_m.add_(CONTROL_DT * command[:, 0])
        headway = (self._won() - before).clamp_(min=0) * has_goal
        ahead = x > self.mark_x + self._stall_m
        torch.where(ahead, x, self.mark_x, out=self.mark_x)
        waits = has_goal & (command[:, 0] > 0)
        self.stalled_s.add_(CONTROL_DT).masked_fill_(ahead | ~waits, 0)
        now = x > goals.x  # necessary, and cheap: mostly no robot is there yet
        if not self._known_empty(now):
            now = reached(goals, state.base_pos, gravity_b[:, 2], state.foot_pos)
        self.held_s.copy_(held(self.held_s, now & has_goal, CONTROL_DT))
        self.steps.add_(1)

        joint_pos = state.joint_pos - self._pose
        joint_acc = (state.joint_vel - self.joint_vel) / CONTROL_DT
        self.joint_vel.copy_(state.joint_vel)
        return Frame(
            base_pos=state.base_pos,
            heading_rad=heading,
            lin_vel_b=lin_vel_b,
            ang_vel_b=state.base_ang_vel,
            gravity_b=gravity_b,
            command=command,
            heading_error_rad=wrap(heading_to_hold - heading),
            height_error_m=height - self._robot.h_des,
            flat=flat,
            flat_ahead=flat & body_flat,
            has_goal=has_goal,
            progress=progress,
            joint_pos=joint_pos,
            joint_vel=state.joint_vel,
            joint_acc=joint_acc,
            torque=state.torque,
            abad_pos=joint_pos[:, self._abad],
            foot_force=state.foot_force,
            foot_contact=foot_contact,
            landed=landed,
            air_s=air_s,
            swing_m=swing_m,
            slip_mps=slip_mps,
            leg_contact=leg_contact,
            trunk_force=force[:, TRUNK],
            action=self.action,
            last_action=self.last_action,
            older_action=self.older_action,
            headway_mps=headway / CONTROL_DT,
            stalled_s=self.stalled_s,
            held_s=self.held_s,
            steps=self.steps,
            failed=state.failed,
        )

    def _slip(self, leg_pos: Tensor) -> Tensor:
        """[N, 4] m/s: horizontal speed of the lowest point of each foot, which is a sphere at the
        end of the shank, so that a foot that rolls over the ground does not slip. Twist of the
        shank about its own axis moves that point little and is neglected."""
        knee_foot = leg_pos[:, :, 1:]
        vel = (knee_foot - self.knee_foot) / CONTROL_DT
        self.knee_foot.copy_(knee_foot)
        shank, turn = knee_foot[:, :, 1] - knee_foot[:, :, 0], vel[:, :, 1] - vel[:, :, 0]
        spin = torch.linalg.cross(shank, turn) / shank.square().sum(-1, keepdim=True)
        radius = self._foot_radius
        along = vel[:, :, 1, 0] - radius * spin[..., 1]
        across = vel[:, :, 1, 1] + radius * spin[..., 0]
        return (along.square() + across.square()).sqrt()

    @property
    def way_m(self) -> Tensor:
        """[N] m: how far the robot has come."""
        return self.best_x - self.first_x

    def _won(self) -> Tensor:
        """[N] m: how far the robot has come, but no further than commanded plus AHEAD_M."""
        return torch.minimum(self.way_m, self.asked_m + AHEAD_M)


def into_body(quat: Tensor, vectors_w: Tensor) -> Tensor:
    """Rotate world vectors [N, K, 3] into the body frame of quaternions [N, 4] (w, x, y, z)."""
    w, u = quat[:, None, :1], quat[:, None, 1:].expand_as(vectors_w)
    t = 2 * torch.linalg.cross(u, vectors_w)
    return vectors_w - w * t + torch.linalg.cross(u, t)


def heading_of(quat: Tensor) -> Tensor:
    """The heading [N] in rad of quaternions [N, 4]: the twist about the vertical, defined at any
    pitch; height maps turn with the same angle."""
    return wrap(2 * torch.atan2(quat[:, 3], quat[:, 0]))


def wrap(angle_rad: Tensor) -> Tensor:
    """Wrap angles to -pi..pi; the negative of an angle gives the exact negative."""
    return torch.atan2(angle_rad.sin(), angle_rad.cos())


def _within(places: list[float], reach: float) -> slice:
    inside = [k for k, place in enumerate(places) if abs(place) <= reach + 1e-6]
    return slice(inside[0], inside[-1] + 1)
