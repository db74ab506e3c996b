"""Trace kernels: they move shapes into the frames of camera and sun once, then rays find them.

Camera frame: x along the optical axis, y left, z up, so a ray is (1, y, z). Sun frame: x towards
the sun. In both, a rectangle in (y, z) bounds each shape, and a ray tests only the shapes whose
rectangle it meets.
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

CAMERA, SUN = wp.constant(0), wp.constant(1)
NEAR_M = wp.constant(0.05)
NOTHING = wp.constant(-1)


@wp.struct
class CapsuleFrame:
    """A capsule as one viewer sees it, with bounds that skip it early."""

    start: wp.vec3
    axis: wp.vec3
    length: float
    radius: float
    bounds: wp.vec4
    reach: float


@wp.struct
class ShadingInputs:
    """All that a pixel's colour depends on."""

    eye: wp.vec3
    rot: wp.mat33  # columns: the camera's ahead, left, up
    sun: wp.mat33  # columns: towards the sun, and two across
    pixel: float  # width of a pixel on the plane x = 1
    rows: int
    cols: int
    boxes: wp.array2d[BoxFrame]  # [camera or sun, box]
    half: wp.array[wp.vec3]
    capsules: wp.array2d[CapsuleFrame]  # [camera or sun, capsule]
    skin: wp.array[wp.vec3]
    middle: wp.vec3  # a ball around the robot, camera frame
    size: float
    trunk: int  # capsules of the trunk, the first ones
    belly_skin: wp.vec3
    belly: wp.vec3  # below the plane through `middle` across this the trunk is painted darker
    lens: wp.vec3  # the depth camera's window is painted here, camera frame
    lens_size: float
    tint_z: wp.array[float]
    tint: wp.array[wp.vec3]
    sky_low: wp.vec3
    sky_top: wp.vec3
    sunlight: wp.vec3
    skylight: wp.vec3
    haze_m: float  # things beyond this distance fade into the sky


@wp.struct
class Hit:
    depth: float
    shape: int  # boxes, then capsules, NOTHING
    normal: wp.vec3  # camera frame


@wp.func
def viewer(stage: ShadingInputs, who: int) -> wp.mat33:
    if who == CAMERA:
        return stage.rot
    return stage.sun


@wp.func
def across(centre: wp.vec3, extent: wp.vec3) -> wp.vec4:
    return wp.vec4(
        centre[1] - extent[1], centre[1] + extent[1], centre[2] - extent[2], centre[2] + extent[2]
    )


@wp.kernel
def place_boxes(stage: ShadingInputs, pos: wp.array[wp.vec3], quat: wp.array[wp.vec4]) -> None:
    who, s = wp.tid()
    rot = viewer(stage, who)
    into = wp.transpose(rot)
    axes = rotation(quat[s])
    centre = into * (pos[s] - stage.eye)
    edges = (into * axes) * wp.diag(stage.half[s])
    extent = wp.abs(edges[:, 0]) + wp.abs(edges[:, 1]) + wp.abs(edges[:, 2])
    f = box_frame(rot, centre, axes, stage.half[s])
    if who == SUN:
        f.bounds = across(centre, extent)
        f.reach = centre[0] + extent[0]
    elif centre[0] + extent[0] < NEAR_M:
        f.reach = BIG
    else:
        f.bounds = seen_bounds(centre, edges, NEAR_M)
        f.reach = centre[0] - extent[0]
    stage.boxes[who, s] = f


@wp.kernel
def place_capsules(
    stage: ShadingInputs, start: wp.array[wp.vec3], end: wp.array[wp.vec3], radius: wp.array[float]
) -> None:
    who, k = wp.tid()
    into = wp.transpose(viewer(stage, who))
    a = into * (start[k] - stage.eye)
    b = into * (end[k] - stage.eye)
    f = CapsuleFrame()
    f.start = a
    f.length = wp.length(b - a)
    f.radius = radius[k]
    if f.length > 0.0:
        f.axis = (b - a) / f.length
    centre = (a + b) * 0.5
    extent = wp.abs(b - a) * 0.5 + wp.vec3(f.radius, f.radius, f.radius)
    if who == SUN:
        f.bounds = across(centre, extent)
        f.reach = centre[0] + extent[0]
    elif centre[0] + extent[0] < NEAR_M:
        f.reach = BIG
    else:
        f.bounds = seen_bounds(centre, wp.diag(extent), NEAR_M)
        f.reach = centre[0] - extent[0]
    stage.capsules[who, k] = f


