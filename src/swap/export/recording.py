"""Records a robot's own steps, inputs and answers, as vectors that a bundle is tested with."""

from itertools import count

import numpy as np
import torch

from swap.deploy.vectors import Vectors
from swap.env import ParkourEnv
from swap.evaluate.success import course_of, trials_env
from swap.policy import Agent, Networks
from swap.presets import ParkourCfg

DIFFICULTY = 0.4
"""Of the courses: enough to be busy with."""
SPEED_MPS = 1.0


def env_of(cfg: ParkourCfg, episode: int, seed: int) -> ParkourEnv:
    """One world with a course of one of the robot's families, in turns."""
    families = [name for name, _ in cfg.env.families]
    family = families[episode % len(families)]
    difficulty = min(DIFFICULTY, cfg.env.max_difficulty)
    course = course_of(family, difficulty, episode, seed=seed, side="both")
    return trials_env(cfg.env, [course], SPEED_MPS, "cpu", seed + episode)


@torch.no_grad()
def record(cfg: ParkourCfg, networks: Networks, steps: int, *, seed: int = 0) -> Vectors:
    """So many control steps, with all noise and faults of training, episode after episode."""
    rows: dict[str, list[np.ndarray]] = {
        name: [] for name in ("proprioception", "history", "command", "depth", "action", "h")
    }
    fresh: list[bool] = []
    for episode in count():
        env = env_of(cfg, episode, seed)
        agent, obs = Agent(networks, 1, "cpu"), env.reset()
        state = agent.latent_state
        assert state is not None, "a bundle's robot has a world model"
        for step in range(min(steps - len(fresh), env.cfg.episode_steps)):
            felt = {name: obs[name] for name in ("proprioception", "history", "command")}
            kept = {name: x[0].numpy().copy() for name, x in felt.items()}
            depth = state.model.codec.from_linear(obs["depth_noisy"])[0].numpy()
            action = agent.act(obs)
            fresh.append(step == 0)
            kept |= {"action": action[0].numpy().copy(), "h": state.h[0].numpy().copy()}
            for name, x in kept.items():
                rows[name].append(x)
            if agent.ticked:
                rows["depth"].append(depth)
            done = env.step(action)
            obs = done.obs
            if bool(done.terminated | done.truncated):
                break
        if len(fresh) >= steps:
            break
    return Vectors(fresh=np.array(fresh), **{name: np.stack(x) for name, x in rows.items()})


@torch.no_grad()
def mirrored(vectors: Vectors, networks: Networks, cfg: ParkourCfg) -> Vectors:
    """The same steps of the mirrored robot, with the mirrored answers."""
    model, groups = networks.model, cfg.env.spec.groups
    assert model is not None
    reps = {name: groups[name].rep for name in ("proprioception", "history", "command")}
    reps |= {"action": cfg.env.spec.action.rep, "h": model.latent_layout.rep}
    turned = {
        name: rep(torch.from_numpy(getattr(vectors, name))).numpy() for name, rep in reps.items()
    }
    depth = np.ascontiguousarray(vectors.depth[..., ::-1])
    return Vectors(fresh=vectors.fresh, depth=depth, **turned)
