"""Height kernels: transform boxes to the robot's level frame once, then cast each point's ray.

The level frame has its origin at the base and turns with its heading; z stays vertical.
"""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS
from swap.sensors.rays import CULL_MARGIN, BoxFrame, box_frame, cube_interval, heading, rotation

wp.set_module_options(MODULE_OPTIONS)

SEAM = wp.constant(1.0e-5)


@wp.kernel
def place(
    base_pos: wp.array[wp.vec3],
    base_quat: wp.array[wp.vec4],
    pos: wp.array2d[wp.vec3],
    quat: wp.array2d[wp.vec4],
    half: wp.array2d[wp.vec3],
    count: wp.array[wp.int32],
    first_world: int,
    frames: wp.array2d[BoxFrame],
) -> None:
    world, s = wp.tid()
    n = first_world + world
    if s >= count[n]:
        return
    turn = heading(base_quat[n])
    axes = rotation(quat[n, s])
    # Slightly larger, or a ray could pass between two boxes that touch.
    h = half[n, s] + wp.vec3(SEAM, SEAM, SEAM)
    centre = wp.transpose(turn) * (pos[n, s] - base_pos[n])
    edges = wp.transpose(turn) * axes
    spread = wp.vec3(
        wp.abs(edges[0, 0]) * h[0] + wp.abs(edges[0, 1]) * h[1] + wp.abs(edges[0, 2]) * h[2],
        wp.abs(edges[1, 0]) * h[0] + wp.abs(edges[1, 1]) * h[1] + wp.abs(edges[1, 2]) * h[2],
        wp.abs(edges[2, 0]) * h[0] + wp.abs(edges[2, 1]) * h[1] + wp.abs(edges[2, 2]) * h[2],
    )
    spread = spread + wp.vec3(CULL_MARGIN, CULL_MARGIN, CULL_MARGIN)
    lo = centre - spread
    hi = centre + spread
    f = box_frame(turn, centre, axes, h)
    f.bounds = wp.vec4(lo[0], hi[0], lo[1], hi[1])
    f.reach = hi[2]
    frames[n, s] = f


@wp.func
def height(
    n: int,
    x: float,
    y: float,
    z: float,
    clip: float,
    boxes: int,
    frames: wp.array2d[BoxFrame],
) -> float:
    """The height above z, clipped, of the highest surface at (x, y) in world n's level frame."""
    top = z - clip
    for s in range(boxes):
        b = frames[n, s].bounds
        if frames[n, s].reach > top and x >= b[0] and x <= b[1] and y >= b[2] and y <= b[3]:
            origin = frames[n, s].origin + (frames[n, s].ahead * x + frames[n, s].left * y)
            hit = cube_interval(origin, frames[n, s].up)
            if hit[0] <= hit[1]:
                top = wp.max(top, hit[1])
    value = -clip
    if top - z > value:  # also false for a foot that is not finite
        value = wp.min(top - z, clip)
    return value


@wp.kernel
def measure(
    base_pos: wp.array[wp.vec3],
    base_quat: wp.array[wp.vec4],
    foot_pos: wp.array2d[wp.vec3],
    point: wp.array[wp.vec2],
    foot: wp.array[wp.int32],
    clip: wp.array[float],
    count: wp.array[wp.int32],
    frames: wp.array2d[BoxFrame],
    first_world: int,
    threads: int,
    out: wp.array2d[float],
) -> None:
    """Thread (world, k) measures points k, k + threads, k + 2 threads, ... A GPU uses one thread
    per point; a CPU one per world, which computes only once what all points share."""
    world, first = wp.tid()
    n = first_world + world
    turn = wp.transpose(heading(base_quat[n]))
    boxes = wp.min(count[n], frames.shape[1])
    for i in range(first, out.shape[1], threads):
        centre = wp.vec3()
        if foot[i] >= 0:
            centre = turn * (foot_pos[n, foot[i]] - base_pos[n])
        x = centre[0] + point[i][0]
        y = centre[1] + point[i][1]
        out[n, i] = height(n, x, y, centre[2], clip[i], boxes, frames)
