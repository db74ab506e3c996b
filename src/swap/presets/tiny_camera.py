"""The preset `tiny-camera`: the whole method, small. A robot with a depth camera climbs and leaps a
little, in minutes on a laptop."""

from dataclasses import replace

from swap.learn import AMPCfg, ModelCfg
from swap.presets.run_cfg import RunCfg
from swap.presets.swap import SwapCfg
from swap.presets.tiny import TINY
from swap.sensors import DepthCameraCfg, OpticsCfg
from swap.world_model import WorldModelCfg

# Few pixels, but nearly as fine as those of `swap`: a small gap is a thin line from two metres
# away. Obstacles are as wide as the lane, so little is lost at the sides.
OPTICS = OpticsCfg(rows=32, cols=24, fov_deg=44.0)
TINY_CAMERA = SwapCfg(
    run=RunCfg(minutes=20.0),
    worlds=TINY.worlds,
    env=replace(TINY.env, camera=DepthCameraCfg(optics=OPTICS)),
    # The actor sees the ground only by its camera; the critic is told the heights, too. Without the
    # history a robot stood still on flat ground. See the log.
    policy=replace(
        TINY.policy,
        actor_reads=("history", "command", "latent"),
        critic_reads=(*TINY.policy.critic_reads, "latent"),
    ),
    ppo=TINY.ppo,
    # The model takes a third of the time. Of four settings this got farthest; see the log.
    model=ModelCfg(
        net=WorldModelCfg(
            deter=128,
            variables=16,
            classes=16,
            hidden=96,
            channels=(8, 16, 32),
            prop_hidden=64,
            decoder_hidden=64,
        ),
        batch=16,
        ticks=16,
        updates=4,
        memory=64,
        lr=8e-4,
        warm_up=200,
    ),
    # Rollouts are small and iterations few, so the discriminator learns fast. One that hardly
    # learns gives every motion the same reward, which paid robots for not falling: seeds began to
    # walk up to a million steps later. See the log.
    amp=AMPCfg(weight=0.01, hidden=(64, 32), batch=256, updates=4, lr=1e-3),
)