@wp.func
def within(bounds: wp.vec4, y: float, z: float) -> bool:
    return y >= bounds[0] and y <= bounds[1] and z >= bounds[2] and z <= bounds[3]


@wp.func
def first_hit(stage: ShadingInputs, y: float, z: float) -> Hit:
    ray = wp.vec3(1.0, y, z)
    best = Hit()
    best.depth = BIG
    best.shape = NOTHING
    n = stage.boxes.shape[1]
    for s in range(n):
        if stage.boxes[CAMERA, s].reach < best.depth and within(
            stage.boxes[CAMERA, s].bounds, y, z
        ):
            box = stage.boxes[CAMERA, s]
            t = cube_interval(box.origin, box.ahead + box.left * y + box.up * z)
            if t[0] <= t[1] and t[0] > NEAR_M and t[0] < best.depth:
                best.depth = t[0]
                best.shape = s
    for k in range(stage.capsules.shape[1]):
        if stage.capsules[CAMERA, k].reach < best.depth and within(
            stage.capsules[CAMERA, k].bounds, y, z
        ):
            limb = stage.capsules[CAMERA, k]
            t = capsule_interval(limb.start, limb.axis, limb.length, limb.radius, ray)
            if t[0] <= t[1] and t[0] > NEAR_M and t[0] < best.depth:
                best.depth = t[0]
                best.shape = n + k
    if best.shape >= n:
        limb = stage.capsules[CAMERA, best.shape - n]
        along = wp.clamp(wp.dot(ray * best.depth - limb.start, limb.axis), 0.0, limb.length)
        best.normal = wp.normalize(ray * best.depth - limb.start - limb.axis * along)
    elif best.shape >= 0:
        box = stage.boxes[CAMERA, best.shape]
        local = box.origin + (box.ahead + box.left * y + box.up * z) * best.depth
        a = int(wp.argmax(wp.abs(local)))
        # The box's axis in the camera frame, unit length once the scaling is undone.
        side = wp.sign(local[a]) * stage.half[best.shape][a]
        best.normal = wp.vec3(box.ahead[a], box.left[a], box.up[a]) * side
    return best


@wp.func
def in_shadow(stage: ShadingInputs, p: wp.vec3) -> bool:
    """Whether anything stands between a point of the sun frame and the sun."""
    ray = wp.vec3(1.0, 0.0, 0.0)
    for s in range(stage.boxes.shape[1]):
        if stage.boxes[SUN, s].reach > p[0] and within(stage.boxes[SUN, s].bounds, p[1], p[2]):
            box = stage.boxes[SUN, s]
            t = cube_interval(
                box.origin + box.ahead * p[0] + box.left * p[1] + box.up * p[2], box.ahead
            )
            if t[0] <= t[1] and t[1] > 0.0:
                return True
    for k in range(stage.capsules.shape[1]):
        if stage.capsules[SUN, k].reach > p[0] and within(
            stage.capsules[SUN, k].bounds, p[1], p[2]
        ):
            limb = stage.capsules[SUN, k]
            t = capsule_interval(limb.start - p, limb.axis, limb.length, limb.radius, ray)
            if t[0] <= t[1] and t[1] > 0.0:
                return True
    return False


@wp.func
def openness(stage: ShadingInputs, p: wp.vec3, reach: float) -> float:
    """Distance to the nearest shape relative to `reach`: 1 in the open, 0 in a corner."""
    nearest = reach
    for s in range(stage.boxes.shape[1]):
        box = stage.boxes[CAMERA, s]
        local = wp.abs(box.origin + box.ahead * p[0] + box.left * p[1] + box.up * p[2])
        off = wp.cw_mul(local - wp.vec3(1.0, 1.0, 1.0), stage.half[s])
        if wp.max(off) < nearest:
            nearest = wp.min(nearest, wp.length(wp.max(off, wp.vec3(0.0, 0.0, 0.0))))
    if wp.length(p - stage.middle) < stage.size + reach:
        for k in range(stage.capsules.shape[1]):
            limb = stage.capsules[CAMERA, k]
            off = p - limb.start
            off = off - limb.axis * wp.clamp(wp.dot(off, limb.axis), 0.0, limb.length)
            nearest = wp.min(nearest, wp.max(wp.length(off) - limb.radius, 0.0))
    return nearest / reach
