"""Tests the GPU engine on a real GPU; skipped without one. Other files test its code on the CPU."""

from dataclasses import fields

import pytest
import torch
import warp as wp

from swap.sim import Draw, FaultReport, Ranges, Start, draw, draw_push
from swap.sim.gpu_models import PER_WORLD

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def moved(parts, device="cuda"):
    """A dataclass of tensors on another device."""
    return type(parts)(**{f.name: getattr(parts, f.name).to(device) for f in fields(parts)})


def test_it_follows_the_cpu_engine(w):
    n, bank = 96, [w.FLAT, w.ROUGH, w.HIGH]
    cpu = w.make("cpu", bank=bank, n=n, threads=0)
    gpu = w.make("gpu", bank=bank, n=n, device="cuda")
    generator = torch.Generator().manual_seed(0)
    given: Draw = draw(Ranges(latency=(0, 3)), cpu.robot, n, generator)
    ids = torch.arange(n) % 3
    everyone = torch.ones(n, dtype=torch.bool)
    for engine, put in ((cpu, lambda x: x), (gpu, lambda x: x.cuda())):
        engine.assign(put(everyone), put(ids))
        engine.randomise(put(everyone), given if engine is cpu else moved(given))
        engine.reset(put(everyone))
    start: Start = w.start_of(cpu)
    start.base_pos[:, 2] += 0.2 * torch.rand(n, generator=generator)
    start.joint_pos.add_(0.1 * torch.randn(n, 12, generator=generator))
    cpu.reset(everyone, start)
    gpu.reset(everyone.cuda(), moved(start))
    pose = torch.tensor(cpu.robot.default_pose)
    for _ in range(25):
        targets = pose + 0.1 * torch.randn(n, 12, generator=generator)
        cpu.step(targets)
        gpu.step(targets.cuda())
    for name in ("base_pos", "base_quat", "joint_pos", "leg_pos"):
        error = (getattr(gpu.state, name).cpu() - getattr(cpu.state, name)).flatten(1)
        worst = error.abs().amax(1)
        assert worst.median() < 2e-5, name
        assert (worst < 1e-3).float().mean() > 0.95, name  # contacts may differ
    assert gpu.report() == FaultReport()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")  # torch: it may miss some
def test_nothing_waits_for_the_device(w):
    """Runs a learner's whole loop while torch raises an error on any wait for the device."""
    n = 64
    engine = w.make("gpu", bank=[w.FLAT, w.ROUGH], n=n, device="cuda")
    generator = torch.Generator("cuda").manual_seed(0)
    pose = torch.tensor(engine.robot.default_pose, device="cuda")
    start = w.start_of(engine)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            engine.step(pose + 0.1 * torch.randn(n, 12, generator=generator, device="cuda"))
            mask = torch.rand(n, generator=generator, device="cuda") < 0.3
            ids = torch.randint(0, 2, (n,), generator=generator, device="cuda")
            engine.assign(mask, ids)
            engine.randomise(mask, draw(Ranges(), engine.robot, n, generator), bodies=False)
            engine.reset(mask, start)
            engine.randomise_bodies(mask, draw(Ranges(), engine.robot, n, generator))
            engine.reset(engine.state.failed)
            engine.push(mask, *draw_push(Ranges(), n, generator))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert engine.report() == FaultReport()


def test_recorded_bodies_are_the_bodies(w):
    n = 64
    recorded, called = (
        w.make("gpu", bank=[w.ROUGH], n=n, device="cuda", capture=capture)
        for capture in (True, False)
    )
    assert recorded._models.recorded
    assert not called._models.recorded
    for seed in range(3):
        generator = torch.Generator("cuda").manual_seed(seed)
        given = draw(Ranges(), recorded.robot, n, generator)
        mask = torch.rand(n, generator=generator, device="cuda") < 0.5
        for engine in (recorded, called):
            engine.step(torch.tensor(engine.robot.default_pose, device="cuda").repeat(n, 1))
            qpos = wp.to_torch(engine.mujoco[1].qpos).clone()
            engine.randomise_bodies(mask, given)
            assert torch.equal(wp.to_torch(engine.mujoco[1].qpos), qpos)
        ours, theirs = recorded.mujoco[0], called.mujoco[0]
        for name in PER_WORLD:
            found, want = (wp.to_torch(getattr(m, name)) for m in (ours, theirs))
            torch.testing.assert_close(found, want, rtol=1e-5, atol=1e-7, msg=name)


def test_a_nan_is_contained(w):
    engine = w.make("gpu", bank=[w.ROUGH], n=32, device="cuda")
    pose = torch.tensor(engine.robot.default_pose, device="cuda").repeat(32, 1)
    pose[7, 3] = float("nan")
    engine.step(pose)
    assert engine.report() == FaultReport(nonfinite=1, worlds=(7,))
    for field in fields(engine.state):
        assert torch.isfinite(getattr(engine.state, field.name).float()).all()
