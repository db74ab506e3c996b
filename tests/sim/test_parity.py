"""Compares both engines with plain MuJoCo C, which calls mj_step on one compiled model."""

import mujoco
import numpy as np
import pytest
import torch

from swap.courses.course import stack
from swap.robots import load
from swap.robots.mjcf import build_spec, group_of_geom
from swap.sim import SUBSTEPS, Ranges, draw, motor_torque
from swap.sim.randomise import contact_friction, contact_solref


class Oracle:
    """One world of the engine, compiled from scratch in float64."""

    def __init__(self, robot, course, slots, given=None, world=0):
        self.robot = robot
        boxes = stack([course], slots)
        quat = boxes.quat[0].double().numpy()
        spec = build_spec(
            robot, slots, boxes.pos[0].numpy(), quat / np.linalg.norm(quat, axis=1, keepdims=True),
            boxes.half[0].numpy(),
        )  # fmt: skip
        drawn = {k: v[world].double().numpy() for k, v in vars(given).items()} if given else None
        if drawn:
            trunk = spec.body("trunk")
            share = 1 + drawn["payload"] / robot.trunk.mass
            trunk.mass, trunk.inertia = trunk.mass * share, np.array(trunk.inertia) * share
            trunk.ipos = np.array(trunk.ipos) + drawn["com"]
            for name, factor in zip(robot.joint_names, drawn["link_mass"], strict=True):
                link = spec.body(name)
                link.mass, link.inertia = link.mass * factor, np.array(link.inertia) * factor
            mu = contact_friction(given.friction, boxes.friction)[world]
            for k in range(slots):
                spec.geom(f"box{k}").friction[0] = mu
                spec.geom(f"box{k}").solref = contact_solref(given.restitution)[world].numpy()
        self.gains = [
            np.float64(robot.kp) * (drawn["kp"] if drawn else np.ones(12)),
            np.float64(robot.kd) * (drawn["kd"] if drawn else np.ones(12)),
            drawn["strength"] if drawn else np.ones(12),
            np.array([joint.motor.torque for joint in robot.joints]),
            np.array([joint.motor.speed for joint in robot.joints]),
        ]
        self.latency = int(drawn["latency"]) if drawn else 0
        self.last = np.array(robot.default_pose, np.float32).astype(float)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def place(self, state, world):
        parts = (state.base_pos, state.base_quat, state.joint_pos)
        self.data.qpos[:] = torch.cat([part[world] for part in parts]).numpy()
        parts = (state.base_lin_vel, state.base_ang_vel, state.joint_vel)
        self.data.qvel[:] = torch.cat([part[world] for part in parts]).numpy()

    def step(self, target):
        d = self.data
        for k in range(SUBSTEPS):
            goal = target if k >= self.latency else self.last
            d.ctrl[:] = motor_torque(goal, d.qpos[7:], d.qvel[6:], *self.gains)
            mujoco.mj_step(self.model, d)
        self.last = target

    def pairs(self):
        return sorted(tuple(sorted(c.geom)) for c in self.data.contact if c.efc_address >= 0)

    def forces(self):
        """The forces on the robot's groups, from mj_contactForce."""
        group, total, one = group_of_geom(self.robot, self.model), np.zeros((13, 3)), np.zeros(6)
        for k, contact in enumerate(self.data.contact):
            mujoco.mj_contactForce(self.model, self.data, k, one)
            force = contact.frame.reshape(3, 3).T @ one[:3]
            for geom, sign in zip(contact.geom, (-1, 1), strict=True):
                if group[geom] >= 0:
                    total[group[geom]] += sign * force
        return total


