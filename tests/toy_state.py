"""A small state of every kind of tensor, to save and to compare."""

import torch


def state(i: int) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(i)
    return {
        "weight": torch.randn(5, 7, generator=g),
        "half": torch.randn(3, generator=g).bfloat16(),
        "count": torch.tensor(i),
        "mask": torch.rand(9, generator=g) > 0.5,
        "bytes": torch.randint(0, 256, (11,), dtype=torch.uint8, generator=g),
        "none": torch.empty(0, 4),
    }


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in a
    )


class Killed(BaseException):
    pass
