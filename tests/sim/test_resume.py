"""Either engine, saved and restored in the middle of a run, continues to the last bit."""

import pytest
import torch

from swap.errors import UserError
from swap.sim import Ranges, draw, draw_push

N = 6


def advance(engine, steps: int, generator, name: str) -> None:
    """Everything that changes an engine: steps, pushes, and new courses, robots and starts for some
    worlds."""
    pose = torch.tensor(engine.robot.default_pose)

    def some(share: float) -> torch.Tensor:
        return torch.rand(N, generator=generator) < share

    for _ in range(steps):
        engine.step(pose + 0.3 * torch.randn(N, 12, generator=generator))
        mask, ids = some(0.2), torch.randint(0, 3, (N,), generator=generator)
        engine.assign(mask, ids)
        given = draw(Ranges(latency=(0, 3)), engine.robot, N, generator)
        engine.randomise(mask, given, bodies=name == "cpu")
        engine.reset(mask)
        engine.randomise_bodies(some(0.1), given)
        engine.push(some(0.1), *draw_push(Ranges(), N, generator))


def same(a, b) -> None:
    for one, two in (
        (a.state_dict(), b.state_dict()),
        (vars(a.state), vars(b.state)),
        (vars(a.boxes), vars(b.boxes)),
        (vars(a.drawn), vars(b.drawn)),
    ):
        assert one.keys() == two.keys()
        for name, x in one.items():
            assert torch.equal(x, two[name]), name


def test_what_was_put_away_goes_on_alike(engine_name, w):
    bank = [w.FLAT, w.ROUGH, w.HIGH]
    straight, other = (w.make(engine_name, bank=bank, n=N) for _ in range(2))
    luck = torch.Generator().manual_seed(0)
    everyone = w.everyone(straight)
    straight.randomise(everyone, draw(Ranges(), straight.robot, N, luck))
    straight.reset(everyone)
    advance(straight, 15, luck, engine_name)
    straight.step(torch.full((N, 12), torch.nan).where(w.only(straight, 2)[:, None], 0.0))
    saved = {name: x.clone() for name, x in straight.state_dict().items()}
    again = torch.Generator()
    again.set_state(luck.get_state())

    advance(other, 3, torch.Generator().manual_seed(9), engine_name)  # all of it is overwritten
    other.load_state_dict(saved)
    same(straight, other)
    assert other.state.failed.tolist() == [False, False, True, False, False, False]
    advance(straight, 25, luck, engine_name)
    advance(other, 25, again, engine_name)
    same(straight, other)
    assert straight.report() == other.report()


def test_another_number_of_worlds_is_refused(engine_name, w):
    with pytest.raises(UserError, match=r"'qpos' was saved as \[3, 19\], now it is \[2, 19\]"):
        w.make(engine_name, n=2).load_state_dict(w.make(engine_name, n=3).state_dict())
