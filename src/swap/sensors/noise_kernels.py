"""Noise kernels: draw what all pixels of a frame share, then add noise to each pixel."""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS

wp.set_module_options(MODULE_OPTIONS)

BLOBS = 3


@wp.func
def next_draw(seed: int, key: int, count: int) -> int:
    """The seed of one draw of one world."""
    world = wp.int32(wp.rand_init(seed, key))
    return wp.int32(wp.rand_init(world, count))


@wp.kernel
def draw_frame(
    seed: int,
    key: wp.array[wp.int32],
    count: wp.array[wp.int32],
    mask: wp.array[wp.bool],
    fresh: wp.array[wp.bool],
    dropped: float,
    blob_holes: float,
    rows: int,
    cols: int,
    frame: wp.array[wp.int32],
    lost: wp.array[wp.bool],
    blobs: wp.array2d[wp.vec3],
) -> None:
    """Draw what a frame's pixels share: its seed, whether it is lost, and its blobs (row, col,
    radius^2)."""
    n = wp.tid()
    if not mask[n]:
        return
    frame[n] = next_draw(seed, key[n], count[n])
    count[n] = count[n] + 1
    state = wp.rand_init(frame[n], -1)
    lost[n] = wp.randf(state) < dropped and not fresh[n]  # a fresh world has no previous frame
    fresh[n] = False
    share = wp.randf(state) * blob_holes / float(BLOBS)
    for k in range(BLOBS):
        row = wp.randf(state) * float(rows)
        col = wp.randf(state) * float(cols)
        blobs[n, k] = wp.vec3(row, col, share * float(rows * cols) / wp.pi)


@wp.func
def inverse_depth(
    clean: wp.array3d[float], n: int, v: int, u: int, near: float, far: float
) -> float:
    return 1.0 / (near + clean[n, v, u] * (far - near))


@wp.kernel
def spoil(
    mask: wp.array[wp.bool],
    mirrored: wp.array[wp.bool],
    frame: wp.array[wp.int32],
    lost: wp.array[wp.bool],
    blobs: wp.array2d[wp.vec3],
    pixel_holes: wp.array[float],
    near: float,
    far: float,
    sigma: float,
    sigma_square: float,
    edge_holes: float,
    edge_jump: float,
    clean: wp.array3d[float],
    noisy: wp.array3d[float],
) -> None:
    n, v, u = wp.tid()
    if not mask[n] or lost[n]:
        return
    rows = clean.shape[1]
    cols = clean.shape[2]
    value = clean[n, v, u]
    if value >= 1.0:
        noisy[n, v, u] = 1.0
        return
    # The column that selects the random numbers.
    c = u
    if mirrored[n]:
        c = cols - 1 - u
    state = wp.rand_init(frame[n], v * cols + c)

    z = near + value * (far - near)
    z = z + (sigma + sigma_square * z * z) * wp.randn(state)
    value = wp.clamp((z - near) / (far - near), 0.0, 1.0)

    # On a plane the inverse depth is linear in the pixel: its second difference shows edges only.
    # Pixels at the border of the image have it along the border at most.
    here = inverse_depth(clean, n, v, u, near, far)
    left = inverse_depth(clean, n, v, wp.max(u - 1, 0), near, far)
    right = inverse_depth(clean, n, v, wp.min(u + 1, cols - 1), near, far)
    above = inverse_depth(clean, n, wp.max(v - 1, 0), u, near, far)
    below = inverse_depth(clean, n, wp.min(v + 1, rows - 1), u, near, far)
    across = wp.where(u > 0 and u < cols - 1, wp.abs((left + right) - 2.0 * here), 0.0)
    along = wp.where(v > 0 and v < rows - 1, wp.abs((above + below) - 2.0 * here), 0.0)
    bend = wp.max(across, along)
    if bend > edge_jump and wp.randf(state) < edge_holes:
        value = 1.0

    for k in range(BLOBS):
        down = float(v) + 0.5 - blobs[n, k][0]
        across = float(c) + 0.5 - blobs[n, k][1]
        if down * down + across * across < blobs[n, k][2]:
            value = 1.0
    if pixel_holes[n] > 0.0 and wp.randf(state) < pixel_holes[n]:
        value = 1.0
    noisy[n, v, u] = value
