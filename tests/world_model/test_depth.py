"""Depth in metres is coded as bytes and decoded: how much is lost, and the same under the
mirror."""

import torch

from swap.world_model import DepthCodec

CODE = DepthCodec(near_m=0.15, far_m=5.0, bend=0.25)


def test_every_byte_survives():
    every = torch.arange(256, dtype=torch.uint8)
    x = CODE.from_bytes(every)
    assert torch.equal(CODE.to_bytes(x), every)
    assert (x[0], x[-1]) == (-0.5, 0.5)
    assert torch.equal(CODE.to_bytes(CODE.from_metres(CODE.to_metres(x))), every)


def test_metres_survive():
    z = torch.linspace(0.15, 5, 400, dtype=torch.float64)
    x = CODE.from_metres(z)
    assert torch.allclose(CODE.to_metres(x), z)
    assert torch.allclose(CODE.from_linear((z - 0.15) / 4.85), x)
    assert (x.diff() > 0).all()
    ends = CODE.from_metres(torch.tensor([0.0, 0.15, 5.0, 9.0]))
    assert ends.tolist() == [-0.5, -0.5, 0.5, 0.5]


def test_a_step_of_the_byte_is_below_the_cameras_own_error():
    bounds = CODE.to_metres(CODE.from_bytes(torch.arange(256, dtype=torch.uint8)))
    step, z = bounds.diff(), (bounds[1:] + bounds[:-1]) / 2
    sigma = 0.01 + 0.004 * z**2
    assert (step < sigma).all()
    share = (step / sigma)[z > 1]
    assert share.min() > 0.75  # and hardly finer than necessary
    assert step[0] < 0.004
    linear = 4.85 / 255
    assert linear > sigma[z < 1.4].max()  # which a linear byte is not


def test_a_mirrored_image_has_the_mirrored_code():
    image = torch.rand(3, 17, 23) * 6
    for f in (CODE.from_metres, CODE.from_linear, CODE.to_metres, CODE.to_bytes):
        assert torch.equal(f(image.flip(-1)), f(image).flip(-1))
