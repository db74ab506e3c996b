"""Tests levels on made-up outcomes, the bank of courses, and the families of worlds."""

import pytest
import torch

from swap.env import CurriculumCfg, EnvCfg, ParkourEnv
from swap.env.bank import assign_families, build_bank
from swap.env.curriculum import Curriculum
from swap.env.random_source import RandomSource
from swap.errors import UserError

N = 4000
LEVELS = 5


def curriculum(frontier: int, **options) -> Curriculum:
    rng = RandomSource(N, torch.device("cpu"), 0)
    made = Curriculum(CurriculumCfg(initial_level=frontier, **options), LEVELS, rng)
    made.draw(torch.ones(N, dtype=torch.bool))
    return made


def outcome(share: float) -> torch.Tensor:
    return torch.arange(N) < share * N


def test_success_at_the_frontier_moves_it_up():
    c = curriculum(2, replay_fraction=0.0)
    c.update(outcome(0.5), ~outcome(1.0))
    assert (c.frontier[: N // 2] == 3).all()
    assert (c.frontier[N // 2 :] == 2).all()


def test_failure_moves_it_down_six_times_in_ten():
    c = curriculum(2, replay_fraction=0.0)
    c.update(~outcome(1.0), outcome(1.0))
    assert set(c.frontier.tolist()) == {1, 2}
    assert (c.frontier == 1).float().mean().item() == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize(("up", "down"), [(1.0, 0.6), (0.2, 1.0)])
def test_it_settles_where_the_two_chances_balance(up, down):
    """The frontier only moves to neighbours, so moves up from a level balance moves down to it."""
    able = torch.tensor([1.0, 0.9, 0.6, 0.2, 0.0])
    flow = [1.0]
    for level in range(LEVELS - 1):
        flow.append(flow[-1] * able[level].item() * up / ((1 - able[level + 1].item()) * down))
    wanted = torch.tensor(flow) / sum(flow)
    c = curriculum(2, replay_fraction=0.0, up_probability=up, down_probability=down)
    generator = torch.Generator().manual_seed(1)
    for _ in range(150):
        c.draw(torch.ones(N, dtype=torch.bool))
        won = torch.rand(N, generator=generator) < able[c.level]
        c.update(won, ~won)
    settled = torch.bincount(c.frontier, minlength=LEVELS) / N
    torch.testing.assert_close(settled, wanted, atol=0.03, rtol=0)


def test_neither_leaves_it_and_it_stays_in_range():
    c = curriculum(0)
    c.update(~outcome(1.0), ~outcome(1.0))
    assert (c.frontier == 0).all()
    for _ in range(5):
        c.update(~outcome(1.0), outcome(1.0))
    assert (c.frontier == 0).all()


def test_some_replay_lower_levels_and_do_not_count():
    c = curriculum(3)
    replays = c.level < 3
    assert (c.level <= 3).all()
    assert replays.float().mean().item() == pytest.approx(0.4, abs=0.03)
    counts = torch.bincount(c.level[replays], minlength=3) / replays.sum()
    torch.testing.assert_close(counts, torch.full((3,), 1 / 3), atol=0.05, rtol=0)
    c.update(outcome(1.0), ~outcome(1.0))
    assert (c.frontier[replays] == 3).all()
    assert (c.frontier[~replays] == 4).all()


def test_at_the_lowest_level_there_is_nothing_to_replay():
    assert (curriculum(0).level == 0).all()


def test_past_the_top_all_levels_are_alike_and_only_the_top_can_bring_it_back():
    c = curriculum(LEVELS)
    counts = torch.bincount(c.level, minlength=LEVELS) / N
    torch.testing.assert_close(counts, torch.full((LEVELS,), 1 / LEVELS), atol=0.03, rtol=0)
    top = c.level == LEVELS - 1
    c.update(~outcome(1.0), outcome(1.0))
    assert (c.frontier[~top] == LEVELS).all()
    assert set(c.frontier[top].tolist()) == {LEVELS - 1, LEVELS}
    c.update(outcome(1.0), ~outcome(1.0))
    assert c.frontier.max() == LEVELS


def test_only_the_masked_worlds_get_new_levels():
    c = curriculum(LEVELS)
    before = c.level.clone()
    c.draw(outcome(0.5))
    assert (c.level[N // 2 :] == before[N // 2 :]).all()
    assert (c.level[: N // 2] != before[: N // 2]).any()


def test_the_bank_holds_each_family_at_each_level_in_its_variants():
    bank = build_bank(["box", "tilted_gap"], 4, 2, False, seed=3)
    assert bank.table.shape == (2, 4, 2)
    assert sorted(bank.table.flatten().tolist()) == list(range(16))
    for f, name in enumerate(bank.families):
        for level in range(4):
            for v in range(2):
                course = bank.courses[int(bank.table[f, level, v])]
                assert course.family == name
                assert course.difficulty == pytest.approx(level / 3)
                assert course.size == pytest.approx(float(bank.sizes[f, level]))
    one, two = (bank.courses[int(bank.table[0, 0, v])] for v in range(2))
    assert one.goal_x != two.goal_x
    assert bank.slots == max(course.n for course in bank.courses)


def test_the_top_level_is_as_hard_as_it_is_allowed_to_be():
    bank = build_bank(["box"], 3, 1, False, seed=0, max_difficulty=0.2)
    assert bank.sizes[0].tolist() == pytest.approx([0.05, 0.235, 0.42])
    for max_difficulty in (-0.1, float("nan"), float("inf")):
        with pytest.raises(UserError, match=r"max_difficulty=.*; (use 0 or more|give a finite)"):
            EnvCfg(max_difficulty=max_difficulty)


def test_beyond_the_range_each_family_goes_as_far_as_it_can_be_built():
    names = ["flat", "box", "gap", "stairs"]
    cfg = EnvCfg(families=tuple((name, 1.0) for name in names), levels=3, max_difficulty=1.2)
    bank = build_bank(names, cfg.levels, 1, False, seed=0, max_difficulty=cfg.max_difficulty)
    assert bank.sizes[:, -1].tolist() == pytest.approx([0.0, 2.2, 0.05 + 1.2 * 2.95, 0.23])
    assert bank.sizes[:, 0].tolist() == pytest.approx([0.0, 0.05, 0.05, 0.05])
    assert bank.sizes[3].tolist() == pytest.approx([0.05, 0.14, 0.23])
    env = ParkourEnv(cfg, 4)
    assert env.engine._bank.n == 12 * cfg.variants


def test_mirrored_variants_are_high_on_the_other_side():
    bank = build_bank(["tilted_gap"], 2, 4, True, seed=0)
    tilts = [bank.courses[int(k)].goal_tilt for k in bank.table[0, 1]]
    assert [tilt > 0 for tilt in tilts] == [True, False, True, False]


def test_families_get_their_shares():
    assert torch.bincount(assign_families([1, 2, 1], 8)).tolist() == [2, 4, 2]
    assert assign_families([1, 1, 1], 1).tolist() == [1]
    assert torch.bincount(assign_families([0.1, 0.9], 6000)).tolist() == [600, 5400]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"families": (("stair", 1.0),)}, "family 'stair'; did you mean 'stairs'"),
        ({"families": ()}, "list at least one"),
        ({"families": (("box", 0.0),)}, "more than 0 or leave it out"),
        ({"families": (("box", 1.0), ("box", 1.0))}, "listed twice"),
        ({"levels": 0}, "levels=0; use 1 or more"),
        ({"levels": 3, "curriculum": CurriculumCfg(initial_level=4)}, "use at most that"),
    ],
)
def test_a_bad_configuration_is_told_in_one_line(options, says):
    with pytest.raises(UserError, match=says) as error:
        EnvCfg(**options)
    assert "\n" not in str(error.value)
