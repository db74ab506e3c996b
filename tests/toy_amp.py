"""A small discriminator, and motions for it to tell apart."""

import torch

from swap.env import Spaces
from swap.learn import AMP, AMPCfg
from swap.learn.metrics import MetricAccumulator

FRAME = Spaces().layout("joint_pos", "lin_vel", "ang_vel", "joint_vel").rep
N, STEPS = 32, 8
CFG = AMPCfg(lr=1e-3, batch=64, updates=5, replay=512, hidden=(64, 32))


def some(n, seed, shift=0.0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 2, 30, generator=generator) * 0.5 + shift


def made(cfg=CFG, expert=None, seed=0):
    metrics = MetricAccumulator(torch.device("cpu"))
    expert = some(300, 1) if expert is None else expert
    return AMP(cfg, expert, FRAME, N, STEPS, metrics, capture=False, seed=seed), metrics


def live(amp, seed, shift=0.8, mirrored=False):
    """One rollout of the policy's motion, a third of it near obstacles."""
    for step in range(STEPS):
        pair = some(N, 100 * seed + step, shift)
        mask = torch.arange(N) % 3 != step % 3
        amp.store(FRAME(pair) if mirrored else pair, mask)


def chance(seed=0):
    return torch.Generator().manual_seed(seed)
