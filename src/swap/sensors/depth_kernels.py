"""Depth kernels: transform boxes and legs to the camera's frame once, then cast each pixel's ray.

Camera frame: x along the optical axis, y left, z up. A ray is (1, y, z), so its parameter at a hit
is the z-depth. Each thread computes ROWS pixels of one column.
"""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS
from swap.sensors.rays import (
    BIG,
    BoxFrame,
    box_frame,
    capsule_interval,
    cube_interval,
    rotation,
    seen_bounds,
)

wp.set_module_options(MODULE_OPTIONS)

ROWS = 4


@wp.struct
class Mount:
    """A camera's place on the base, its resolution and its range."""

    pos: wp.vec3
    rot: wp.mat33
    near: float
    far: float
    pixel: float  # width of a pixel on the plane x = 1
    rows: int
    cols: int


@wp.struct
class LegFrame:
    """A capsule in the camera's frame, with bounds so that most rays can skip it."""

    start: wp.vec3
    axis: wp.vec3
    length: float
    bounds: wp.vec4
    reach: float


@wp.func
def camera_rotation(mount: Mount, base_rot: wp.mat33, offset_rot: wp.vec3) -> wp.mat33:
    """The camera's rotation in the world; a small rotation r is the quaternion (1, r / 2)."""
    tilt = rotation(wp.vec4(2.0, offset_rot[0], offset_rot[1], offset_rot[2]))
    return base_rot * (tilt * mount.rot)


@wp.func
def nearest(centre: wp.vec3, edges: wp.mat33, mount: Mount) -> float:
    """The smallest depth of a box with these half edges; BIG if it is out of range."""
    reach = wp.abs(edges[0, 0]) + wp.abs(edges[0, 1]) + wp.abs(edges[0, 2])
    least = centre[0] - reach
    if centre[0] + reach < mount.near or least > mount.far:
        return BIG
    return least - 1.0e-4


@wp.kernel
def place_boxes(
    mount: Mount,
    mask: wp.array[wp.bool],
    base_pos: wp.array[wp.vec3],
    base_quat: wp.array[wp.vec4],
    offset_pos: wp.array[wp.vec3],
    offset_rot: wp.array[wp.vec3],
    pos: wp.array2d[wp.vec3],
    quat: wp.array2d[wp.vec4],
    half: wp.array2d[wp.vec3],
    count: wp.array[wp.int32],
    frames: wp.array2d[BoxFrame],
) -> None:
    n, s = wp.tid()
    if s >= count[n] or not mask[n]:
        return
    base_rot = rotation(base_quat[n])
    camera_rot = camera_rotation(mount, base_rot, offset_rot[n])
    camera_pos = base_pos[n] + base_rot * (mount.pos + offset_pos[n])
    axes = rotation(quat[n, s])
    into = wp.transpose(camera_rot)
    centre = into * (pos[n, s] - camera_pos)
    edges = (into * axes) * wp.diag(half[n, s])
    f = box_frame(camera_rot, centre, axes, half[n, s])
    f.reach = nearest(centre, edges, mount)
    if f.reach < BIG:
        f.bounds = seen_bounds(centre, edges, mount.near)
    frames[n, s] = f


@wp.kernel
def place_legs(
    mount: Mount,
    mask: wp.array[wp.bool],
    base_pos: wp.array[wp.vec3],
    base_quat: wp.array[wp.vec4],
    offset_pos: wp.array[wp.vec3],
    offset_rot: wp.array[wp.vec3],
    start: wp.array2d[wp.vec3],
    end: wp.array2d[wp.vec3],
    radius: wp.array[float],
    legs: wp.array2d[LegFrame],
) -> None:
    n, k = wp.tid()
    if not mask[n]:
        return
    base_rot = rotation(base_quat[n])
    into = wp.transpose(camera_rotation(mount, base_rot, offset_rot[n]))
    camera_pos = base_pos[n] + base_rot * (mount.pos + offset_pos[n])
    a = into * (start[n, k] - camera_pos)
    b = into * (end[n, k] - camera_pos)
    f = LegFrame()
    f.start = a
    f.length = wp.length(b - a)
    if f.length > 0.0:
        f.axis = (b - a) / f.length
    r = radius[k]
    extent = wp.diag(wp.max(a, b) - wp.min(a, b) + wp.vec3(2.0 * r, 2.0 * r, 2.0 * r)) * 0.5
    centre = (a + b) * 0.5
    f.reach = nearest(centre, extent, mount)
    if f.reach < BIG:
        f.bounds = seen_bounds(centre, extent, mount.near)
    legs[n, k] = f


@wp.func
def overlaps(bounds: wp.vec4, y: float, z_lo: float, z_hi: float) -> bool:
    return y >= bounds[0] and y <= bounds[1] and z_hi >= bounds[2] and z_lo <= bounds[3]


@wp.kernel
def trace(
    mount: Mount,
    mask: wp.array[wp.bool],
    count: wp.array[wp.int32],
    frames: wp.array2d[BoxFrame],
    n_legs: int,
    legs: wp.array2d[LegFrame],
    radius: wp.array[float],
    image: wp.array3d[float],
) -> None:
    n, band, u = wp.tid()
    if not mask[n]:
        return
    near = mount.near
    # Half integers are exact, so column W - 1 - u has exactly the negated y.
    y = (0.5 * float(mount.cols - 1) - float(u)) * mount.pixel
    z = (0.5 * float(mount.rows - 1) - float(band * ROWS)) * mount.pixel
    z_low = z - float(ROWS - 1) * mount.pixel
    depth = wp.vec4(mount.far, mount.far, mount.far, mount.far)

    for s in range(wp.min(count[n], frames.shape[1])):
        if frames[n, s].reach < wp.max(depth) and overlaps(frames[n, s].bounds, y, z_low, z):
            origin = frames[n, s].origin
            up = frames[n, s].up
            column = frames[n, s].ahead + frames[n, s].left * y
            for k in range(ROWS):
                hit = cube_interval(origin, column + up * (z - float(k) * mount.pixel))
                if hit[0] <= hit[1] and hit[1] >= near:
                    depth[k] = wp.min(depth[k], wp.max(hit[0], near))

    for i in range(n_legs):
        if legs[n, i].reach < wp.max(depth) and overlaps(legs[n, i].bounds, y, z_low, z):
            f = legs[n, i]
            for k in range(ROWS):
                ray = wp.vec3(1.0, y, z - float(k) * mount.pixel)
                hit = capsule_interval(f.start, f.axis, f.length, radius[i], ray)
                if hit[0] <= hit[1] and hit[1] >= near:
                    depth[k] = wp.min(depth[k], wp.max(hit[0], near))

    for k in range(ROWS):
        v = band * ROWS + k
        if v < mount.rows:
            value = 1.0  # exactly 1 where nothing is seen
            if depth[k] < mount.far:
                value = (depth[k] - near) / (mount.far - near)
            image[n, v, u] = value
