"""Holds small functions that several Triton kernels share."""

from swap.device.triton_launch import jit, tl


@jit
def sigmoid(x):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + tl.exp(-x))


@jit
def tanh(x):  # type: ignore[no-untyped-def]
    return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))


@jit
def silu(x):  # type: ignore[no-untyped-def]
    return x / (1.0 + tl.exp(-x))


@jit
def silu_slope(x):  # type: ignore[no-untyped-def]
    """The derivative of `silu`."""
    s = sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


@jit
def load_parities(at, part, inside, both: tl.constexpr):  # type: ignore[no-untyped-def]
    """Load even and odd entries, which are `part` apart; without `both` the odd ones are zero."""
    even = tl.load(at, mask=inside, other=0.0).to(tl.float32)
    odd = tl.zeros_like(even)
    if both:
        odd = tl.load(at + part, mask=inside, other=0.0).to(tl.float32)
    return even, odd


# --- categorical latents --------------------------------------------------------------------------
# Tiles are [views, variables, classes], so that a reduction along the classes has one order for
# both views. In two tiles the compiler might choose two orders.
@jit
def latent_tile(  # type: ignore[no-untyped-def]
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    """The view, the class, and the entry within the view of each place in a tile of logits, and
    which places are not padding."""
    view = tl.arange(0, views)[:, None, None]
    variable = tl.arange(0, rows)[None, :, None]
    kind = tl.arange(0, columns)[None, None, :]
    known = (variable < variables) & (kind < classes) & (view < views)
    return view, kind, variable * classes + kind, known


@jit
def softmax(x, known):  # type: ignore[no-untyped-def]
    """Softmax along the classes; padding gets probability zero."""
    top = tl.max(tl.where(known, x, float("-inf")), 2)
    top = tl.where(top == float("-inf"), 0.0, top)[:, :, None]  # padded variables
    e = tl.where(known, tl.exp(x - top), 0.0)
    total = tl.sum(e, 2)
    return e / tl.where(total > 0, total, 1.0)[:, :, None]
