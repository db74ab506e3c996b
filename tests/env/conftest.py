"""Provides a neutral frame, small environments, and worlds in mirrored pairs."""

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch

from swap.env import EnvCfg, Frame, ParkourEnv
from swap.env.bank import CourseBank, assign_families, build_bank
from swap.env.tasks import CurriculumTasks
from swap.evaluate.mirrored_pairs import MirroredRandomSource


def frame(n: int = 1, **values) -> Frame:
    """A robot at rest on flat ground; `values` replace fields of it, broadcast to N rows."""
    legs, joints = (n, 4), (n, 12)
    base = Frame(
        base_pos=torch.tensor([[0.0, 0.0, 0.6]]).repeat(n, 1),
        heading_rad=torch.zeros(n),
        lin_vel_b=torch.zeros(n, 3),
        ang_vel_b=torch.zeros(n, 3),
        gravity_b=torch.tensor([[0.0, 0.0, -1.0]]).repeat(n, 1),
        command=torch.zeros(n, 3),
        heading_error_rad=torch.zeros(n),
        height_error_m=torch.zeros(n),
        flat=torch.ones(n, dtype=torch.bool),
        flat_ahead=torch.ones(n, dtype=torch.bool),
        has_goal=torch.ones(n, dtype=torch.bool),
        progress=torch.ones(n),
        joint_pos=torch.zeros(joints),
        joint_vel=torch.zeros(joints),
        joint_acc=torch.zeros(joints),
        torque=torch.zeros(joints),
        abad_pos=torch.zeros(legs),
        foot_force=torch.tensor([0.0, 0.0, 180.0]).repeat(n, 4, 1),
        foot_contact=torch.ones(legs, dtype=torch.bool),
        landed=torch.zeros(legs, dtype=torch.bool),
        air_s=torch.zeros(legs),
        swing_m=torch.zeros(legs),
        slip_mps=torch.zeros(legs),
        leg_contact=torch.zeros(n, 8, dtype=torch.bool),
        trunk_force=torch.zeros(n),
        action=torch.zeros(joints),
        last_action=torch.zeros(joints),
        older_action=torch.zeros(joints),
        headway_mps=torch.zeros(n),
        stalled_s=torch.zeros(n),
        held_s=torch.zeros(n),
        steps=torch.ones(n, dtype=torch.long),
        failed=torch.zeros(n, dtype=torch.bool),
    )
    shaped = {}
    for name, value in values.items():
        like = getattr(base, name)
        shaped[name] = torch.as_tensor(value, dtype=like.dtype).expand_as(like).clone()
    return replace(base, **shaped)


def small(n: int = 4, families=(("flat", 1.0),), seed: int = 0, **options) -> ParkourEnv:
    cfg = EnvCfg(families=families, levels=3, variants=1, **options)
    return ParkourEnv(cfg, n, seed=seed)


class MirroredTasks(CurriculumTasks):
    """Gives the second half of the worlds the mirrored courses of the first half."""

    def __init__(self, cfg: EnvCfg, rng: MirroredRandomSource, seed: int) -> None:
        pairs = rng.n // 2
        names, shares = zip(*cfg.families, strict=True)
        one = build_bank(names, cfg.levels, cfg.variants, cfg.mirror_half, seed, cfg.max_difficulty)
        both = one.courses + tuple(course.mirror() for course in one.courses)
        self._shift = torch.arange(2).repeat_interleave(pairs) * len(one.courses)
        bank = CourseBank(one.families, both, one.table, one.sizes)
        super().__init__(cfg.curriculum, bank, assign_families(shares, pairs).repeat(2), rng)

    def choose_courses(self, mask):
        return super().choose_courses(mask) + self._shift


class Pairs(ParkourEnv):
    """World i and world n/2 + i are mirror images: course, robot and random numbers."""

    def __init__(self, cfg: EnvCfg, pairs: int, seed: int = 0, engine: str = "cpu") -> None:
        rng = MirroredRandomSource(2 * pairs, torch.device("cpu"), seed)
        tasks = MirroredTasks(cfg, rng, seed)
        super().__init__(cfg, 2 * pairs, engine=engine, seed=seed, rng=rng, tasks=tasks)
        if self.camera is not None:
            self.camera.draws.key[pairs:] = self.camera.draws.key[:pairs]
            self.camera.draws.mirrored[pairs:] = True


@pytest.fixture(scope="session")
def w() -> SimpleNamespace:
    """This file's functions."""
    names = [field.name for field in fields(Frame)]
    return SimpleNamespace(frame=frame, small=small, Pairs=Pairs, frame_fields=names)
