"""Faults of the physics are counted in the metrics, and too many of them stop a run."""

from dataclasses import replace

import pytest
import torch

from swap.distributed import ProcessGroup
from swap.env import EnvCfg, ParkourEnv
from swap.errors import UserError
from swap.presets.run_cfg import GuardCfg
from swap.runs.guard import Guard

CFG = EnvCfg(families=(("flat", 1.0),), levels=1, variants=1)
N, STEPS = 3, 6
NONE = {"guard/diverged": 0, "guard/overflow": 0, "guard/contact_pool": 0}


def made(engine: str = "gpu", **room: int) -> ParkourEnv:
    env = ParkourEnv(replace(CFG, **room), N, engine=engine)
    env.reset()
    return env


def counted(env: ParkourEnv, processes: ProcessGroup | None = None) -> dict[str, float]:
    told = env.metrics() if processes is None else env.metrics(processes)
    return {name: value for name, value in told.items() if name.startswith("guard/")}


def stand(env: ParkourEnv, steps: int = STEPS) -> None:
    for _ in range(steps):
        env.step(torch.zeros(N, 12))


def crowded() -> ParkourEnv:
    """Robots that stood for STEPS control steps with memory for one contact each."""
    env = made(contacts=1)
    stand(env, 8)  # from the air onto the feet
    env.metrics()
    stand(env)
    return env


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_nothing_is_counted_where_nothing_is_wrong(engine):
    env = made(engine)
    stand(env)
    assert counted(env) == NONE


def test_a_full_pool_is_counted_for_every_world_that_shares_it():
    env = crowded()
    assert counted(env) == NONE | {"guard/contact_pool": N * STEPS}
    assert counted(env) == NONE  # they are counted once


def test_rows_that_do_not_fit_are_counted_by_world():
    env = made(contact_rows=6)
    stand(env)
    told = counted(env)
    assert 0 < told["guard/overflow"] <= N * STEPS
    assert told["guard/contact_pool"] == 0


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_a_diverged_world_is_counted(engine):
    env = made(engine)
    env.engine.push(torch.arange(N) == 1, torch.full((N, 3), 2e4), torch.zeros(N, 3))
    stand(env, 1)
    assert counted(env) == NONE | {"guard/diverged": 1}


def test_a_team_adds_up():
    class Twins(ProcessGroup):
        """Two processes with the same to tell."""

        def all_reduce_(self, x: torch.Tensor) -> None:
            x.mul_(2)

    env = crowded()
    assert counted(env, Twins(0, 2)) == NONE | {"guard/contact_pool": 2 * N * STEPS}


class Nothing:
    """A trainable without state."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {}

    def numbers(self) -> dict[str, int]:
        return {}


def test_a_pool_that_is_full_all_the_time_stops_the_run_and_a_rare_one_does_not(tmp_path):
    told = counted(crowded())
    for full, stops in ((1, False), (50, True), (100, True)):  # of 100 control steps an iteration
        said: list[str] = []
        guard = Guard(GuardCfg(window=10), tmp_path / str(full), said.append)
        figures = {name: value * full / STEPS for name, value in told.items()}
        for k in range(12):
            stop = guard.check(k, {"steps": 100.0 * N * (k + 1), **figures}, Nothing())
            if stop:
                break
        assert len(said) == 1  # told once, when it is first seen
        assert f"guard/contact_pool counts {full * N} (the contact pool" in said[0]
        assert "--env.contacts N" in said[0]
        assert (stop is not None) == stops
        if stop:
            assert "steps are too many (most: contact_pool" in stop
            assert "--env.contacts N" in stop


def test_room_for_nothing_is_refused():
    for name in ("contacts", "contact_rows"):
        with pytest.raises(UserError, match=f"{name}=0; use 1 or more"):
            EnvCfg(**{name: 0})
