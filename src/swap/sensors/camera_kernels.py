"""Camera kernels: store past poses, look them up, and draw what lasts for an episode."""

# mypy: ignore-errors
# (kernels are Warp's language, which Warp checks as it compiles them)

import warp as wp

from swap.device.warp_launch import MODULE_OPTIONS
from swap.sensors.noise_kernels import next_draw

wp.set_module_options(MODULE_OPTIONS)


@wp.kernel
def remember(
    refill: bool,
    mask: wp.array[wp.bool],
    now: wp.array3d[float],
    memory: wp.array4d[float],
) -> None:
    """Shift the memory [N, T, P, C] by one step, newest first; or fill it where masked."""
    n, p, c = wp.tid()
    if not mask[n]:
        return
    for i in range(memory.shape[1] - 1, 0, -1):
        if refill:
            memory[n, i, p, c] = now[n, p, c]
        else:
            memory[n, i, p, c] = memory[n, i - 1, p, c]
    memory[n, 0, p, c] = now[n, p, c]


@wp.kernel
def recall(
    mask: wp.array[wp.bool],
    fresh: wp.array[wp.bool],
    age: wp.array[float],
    memory: wp.array4d[float],
    then: wp.array3d[float],
) -> None:
    """Look up the pose `age` steps ago, linear between two steps; the present one if fresh."""
    n, p = wp.tid()
    if not mask[n]:
        return
    first = 0
    part = 0.0
    if not fresh[n]:
        first = wp.min(int(age[n]), memory.shape[1] - 1)
        part = age[n] - float(first)
    second = wp.min(first + 1, memory.shape[1] - 1)
    # A quaternion and its negative are the same rotation: take the nearer one.
    same = 0.0
    if then.shape[2] == 4:
        for c in range(4):
            same = same + memory[n, first, p, c] * memory[n, second, p, c]
    for c in range(then.shape[2]):
        a = memory[n, first, p, c]
        b = memory[n, second, p, c]
        if same < 0.0:
            b = -b
        then[n, p, c] = a + part * (b - a)


@wp.kernel
def draw_camera(
    seed: int,
    key: wp.array[wp.int32],
    count: wp.array[wp.int32],
    mirrored: wp.array[wp.bool],
    mask: wp.array[wp.bool],
    age_low: float,
    age_high: float,
    jitter_m: float,
    jitter_rad: float,
    holes_low: float,
    holes_high: float,
    fresh: wp.array[wp.bool],
    age: wp.array[float],
    offset_pos: wp.array[wp.vec3],
    offset_rot: wp.array[wp.vec3],
    pixel_holes: wp.array[float],
) -> None:
    """Draw a world's latency, mounting error and darkness for one episode."""
    n = wp.tid()
    if not mask[n]:
        return
    state = wp.rand_init(next_draw(seed, key[n], count[n]), -2)
    count[n] = count[n] + 1
    fresh[n] = True
    age[n] = age_low + (age_high - age_low) * wp.randf(state)
    side = 1.0
    if mirrored[n]:
        side = -1.0
    x = wp.randf(state, -jitter_m, jitter_m)
    y = wp.randf(state, -jitter_m, jitter_m)
    z = wp.randf(state, -jitter_m, jitter_m)
    offset_pos[n] = wp.vec3(x, side * y, z)
    roll = wp.randf(state, -jitter_rad, jitter_rad)
    pitch = wp.randf(state, -jitter_rad, jitter_rad)
    yaw = wp.randf(state, -jitter_rad, jitter_rad)
    offset_rot[n] = wp.vec3(side * roll, pitch, side * yaw)
    pixel_holes[n] = holes_low + (holes_high - holes_low) * wp.randf(state)
