"""The preset `swap-rough`: `swap` under rough conditions, to be used off the machine it was trained
on. Images have holes and may be dark, the ground may be wet, motors weak, slow to answer or damped
otherwise, pushes come often, there are drops and landings that slope, and friction is as in a finer
simulator. It differs from `swap` in nothing else."""

from dataclasses import replace

from swap.env import RandomCfg
from swap.presets.swap import SWAP
from swap.sensors import DepthCameraCfg, DepthNoiseCfg
from swap.sim import Ranges

RANDOM = RandomCfg(
    ranges=Ranges(
        friction=(0.3, 1.25),
        payload=(0.0, 0.2),
        strength=(0.5, 1.2),
        damping=(0.7, 1.2),
        latency=(0, 2),
        push=1.0,
    ),
    push_every_s=4.0,
)
CAMERA = DepthCameraCfg(noise=DepthNoiseCfg(blob_holes=0.66, pixel_holes=(0.0, 0.95)))
FAMILIES = (
    ("flat", 0.05),
    ("box", 0.25),
    ("gap", 0.2),
    ("platform", 0.15),
    ("gap_to_slope", 0.1),
    ("stairs", 0.1),
    ("lateral_slope", 0.05),
    ("rocks", 0.1),
)
ENV = replace(SWAP.env, random=RANDOM, camera=CAMERA, families=FAMILIES, friction_cone="elliptic")
ROUGH = {"swap-rough": replace(SWAP, env=ENV)}