@pytest.mark.parametrize("randomised", [False, True], ids=["nominal", "randomised"])
def test_both_engines_follow_mujoco(engine_name, randomised, w):
    """Compares contacts and forces over 100 physics steps of a fall onto rough ground."""
    robot = load("apollo")
    engine = w.make(engine_name, robot, [w.FLAT, w.ROUGH], n=2)
    engine.assign(w.everyone(engine), torch.tensor([1, 0]))
    given = draw(Ranges(latency=(1, 3)), robot, 2, torch.Generator().manual_seed(1))
    if randomised:
        engine.randomise(w.everyone(engine), given)
    start = w.start_of(engine)
    start.base_pos[:, 2] += torch.tensor([0.25, 0.1])
    start.base_ang_vel[:, 0] = 0.7
    engine.reset(w.everyone(engine), start)
    oracles = [
        Oracle(robot, course, w.SLOTS, given if randomised else None, world)
        for world, course in enumerate((w.ROUGH, w.FLAT))
    ]
    for world, oracle in enumerate(oracles):
        oracle.place(engine.state, world)
    rng = np.random.default_rng(2)
    touched = set()
    for _ in range(25):
        targets = np.array(robot.default_pose) + rng.normal(0, 0.1, (2, 12))
        targets = torch.tensor(targets, dtype=torch.float32)
        engine.step(targets)
        for world, oracle in enumerate(oracles):
            oracle.step(targets[world].double().numpy())
            s, d = engine.state, oracle.data
            qpos = torch.cat([s.base_pos[world], s.base_quat[world], s.joint_pos[world]])
            tolerance = 1e-5 if engine_name == "gpu" else 2e-7  # float32 of the same numbers
            np.testing.assert_allclose(qpos, d.qpos, atol=tolerance)
            want = oracle.forces()
            touched |= set(np.flatnonzero(np.abs(want).sum(1)))
            np.testing.assert_allclose(
                s.force[world], want, atol=1e-3 * (1 + np.abs(want).max()), err_msg="force"
            )
            if engine_name == "gpu":
                assert gpu_pairs(engine, world) == oracle.pairs()
            fresh = mujoco.MjData(oracle.model)
            fresh.qpos[:] = d.qpos
            mujoco.mj_kinematics(oracle.model, fresh)
            for i, leg in enumerate(robot.legs):
                foot = fresh.geom(f"{leg.name}_foot").xpos
                np.testing.assert_allclose(s.foot_pos[world, i], foot, atol=2e-5)
                knee = fresh.body(f"{leg.name}_knee").xpos
                np.testing.assert_allclose(s.leg_pos[world, i, 1], knee, atol=2e-5)
    assert {0, 1, 2, 3, 12} <= touched  # all feet, and the trunk on the post
    assert engine.report().worlds == ()


def gpu_pairs(engine, world):
    """The contacts MuJoCo Warp made in this world."""
    contact, n = engine._d.contact, int(engine._d.nacon.numpy()[0])
    mine = (contact.worldid.numpy()[:n] == world) & (contact.efc_address.numpy()[:n, 0] >= 0)
    return sorted(tuple(sorted(map(int, pair))) for pair in contact.geom.numpy()[:n][mine])


def test_the_two_engines_agree_on_go2(w):
    engines = [w.make(name, "go2", [w.ROUGH]) for name in ("cpu", "gpu")]
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = torch.tensor(rng.normal(0, 0.1, (2, 12)), dtype=torch.float32)
        targets = torch.tensor(load("go2").default_pose) + noise
        for engine in engines:
            engine.step(targets)
    cpu, gpu = (engine.state for engine in engines)
    for name in ("base_pos", "base_quat", "joint_pos", "leg_pos"):
        torch.testing.assert_close(getattr(cpu, name), getattr(gpu, name), atol=1e-5, rtol=0)
    torch.testing.assert_close(cpu.torque, gpu.torque, atol=2e-2, rtol=1e-3)


def test_threads_do_not_change_the_result(w):
    def run(threads):
        engine = w.make("cpu", bank=[w.ROUGH], n=6, threads=threads)
        generator = torch.Generator().manual_seed(0)
        engine.randomise(w.everyone(engine), draw(Ranges(), engine.robot, 6, generator))
        for _ in range(10):
            noise = 0.2 * torch.randn(6, 12, generator=generator)
            engine.step(torch.tensor(engine.robot.default_pose) + noise)
        return engine.state

    one, three = run(1), run(3)
    for name, value in vars(one).items():
        assert torch.equal(value, getattr(three, name)), name


def test_the_graph_changes_nothing(w):
    captured, plain = (w.make("gpu", bank=[w.ROUGH], capture=c) for c in (True, False))
    for engine in (captured, plain):
        w.hold(engine, 5)
    for name, value in vars(captured.state).items():
        assert torch.equal(value, getattr(plain.state, name)), name
