"""Running statistics equal numpy's, and are symmetric even if the data are not."""

import pytest
import torch
from hypothesis import given

from strategies import reps
from swap.env import Spaces
from swap.errors import UserError
from swap.nn import RunningNorm
from swap.symmetry import trivial


def batches(dim, n=4):
    generator = torch.Generator().manual_seed(0)
    lean = torch.linspace(-2, 3, dim)
    return [torch.randn(50 + 30 * k, dim, generator=generator) * 2 + lean for k in range(n)]


@pytest.mark.parametrize("equivariant", [True, False])
def test_trivial_entries_are_plain_statistics(equivariant):
    norm, data = RunningNorm(trivial(5), eps=0.0, equivariant=equivariant), batches(5)
    for batch in data:
        norm.update(batch)
    everything = torch.cat(data).double()
    assert torch.allclose(norm.mean.double(), everything.mean(0), atol=1e-6)
    variance = everything.var(0, unbiased=False)
    assert torch.allclose(norm.inverse_std.double() ** -2, variance, rtol=1e-5)
    out = norm(everything.float())
    assert torch.allclose(out.mean(0), torch.zeros(5), atol=1e-4)
    assert torch.allclose(out.std(0), torch.ones(5), atol=1e-2)


@given(reps())
def test_statistics_are_those_of_data_and_mirrored_data_together(rep):
    norm, plain = RunningNorm(rep, eps=0.0), RunningNorm(rep, eps=0.0, equivariant=False)
    for batch in batches(rep.dim):
        norm.update(batch)
        plain.update(torch.cat((batch, rep(batch))))
    assert torch.allclose(norm.mean, plain.mean, atol=1e-5)
    assert torch.allclose(norm.inverse_std, plain.inverse_std, rtol=1e-4)


@given(reps())
def test_mirrored_data_gives_the_same_bits(rep):
    here, there = RunningNorm(rep), RunningNorm(rep)
    for batch in batches(rep.dim):
        here.update(batch)
        there.update(rep(batch))
    for name, value in here.state_dict().items():
        assert torch.equal(value, there.state_dict()[name]), name
    x = torch.randn(9, rep.dim)
    assert torch.equal(here(rep(x)), rep(here(x)))


@given(reps())
def test_masked_rows_leave_no_trace(rep):
    plain, masked = RunningNorm(rep), RunningNorm(rep)
    for k, batch in enumerate(batches(rep.dim)):
        mask = torch.rand(len(batch), generator=torch.Generator().manual_seed(k)) < 0.5
        plain.update(batch[mask])
        masked.update(torch.where(mask[:, None], batch, torch.nan), mask)
        masked.update(batch, torch.zeros_like(mask))
    assert torch.allclose(plain.mean, masked.mean, atol=1e-6)
    assert torch.allclose(plain.inverse_std, masked.inverse_std, rtol=1e-5)
    assert plain.count == masked.count


def test_statistics_survive_saving():
    rep = Spaces().privileged.rep
    norm, again = RunningNorm(rep), RunningNorm(rep)
    norm.update(torch.randn(40, rep.dim))
    again.load_state_dict(norm.state_dict())
    x = torch.randn(3, rep.dim)
    assert torch.equal(norm(x), again(x))
    batch = torch.randn(40, rep.dim)
    norm.update(batch)
    again.update(batch)
    assert torch.equal(norm.mean, again.mean)


def test_outliers_are_clipped_and_wrong_widths_refused():
    norm = RunningNorm(trivial(2), clip=5.0)
    assert norm(torch.tensor([100.0, -100.0])).tolist() == [5, -5]
    with pytest.raises(UserError, match="knows 2 entries, got 3"):
        norm(torch.zeros(3))
