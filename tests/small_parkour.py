"""A real training, as small as can be: its config, a run of it, and the metrics that it wrote."""

from pathlib import Path

from swap.env import EnvCfg, TerminationCfg
from swap.learn import PPOCfg
from swap.policy import PolicyCfg
from swap.presets import ParkourCfg, RunCfg, TrainCfg
from swap.runs import Checkpoint, read_metrics, seed_everything, train
from swap.runs.console import PlainBoard

SMALL = ParkourCfg(
    worlds=4,
    engine="cpu",
    env=EnvCfg(
        families=(("flat", 1.0), ("box", 1.0)),
        levels=2,
        variants=1,
        terminations=TerminationCfg(episode_length_s=0.3),
    ),
    policy=PolicyCfg(actor_hidden=(16,), critic_hidden=(16,)),
    ppo=PPOCfg(steps=6, epochs=1, minibatches=2),
)
"""Episodes end in every third rollout."""


def train_until(
    cfg: TrainCfg, folder: Path, iterations: int, resume: Checkpoint | None = None
) -> None:
    """Train up to `iterations` in all."""
    seed_everything(cfg.seed)
    run = RunCfg(iterations=iterations, save_minutes=60.0, tensorboard=False)
    train(cfg.build("cpu"), folder, run, resume=resume, board=PlainBoard(every_s=1e9))


def figures(run: Path) -> list[dict[str, float]]:
    """Metrics by iteration, without times."""
    timed = ("wall_s", "time/")
    return [{k: x for k, x in row.items() if not k.startswith(timed)} for row in read_metrics(run)]
