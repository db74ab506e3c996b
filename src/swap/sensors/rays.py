"""Intersects rays with boxes and capsules: the arithmetic that all sensor kernels share.

A mirror negates the odd numbers (y of a point, x and z of a rotation) and keeps the even ones.
Every sum here adds terms of one parity only, so mirrored input gives results that are equal or
negated to the last bit: rounding does not depend on the sign, even in a fused multiply-add.
"""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS

wp.set_module_options(MODULE_OPTIONS)

BIG = wp.constant(1.0e9)
PARALLEL = wp.constant(1.0e-9)
CULL_MARGIN = wp.constant(1.0e-3)


@wp.struct
class BoxFrame:
    """A box as a unit cube in its own coordinates, with bounds so that most rays can skip it."""

    ahead: wp.vec3  # the viewer's axes and origin in the coordinates of the unit cube
    left: wp.vec3
    up: wp.vec3
    origin: wp.vec3
    bounds: wp.vec4  # lo, hi, lo, hi of the two coordinates that tell rays apart
    reach: float  # the nearest depth or the highest top that it can give


@wp.func
def rotation(q: wp.vec4) -> wp.mat33:
    """Rotation matrix of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return wp.mat33(
        1.0 - s * (y * y + z * z),
        s * (x * y - w * z),
        s * (x * z + w * y),
        s * (x * y + w * z),
        1.0 - s * (x * x + z * z),
        s * (y * z - w * x),
        s * (x * z - w * y),
        s * (y * z + w * x),
        1.0 - s * (x * x + y * y),
    )


@wp.func
def heading(q: wp.vec4) -> wp.mat33:
    """The rotation about the vertical that is nearest to q; it is defined at any pitch."""
    w, z = q[0], q[3]
    n = w * w + z * z
    c = 1.0
    s = 0.0
    if n > 1.0e-12:
        c = (w * w - z * z) / n
        s = 2.0 * w * z / n
    return wp.mat33(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


@wp.func
def box_frame(viewer_rot: wp.mat33, centre: wp.vec3, axes: wp.mat33, half: wp.vec3) -> BoxFrame:
    """`centre` is the box's centre in the viewer's frame, `axes` are its axes in the world."""
    local = wp.transpose(axes) * viewer_rot
    f = BoxFrame()
    f.ahead = wp.cw_div(wp.vec3(local[0, 0], local[1, 0], local[2, 0]), half)
    f.left = wp.cw_div(wp.vec3(local[0, 1], local[1, 1], local[2, 1]), half)
    f.up = wp.cw_div(wp.vec3(local[0, 2], local[1, 2], local[2, 2]), half)
    f.origin = wp.cw_div(-(local * centre), half)
    return f


@wp.func
def slab(origin: float, direction: float) -> wp.vec2:
    """The interval (from, to) in which the line is within |x| <= 1; empty if from > to."""
    if wp.abs(direction) < PARALLEL:
        if wp.abs(origin) <= 1.0:
            return wp.vec2(-BIG, BIG)
        return wp.vec2(BIG, -BIG)
    inverse = 1.0 / direction
    middle = -origin * inverse
    reach = wp.abs(inverse)
    return wp.vec2(middle - reach, middle + reach)


@wp.func
def cube_interval(origin: wp.vec3, direction: wp.vec3) -> wp.vec2:
    """The interval (from, to) in which the line is in the unit cube; empty if from > to."""
    x = slab(origin[0], direction[0])
    y = slab(origin[1], direction[1])
    z = slab(origin[2], direction[2])
    return wp.vec2(wp.max(x[0], wp.max(y[0], z[0])), wp.min(x[1], wp.min(y[1], z[1])))


@wp.func
def sphere_interval(centre: wp.vec3, radius: float, direction: wp.vec3) -> wp.vec2:
    a = wp.dot(direction, direction)
    b = wp.dot(direction, centre)
    off = centre - direction * (b / a)
    rest = radius * radius - wp.dot(off, off)
    if rest < 0.0:
        return wp.vec2(BIG, -BIG)
    reach = wp.sqrt(rest / a)
    return wp.vec2(b / a - reach, b / a + reach)


@wp.func
def capsule_interval(
    start: wp.vec3, axis: wp.vec3, length: float, radius: float, direction: wp.vec3
) -> wp.vec2:
    """The interval (from, to) in which a line from the viewer is in a capsule; empty if from > to.

    A capsule is convex, so the interval is the hull of those of its cylinder and its two balls.
    """
    first = sphere_interval(start, radius, direction)
    last = sphere_interval(start + axis * length, radius, direction)
    enter = wp.min(first[0], last[0])
    leave = wp.max(first[1], last[1])
    along = wp.dot(direction, axis)
    across = direction - axis * along
    a = wp.dot(across, across)
    offset = start - axis * wp.dot(start, axis)
    if a > PARALLEL:
        b = wp.dot(across, offset) / a
        off = offset - across * b
        rest = radius * radius - wp.dot(off, off)
        if rest >= 0.0:
            reach = wp.sqrt(rest / a)
            tube_in = b - reach
            tube_out = b + reach
            below = wp.dot(start, axis)
            if wp.abs(along) > PARALLEL:
                one = below / along
                two = (below + length) / along
                tube_in = wp.max(tube_in, wp.min(one, two))
                tube_out = wp.min(tube_out, wp.max(one, two))
            elif below > 0.0 or below + length < 0.0:
                tube_out = tube_in - 1.0
            if tube_in <= tube_out:
                enter = wp.min(enter, tube_in)
                leave = wp.max(leave, tube_out)
    return wp.vec2(enter, leave)


@wp.func
def seen_bounds(centre: wp.vec3, edges: wp.mat33, near: float) -> wp.vec4:
    """Bounds (y lo, y hi, z lo, z hi) on the plane x = 1 of a box beyond x = near.

    The columns of `edges` are the half edges. Each of the 12 edges is cut at the near plane.
    """
    lo_y = float(BIG)
    hi_y = -float(BIG)
    lo_z = float(BIG)
    hi_z = -float(BIG)
    for a in range(3):
        for k in range(4):
            b = (a + 1) % 3
            c = (a + 2) % 3
            sign_b = float(2 * (k % 2) - 1)
            sign_c = float(2 * (k // 2) - 1)
            middle = centre + edges[:, b] * sign_b + edges[:, c] * sign_c
            p = middle - edges[:, a]
            q = middle + edges[:, a]
            if p[0] >= near or q[0] >= near:
                full = q - p
                if p[0] < near:
                    p = p + full * ((near - p[0]) / full[0])
                elif q[0] < near:
                    q = q + full * ((near - q[0]) / full[0])
                x_p = wp.max(p[0], near)
                x_q = wp.max(q[0], near)
                lo_y = wp.min(lo_y, wp.min(p[1] / x_p, q[1] / x_q))
                hi_y = wp.max(hi_y, wp.max(p[1] / x_p, q[1] / x_q))
                lo_z = wp.min(lo_z, wp.min(p[2] / x_p, q[2] / x_q))
                hi_z = wp.max(hi_z, wp.max(p[2] / x_p, q[2] / x_q))
    # With a margin larger than rounding errors: skipping a box must never change a pixel.
    return wp.vec4(lo_y - CULL_MARGIN, hi_y + CULL_MARGIN, lo_z - CULL_MARGIN, hi_z + CULL_MARGIN)
