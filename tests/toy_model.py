"""A small world model, batches for it, and their mirror images."""

import torch

from swap.env import Spaces
from swap.env_spec import CameraSpec, EnvSpec
from swap.world_model import Latent, Sequences, WorldModel, WorldModelCfg

SPACES = Spaces()
LAYOUTS = (
    SPACES.proprioception,
    SPACES.action,
    SPACES.layout("body_heights"),
    SPACES.layout("foot_heights"),
)
PROP, ACTION, BODY, FOOT = (layout.rep for layout in LAYOUTS)
IMAGE, K = (16, 16), 3
"""The camera of the small model, and the number of steps between two images."""
SMALL = {
    "deter": 48,
    "variables": 6,
    "classes": 5,
    "hidden": 40,
    "channels": (8, 12),
    "prop_hidden": 24,
    "decoder_hidden": 32,
}


def spec(image=IMAGE, k=K):
    camera = CameraSpec(*image, near_m=0.15, far_m=5.0, every=k)
    return EnvSpec(SPACES.groups, SPACES.action, action_clip=6.0, camera=camera)


def build(seed=0, full=False, **more):
    """`full`: at the robot's sizes."""
    sizes = {"image": (64, 64), "k": 5} if full else {"image": IMAGE, "k": K, **SMALL}
    sizes |= more
    seen = spec(sizes.pop("image"), sizes.pop("k"))
    torch.manual_seed(seed)
    return WorldModel(WorldModelCfg(**sizes), seen)


def sequences(model, n=3, ticks=6, seed=1, whole=False):
    """A batch of noise with ends and holes in it (`whole`: without), and noise for z."""
    g, B, T = torch.Generator().manual_seed(seed), n, ticks
    z = model.categoricals

    def image():
        return torch.randint(0, 256, (B, T, *model.image), generator=g, dtype=torch.uint8)

    def normal(*shape):
        return torch.randn(*shape, generator=g)

    first = torch.rand(B, T, generator=g) < 0.2
    valid = torch.rand(B, T, generator=g) < 0.8
    if whole:
        first, valid = torch.zeros_like(first), torch.ones_like(valid)
    batch = Sequences(
        depth_noisy=image(),
        depth_clean=image(),
        prop=normal(B, T, 33),
        actions=normal(B, T, model.k, 12),
        body=normal(B, T, 286),
        foot=normal(B, T, 100),
        first=first,
        valid=valid,
        context=latent(model, B, g),
    )
    return batch, z.noise(B, T, like=batch.prop, generator=g)


def latent(model, n, g=None):
    """A latent that has seen something."""
    z = model.categoricals
    logits, noise = (z.noise(n, like=torch.empty(0), generator=g) for _ in range(2))
    return Latent(torch.randn(n, model.cfg.deter, generator=g).tanh(), z.sample(logits, noise))


def observe(state, depth, prop, fresh, noise):
    """Show it to a LatentState."""
    return state.observe(fresh, lambda: (depth, prop, noise))


def mirrored(model, batch):
    return batch._replace(
        depth_noisy=batch.depth_noisy.flip(-1),
        depth_clean=batch.depth_clean.flip(-1),
        prop=PROP(batch.prop),
        actions=ACTION(batch.actions),
        body=BODY(batch.body),
        foot=FOOT(batch.foot),
        context=model.mirrored(batch.context),
    )


def gradients(model, batch, noise):
    """The loss, and its gradients by the name of the parameter."""
    loss, _ = model.loss(batch, noise)
    names, parameters = zip(*model.named_parameters(), strict=True)
    return loss.detach(), dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))
