"""Advantages against sums by hand, by brute force, and against the recursion of rsl_rl."""

import pytest
import torch

from swap.learn import gae

NONE = ()


def column(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)[:, None]


def one_world(reward, value, terminated=NONE, truncated=NONE, invalid=NONE):
    """gamma = lambda = 1/2 on one world; the last three say at which steps."""
    steps = range(len(reward))
    masks = [column([t in where for t in steps], torch.bool) for where in (terminated, truncated)]
    valid = column([t not in invalid for t in steps], torch.bool)
    advantage, returns = gae(column(reward), column(value), *masks, valid, gamma=0.5, lam=0.5)
    return advantage[:, 0].tolist(), returns[:, 0].tolist()


def test_by_hand_without_ends():
    # delta = (1 + 2 - 2, 2 + 1 - 4, 3 + 4 - 2) = (1, -1, 5); chained by 1/4.
    advantage, returns = one_world([1, 2, 3], [2, 4, 2, 8])
    assert advantage == [1 + (-1 + 5 / 4) / 4, -1 + 5 / 4, 5]
    assert returns == [2 + 1.0625, 4 + 0.25, 2 + 5]


def test_by_hand_with_a_failure():
    # Nothing comes after step 1: delta_1 = 2 - 4. Step 2 resets: it gives nothing, and the new
    # episode's delta_3 = 7 + 4 - 6 does not flow back.
    advantage, returns = one_world([1, 2, 0, 7], [2, 4, 9, 6, 8], terminated=[1], invalid=[2])
    assert advantage == [1 - 2 / 4, -2, 0, 5]
    assert returns == [2.5, 2, 9, 11]


def test_by_hand_with_a_time_limit():
    # As above, but the true last observation, worth 9, is bootstrapped: delta_1 = 2 + 4.5 - 4.
    advantage, _ = one_world([1, 2, 0, 7], [2, 4, 9, 6, 8], truncated=[1], invalid=[2])
    assert advantage == [1 + 2.5 / 4, 2.5, 0, 5]


def test_a_step_that_is_not_valid_cuts_the_chain_wherever_it_stands():
    advantage, _ = one_world([1, 2, 3], [2, 4, 2, 8], invalid=[1])
    assert advantage == [1, 0, 5]


def test_rubbish_beyond_an_end_does_not_leak():
    nan = float("nan")
    advantage, _ = one_world([1, 2, nan, 7], [2, 4, nan, 6, 8], terminated=[1], invalid=[2])
    assert advantage == [0.5, -2, 0, 5]
    # Nor does rubbish in the episode after it, which makes that one's own advantages NaN.
    value = [2, 4, 9, nan, 8]
    advantage, _ = one_world([1, 2, 0, 7], value, terminated=[1], invalid=[2])
    assert advantage[:3] == [0.5, -2, 0]
    assert advantage[3] != advantage[3]


def life(steps, n, seed):
    """Random worlds that obey the rule: the step after an end is not valid."""
    generator = torch.Generator().manual_seed(seed)
    reward, value = (torch.randn(steps + k, n, generator=generator) for k in (0, 1))
    chance = torch.rand(steps, n, generator=generator)
    terminated, truncated = chance < 0.1, chance > 0.9
    valid = torch.ones(steps, n, dtype=torch.bool)
    for t in range(1, steps):
        valid[t] = ~(terminated | truncated)[t - 1]
        terminated[t] &= valid[t]
        truncated[t] &= valid[t]
    return torch.where(valid, reward, 0.0)[:steps], value, terminated, truncated, valid


def test_brute_force():
    reward, value, terminated, truncated, valid = life(30, 20, seed=0)
    gamma, lam = 0.97, 0.9
    advantage, returns = gae(reward, value, terminated, truncated, valid, gamma=gamma, lam=lam)
    for world in range(20):
        for t in range(30):
            total, k = 0.0, t
            while k < 30 and valid[k, world]:
                beyond = 0.0 if terminated[k, world] else value[k + 1, world]
                delta = reward[k, world] + gamma * beyond - value[k, world]
                total += (gamma * lam) ** (k - t) * delta
                if terminated[k, world] or truncated[k, world]:
                    break
                k += 1
            assert float(advantage[t, world]) == pytest.approx(float(total), abs=1e-5)
    assert torch.allclose(returns, advantage + value[:-1])


def test_rsl_rl_without_time_limits():
    """In rsl_rl worlds are reset within the step that ends them: A_t = d_t + (1 - done_t) g l
    A_{t+1} with d_t = r_t + (1 - done_t) g V_{t+1} - V_t. Ours is the same with an additional step
    after each end, on which nothing depends."""
    generator = torch.Generator().manual_seed(3)
    reward, done = torch.randn(40, generator=generator), torch.rand(40, generator=generator) < 0.2
    value, gamma, lam = torch.randn(41, generator=generator), 0.99, 0.95
    theirs, ahead = torch.zeros(40), 0.0
    for t in reversed(range(40)):
        on = 1.0 - float(done[t])
        delta = reward[t] + on * gamma * value[t + 1] - value[t]
        ahead = delta + on * gamma * lam * ahead
        theirs[t] = ahead

    rows = []  # reward, value, terminated, valid
    for t in range(40):
        rows.append((reward[t], value[t], bool(done[t]), True))
        if done[t]:
            rows.append((0.0, 123.0, False, False))
    rewards, values, ends, valid = (torch.tensor(x)[:, None] for x in zip(*rows, strict=True))
    values = torch.cat((values, value[40:, None]))
    never = torch.zeros_like(ends)
    ours, _ = gae(rewards, values, ends, never, valid, gamma=gamma, lam=lam)
    assert torch.allclose(ours[valid], theirs, atol=1e-5)
