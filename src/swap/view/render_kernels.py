"""Render kernels: they turn what a ray hits into a colour, and colours into a smooth picture.

Colours are linear light until the last step.
"""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS
from swap.view.trace_kernels import NOTHING, Hit, ShadingInputs, first_hit, in_shadow, openness

wp.set_module_options(MODULE_OPTIONS)

LIFT_M = wp.constant(2.0e-3)  # shadow rays start this far off the surface
SMALL_M, WIDE_M = wp.constant(0.07), wp.constant(0.25)  # distances for shade in corners
LINE_M = wp.constant(0.014)
VISIBLE = wp.constant(0.04)  # neighbours that differ by more get further rays


@wp.func
def line(coordinate: float, every: float, footprint: float) -> float:
    """The fraction of a pixel of this footprint that the nearest grid line covers."""
    off = wp.abs(coordinate / every - wp.round(coordinate / every)) * every
    cover = wp.clamp((0.5 * (LINE_M + footprint) - off) / footprint, 0.0, 1.0)
    return cover * wp.min(LINE_M / footprint, 1.0)


@wp.func
def ground_colour(stage: ShadingInputs, p: wp.vec3, up: float, footprint: float) -> wp.vec3:
    """The colour by height, with lines a metre apart, and fainter ones between, on surfaces that
    can be walked on."""
    last = stage.tint_z.shape[0] - 1
    colour = stage.tint[last]
    for i in range(last):
        low = stage.tint_z[last - 1 - i]
        high = stage.tint_z[last - i]
        if p[2] < high:
            share = wp.clamp((p[2] - low) / (high - low), 0.0, 1.0)
            colour = stage.tint[last - 1 - i] * (1.0 - share) + stage.tint[last - i] * share
    if up > 0.3:
        metre = wp.max(line(p[0], 1.0, footprint), line(p[1], 1.0, footprint))
        half = wp.max(line(p[0], 0.5, footprint), line(p[1], 0.5, footprint))
        colour = colour * (1.0 - 0.28 * metre - 0.10 * half)
    return colour


@wp.func
def sky(stage: ShadingInputs, ray_w: wp.vec3) -> wp.vec3:
    share = wp.clamp(ray_w[2] * 2.5 + 0.3, 0.0, 1.0)
    return stage.sky_low * (1.0 - share) + stage.sky_top * share


@wp.func
def shade(stage: ShadingInputs, hit: Hit, y: float, z: float) -> wp.vec3:
    ray = wp.vec3(1.0, y, z)
    ray_w = stage.rot * wp.normalize(ray)
    haze = sky(stage, ray_w)
    if hit.shape == NOTHING:
        return haze
    p = ray * hit.depth
    p_w = stage.eye + stage.rot * p
    normal_w = stage.rot * hit.normal
    n = stage.boxes.shape[1]
    robot = hit.shape >= n
    gloss = 0.0
    if robot:
        colour = stage.skin[hit.shape - n]
        gloss = 0.35
        if hit.shape < n + stage.trunk and wp.dot(p - stage.middle, stage.belly) > 0.012:
            colour = stage.belly_skin
        if wp.length(p - stage.lens) < stage.lens_size:
            colour = wp.vec3(0.01, 0.03, 0.06)
            gloss = 1.0
    else:
        slant = wp.max(-wp.dot(ray_w, normal_w), 0.05)
        colour = ground_colour(stage, p_w, normal_w[2], stage.pixel * hit.depth / slant)

    to_sun = wp.vec3(stage.sun[0, 0], stage.sun[1, 0], stage.sun[2, 0])
    facing = wp.max(wp.dot(normal_w, to_sun), 0.0)
    light = wp.vec3(0.0, 0.0, 0.0)
    shine = 0.0
    if facing > 0.0:
        start = wp.transpose(stage.sun) * (stage.rot * (p + hit.normal * LIFT_M))
        if not in_shadow(stage, start):
            light = stage.sunlight * facing
            toward = wp.normalize(to_sun - ray_w)
            shine = gloss * wp.pow(wp.max(wp.dot(toward, normal_w), 0.0), 50.0)
    wide = openness(stage, p + hit.normal * WIDE_M, WIDE_M)
    small = 1.0
    if wide < 0.999:  # the small ball lies within the wide one
        small = openness(stage, p + hit.normal * SMALL_M, SMALL_M)
    open_sky = (0.6 + 0.4 * small) * (0.4 + 0.6 * wide)
    light += stage.skylight * ((0.72 + 0.28 * normal_w[2]) * open_sky)
    out = wp.cw_mul(colour, light) + stage.sunlight * shine
    away = 1.0 - wp.exp(-wp.max(hit.depth - stage.haze_m, 0.0) / 40.0)
    return out * (1.0 - away) + haze * away


@wp.func
def displayed(light: wp.vec3) -> wp.vec3:
    """Turns linear light into display values, with gamma 2."""
    return wp.vec3(
        wp.sqrt(wp.clamp(light[0], 0.0, 1.0)),
        wp.sqrt(wp.clamp(light[1], 0.0, 1.0)),
        wp.sqrt(wp.clamp(light[2], 0.0, 1.0)),
    )


@wp.kernel
def draw(
    stage: ShadingInputs,
    image: wp.array2d[wp.vec3],
    depth: wp.array2d[float],
    shape: wp.array2d[int],
) -> None:
    """Casts one ray through the middle of each pixel."""
    v, u = wp.tid()
    y = (0.5 * float(stage.cols - 1) - float(u)) * stage.pixel
    z = (0.5 * float(stage.rows - 1) - float(v)) * stage.pixel
    hit = first_hit(stage, y, z)
    depth[v, u] = hit.depth
    shape[v, u] = hit.shape
    image[v, u] = displayed(shade(stage, hit, y, z))


@wp.func
def contrast(a: wp.vec3, b: wp.vec3) -> float:
    return wp.max(wp.abs(a - b))


@wp.kernel
def smooth(stage: ShadingInputs, image: wp.array2d[wp.vec3], out: wp.array3d[wp.uint8]) -> None:
    """Casts four rays where a pixel differs visibly from a neighbour; writes all pixels as
    bytes."""
    v, u = wp.tid()
    colour = image[v, u]
    jump = contrast(colour, image[wp.max(v - 1, 0), u])
    jump = wp.max(jump, contrast(colour, image[wp.min(v + 1, stage.rows - 1), u]))
    jump = wp.max(jump, contrast(colour, image[v, wp.max(u - 1, 0)]))
    jump = wp.max(jump, contrast(colour, image[v, wp.min(u + 1, stage.cols - 1)]))
    if jump > VISIBLE:
        light = wp.vec3(0.0, 0.0, 0.0)
        for k in range(4):
            du = 0.25 - 0.5 * float(k % 2)
            dv = 0.25 - 0.5 * float(k // 2)
            y = (0.5 * float(stage.cols - 1) - float(u) + du) * stage.pixel
            z = (0.5 * float(stage.rows - 1) - float(v) + dv) * stage.pixel
            light += shade(stage, first_hit(stage, y, z), y, z) * 0.25
        colour = displayed(light)
    for c in range(3):
        out[v, u, c] = wp.uint8(colour[c] * 255.0 + 0.5)
