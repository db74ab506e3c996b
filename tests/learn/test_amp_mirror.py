"""The discriminator in the mirror: the same losses, gradients and parameters, to the last bit."""

from dataclasses import replace

import pytest
import torch

from toy_amp import CFG, FRAME, chance, live, made, some


@pytest.mark.parametrize("act", ["relu", "elu", "tanh"])
@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True)])
def test_mirrored_samples_give_the_same_loss_and_gradients_to_the_last_bit(act, sides):
    amp, _ = made(replace(CFG, act=act, hidden=(256, 128)))
    live(amp, 0)
    amp.update(chance())
    batches = [some(401, 5).flatten(1), some(401, 6, 0.3).flatten(1)]
    mirrored = [(FRAME * 2)(x) if flip else x for x, flip in zip(batches, sides, strict=True)]

    def grown(samples):
        losses = amp.losses(*(amp.net.coordinates(x) for x in samples))
        return losses, torch.autograd.grad(losses["loss"], amp.parameters)

    (here, ours), (there, theirs) = grown(batches), grown(mirrored)
    assert here["penalty"] > 0
    for name in here:
        assert torch.equal(here[name], there[name]), name
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)
        assert not a.numel() or a.abs().max() > 0


def test_a_run_in_the_mirror_ends_in_the_same_parameters():
    here, there = made()[0], made(expert=FRAME(some(300, 1)))[0]
    for k in range(4):
        live(here, k)
        live(there, k, mirrored=True)
        here.update(chance(k))
        there.update(chance(k))
    others = there.state_dict()
    for name, a in here.state_dict().items():
        b = others[name]
        if name == "ring/rows":
            assert torch.equal(a, (FRAME * 2)(b))
        else:
            assert torch.equal(a, b), name


def test_the_plain_twin_does_not():
    plain = replace(CFG, equivariant=False)
    here, there = made(plain)[0], made(plain, expert=FRAME(some(300, 1)))[0]
    for amp, mirrored in ((here, False), (there, True)):
        live(amp, 0, mirrored=mirrored)
        amp.update(chance())
    assert any(
        not torch.equal(a, b) for a, b in zip(here.parameters, there.parameters, strict=True)
    )
