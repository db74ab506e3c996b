"""A robot that sees, as small as can be: its config, its first weights, and a run of it."""

from dataclasses import replace
from pathlib import Path

from swap.env import EnvCfg, TerminationCfg
from swap.learn import AMPCfg, ModelCfg, PPOCfg
from swap.policy import PolicyCfg
from swap.presets import RunCfg, SwapCfg
from swap.runs import to_json, train
from swap.runs.console import PlainBoard
from swap.runs.trained_robot import TrainedRobot
from swap.sensors import DepthCameraCfg
from swap.world_model import WorldModelCfg

NET = WorldModelCfg(
    deter=24,
    variables=4,
    classes=4,
    hidden=24,
    channels=(4, 4, 8, 8),
    prop_hidden=16,
    decoder_hidden=24,
)
CFG = SwapCfg(
    worlds=4,
    env=EnvCfg(
        families=(("flat", 1.0), ("box", 1.0)),
        levels=2,
        variants=1,
        camera=DepthCameraCfg(),
        terminations=TerminationCfg(episode_length_s=0.3),
    ),
    policy=PolicyCfg(
        ("history", "command", "latent"), ("privileged", "latent"), (32, 16), (32, 16), init_std=0.4
    ),
    ppo=PPOCfg(steps=6, epochs=1, minibatches=2),
    model=ModelCfg(NET, batch=2, ticks=2, updates=1, memory=3, lr=1e-3, warm_up=1),
    amp=AMPCfg(hidden=(16,), batch=8, updates=1, replay=64),
)


def robot(*, sees: bool = True, acts: bool = True) -> TrainedRobot:
    """Its first weights; which of its networks are equivariant."""
    model = replace(CFG.model, net=replace(NET, equivariant=sees))
    policy, amp = (replace(part, equivariant=acts) for part in (CFG.policy, CFG.amp))
    return TrainedRobot("swap", 0, replace(CFG, model=model, policy=policy, amp=amp), {})


def run(folder: Path) -> Path:
    """A run of a few iterations: it has learned nothing, but everything is in its place."""
    train(
        CFG.build("cpu"),
        folder,
        RunCfg(iterations=4, tensorboard=False),
        config={"preset": "swap", "cfg": to_json(CFG)},
        board=PlainBoard(every_s=1e9),
    )
    return folder
