"""Provides robots and environments from Python: `swap.load` and `swap.make_env`, and environments
for other libraries, `swap.make_gymnasium_env` and `swap.make_rsl_rl_env`.

robot = swap.load("swap")
env = swap.make_env(robot, worlds=4, family="box", size=1.6)
agent, obs = robot.agent_for(env), env.reset()
while not env.finished:
    obs = env.step(agent.act(obs)).obs
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from swap.adapters import GYMNASIUM, RSL_RL, needs
from swap.courses import difficulty_of
from swap.device.choice import choose_device
from swap.env import EnvCfg, ParkourEnv
from swap.env.trials import Trials
from swap.errors import UserError
from swap.evaluate.success import course_of, trials_env
from swap.presets import ParkourCfg, get_preset
from swap.runs.trained_robot import TrainedRobot, load_trained
from swap.sim import engine_for

if TYPE_CHECKING:
    from swap.adapters.gymnasium_env import GymnasiumEnv, GymnasiumVectorEnv
    from swap.adapters.rsl_rl_env import RslRlVecEnv


def load(
    model: str | Path,
    *,
    fast: bool = False,
    actor: str | None = None,
    critic: str | None = None,
    encoder: str | None = None,
    observations: Sequence[str] | None = None,
) -> TrainedRobot:
    """Load a trained robot from the folder of a run, from a file of `swap keep`, or by its name.

    With `fast` its agents act for few robots on a CPU in a fraction of the time. Their actions are
    then the same up to rounding, and no longer mirrored to the last bit.

    Code of your own that the robot needs to act is run only if you name it here, as after
    `--policy.actor`, `--policy.critic`, `--model.net.encoder` and `--env.observations`.
    """
    given = None if observations is None else tuple(observations)
    code = {"actor": actor, "critic": critic, "encoder": encoder, "observations": given}
    return replace(load_trained(Path(model), **code), fast=fast)


@overload
def make_env(
    of: TrainedRobot | EnvCfg | str, worlds: int = ..., *, device: str = ..., seed: int = ...
) -> ParkourEnv: ...


@overload
def make_env(
    of: TrainedRobot | EnvCfg | str,
    worlds: int = ...,
    *,
    family: str,
    size: float | None = ...,
    speed_mps: float | None = ...,
    device: str = ...,
    seed: int = ...,
) -> Trials: ...


def make_env(
    of: TrainedRobot | EnvCfg | str,
    worlds: int = 1,
    *,
    family: str | None = None,
    size: float | None = None,
    speed_mps: float | None = None,
    device: str = "auto",
    seed: int = 0,
) -> ParkourEnv | Trials:
    """Make the environment of a trained robot, of a preset (by name), or of an `EnvCfg`.

    Without a `family` it is that of training, with its curriculum, and runs for ever. With one,
    every world has a course of that family and `size` (metres or degrees), a command to walk
    forward at `speed_mps` (1.0), and one episode; then `env.finished` is true and `env.outcome()`
    says how each ended.
    """
    cfg = env_cfg(of)
    device = choose_device(device)
    if family is None:
        if size is not None or speed_mps is not None:
            raise UserError("size and speed_mps are of one course; name its family, e.g. 'box'")
        return ParkourEnv(cfg, worlds, engine=engine_for(device), device=device, seed=seed)
    difficulty = 0.0 if size is None else difficulty_of(family, size)
    courses = [
        course_of(family, difficulty, k, seed=seed, side="both", tilt_deg=cfg.tilt_deg)
        for k in range(worlds)
    ]
    return trials_env(cfg, courses, 1.0 if speed_mps is None else speed_mps, device, seed)


def make_gymnasium_env(
    of: TrainedRobot | EnvCfg | str = "teacher",
    num_envs: int = 1,
    *,
    groups: Sequence[str] | None = None,
    device: str = "auto",
    seed: int = 0,
) -> "GymnasiumVectorEnv":
    """The environment of training as a `gymnasium.vector.VectorEnv`, in NumPy arrays. `groups`
    names the observations to return; None: all."""
    with needs(GYMNASIUM):
        from swap.adapters.gymnasium_env import GymnasiumVectorEnv

    def make(seed: int) -> ParkourEnv:
        return make_env(of, num_envs, device=device, seed=seed)

    return GymnasiumVectorEnv(make, groups=groups, seed=seed)


def make_single_gymnasium_env(
    of: TrainedRobot | EnvCfg | str = "teacher", **options: Any
) -> "GymnasiumEnv":
    """One world as a `gymnasium.Env`: what `gymnasium.make("swap/Parkour-v0")` returns."""
    worlds = make_gymnasium_env(of, 1, **options)
    from swap.adapters.gymnasium_env import GymnasiumEnv

    return GymnasiumEnv(worlds)


def make_rsl_rl_env(
    of: TrainedRobot | EnvCfg | str = "teacher",
    num_envs: int = 1,
    *,
    groups: Sequence[str] | None = None,
    device: str = "auto",
    seed: int = 0,
) -> "RslRlVecEnv":
    """The environment of training as an `rsl_rl.env.VecEnv`, for rsl_rl's `OnPolicyRunner`.
    `groups` names the observations to return; None: all."""
    with needs(RSL_RL):
        from swap.adapters.rsl_rl_env import RslRlVecEnv

    return RslRlVecEnv(make_env(of, num_envs, device=device, seed=seed), groups=groups)


def env_cfg(of: TrainedRobot | EnvCfg | str) -> EnvCfg:
    if isinstance(of, EnvCfg):
        return of
    if not isinstance(of, str | TrainedRobot):
        raise UserError(
            f"{of!r} is no robot; give one of swap.load, the name of a preset, or an EnvCfg"
        )
    cfg = get_preset(of) if isinstance(of, str) else of.cfg
    if not isinstance(cfg, ParkourCfg):
        raise UserError(
            f"preset '{of}' has no environment; name one that trains a robot, e.g. tiny"
        )
    return cfg.env
