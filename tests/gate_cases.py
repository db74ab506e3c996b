"""Random and adversarial cases for the safety gate, and an oracle that judges what leaves it.

`python gate_cases.py 1000000` tries so many. The oracle is plain arithmetic, joint by joint, on the
message as a motor would get it, in float32.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

import tiny_swap
from swap.deploy.gate import SafetyGate
from swap.deploy.joints import JointMap, MotorChannel
from swap.deploy.messages import Codec, RobotState
from swap.deploy.spec import BundleSpec, FileSpec, GraphSpec
from swap.export.facts import facts
from swap.export.write import networks_of

STRANGE = (math.nan, math.inf, -math.inf, 1e30, -1e30, 1e300, 3e38, 1e6, -1e6, 1e-300, 0.0, -0.0)


def spec_of() -> BundleSpec:
    """Facts of a robot, with graphs that are none."""
    robot = tiny_swap.robot()
    none = GraphSpec(FileSpec("x", 0, ""), {}, {})
    told = facts(robot.cfg, networks_of(robot).model)
    return BundleSpec("", "", 0, world_model=none, policy=none, vectors=none.file, **told)


@dataclass
class Judge:
    """What is wrong with a command, as lines; none if it is safe."""

    spec: BundleSpec
    motors: list[MotorChannel]

    def faults(self, command, state, last, stepped):
        """`last`: the joints' targets before, or None; `stepped`: a new decision lies between."""
        said, power = [], 0.0
        for k, motor in enumerate(self.motors):
            joint = next(x for x in self.spec.joints if x.name == motor.joint)
            kp, kd, feed = float(command.kp[k]), float(command.kd[k]), float(command.torque[k])
            sent = float(command.pos[k])
            if not all(map(math.isfinite, (kp, kd, feed, sent))):
                said.append(f"{joint.name}: not finite")
                continue
            if not 0 <= kp <= joint.kp or not 0 <= kd <= joint.kd:
                said.append(f"{joint.name}: gains {kp} {kd}")
            q = motor.sign * (float(state.pos[k]) - motor.zero_rad)
            v = motor.sign * float(state.vel[k])
            goal = motor.sign * (sent - motor.zero_rad)
            if kp > 0:
                beyond = self.spec.limits.beyond_range_rad
                if not joint.low_rad - beyond <= goal <= joint.high_rad + beyond:
                    said.append(f"{joint.name}: target {goal}")
                reach = self.spec.limits.swing * joint.torque_nm / joint.kp
                if last is not None and stepped and abs(goal - last[joint.name]) > reach:
                    said.append(f"{joint.name}: jumps by {goal - last[joint.name]}")
            if not math.isfinite(q) or not math.isfinite(v):
                if kp or feed:
                    said.append(f"{joint.name}: acts on a state that is not finite")
                continue
            torque = kp * (goal - q) - kd * v + motor.sign * feed
            drives = torque * v > 0
            more = self.spec.limits.torque_share
            share = min(1.0, abs(v) / (more * joint.speed_rps)) if drives else 0.0
            if abs(torque) > more * joint.torque_nm * (1 - share):
                said.append(f"{joint.name}: {torque} Nm at {v} rad/s")
            power += max(0.0, torque * v)
        if power > self.spec.limits.power_w:
            said.append(f"{power} W")
        return said


class Fuzzer:
    def __init__(self, spec: BundleSpec, seed: int) -> None:
        self.spec, self.rng = spec, np.random.default_rng(seed)
        order = self.rng.permutation(len(spec.joints))
        self.motors = [
            MotorChannel(
                spec.joint_names[k], int(self.rng.choice([-1, 1])), float(self.rng.normal() / 2)
            )
            for k in order
        ]
        self.map, self.gate = JointMap(spec, self.motors), SafetyGate(spec)
        self.codec, self.judge = Codec(len(order), (1, 1)), Judge(spec, self.motors)
        self.last = None
        self.moved = 0
        """Commands that were not just damping."""

    def numbers(self, centre, spread):
        """Around a centre, or far from it, or none at all."""
        n, kind = len(self.spec.joints), self.rng.integers(10)
        x = centre + spread * self.rng.normal(size=n)
        if kind == 0:
            x = x * 10 ** self.rng.uniform(0, 8)
        elif kind == 1:
            x[self.rng.integers(n)] = STRANGE[self.rng.integers(len(STRANGE))]
        elif kind == 2:
            x = -x
        elif kind == 3:
            x = np.full(n, STRANGE[self.rng.integers(len(STRANGE))])
        return x

    def case(self):
        """One command, and what is wrong with it."""
        gate, map_ = self.gate, self.map
        middle = (gate.low + gate.high) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            pos = self.numbers(middle, 1.0).astype(np.float32)
            vel = self.numbers(0.0, gate.no_load).astype(np.float32)
            desired = self.numbers(middle, 1.5)
        zero = np.zeros(len(pos), np.float32)
        state = RobotState(0.0, np.array([1.0, 0, 0, 0], np.float32), zero[:3], pos, vel, zero)
        with np.errstate(over="ignore", invalid="ignore"):
            q, v = map_.joints(state)
        kind = self.rng.integers(20)
        if kind == 0:
            gate.begin(q)
            self.last = None
        target = gate.target(desired) if kind != 1 else None
        stiffness = STRANGE[self.rng.integers(len(STRANGE))] if kind == 2 else self.rng.uniform()
        out = None if target is None else gate.command(target, q, v, stiffness)
        moving = out is not None
        out = out or (gate.passive() if kind == 3 else gate.damping(q, v))
        command = self.codec.unpack_command(self.codec.pack_command(map_.command(0.0, *out)))
        faults = self.judge.faults(command, state, self.last, moving)
        if target is not None:
            self.last = dict(zip(self.spec.joint_names, target.tolist(), strict=True))
        self.moved += moving
        return faults


def fuzz(cases: int, seed: int = 0) -> tuple[int, list[str]]:
    """How many commands moved something, and what was wrong, the first few."""
    spec, wrong, moved = spec_of(), [], 0
    for start in range(0, cases, 10_000):  # another robot of other signs and zeros now and then
        fuzzer = Fuzzer(spec, seed + start)
        for _ in range(min(10_000, cases - start)):
            wrong += fuzzer.case()
        moved += fuzzer.moved
        if len(wrong) > 10:
            break
    return moved, wrong[:10]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    moving, found = fuzz(count)
    print(f"{count:,} cases, {moving:,} of them move: {len(found)} beyond a limit")
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
