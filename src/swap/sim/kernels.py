"""The Warp kernels of the GPU engine, which run before and after MuJoCo's own step.

Quaternions are stored (w, x, y, z), as MuJoCo stores them; `wp.quat` is only their container here.
"""

import warp as wp

from swap.sim.motor import motor_torque_wp

vec3 = wp.vec3
array2 = wp.array2d[float]

HUGE = wp.constant(1.0e30)


@wp.func
def rotation(q: wp.quat) -> wp.mat33:
    """The matrix of (w, x, y, z). Mirrored quaternions give exactly mirrored matrices."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return wp.mat33(
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@wp.kernel
def assign_boxes(
    mask: wp.array[wp.bool],
    choice: wp.array[int],
    bank_pos: wp.array2d[vec3],
    bank_quat: wp.array2d[wp.quat],
    bank_half: wp.array2d[vec3],
    bank_friction: wp.array[float],
    bank_count: wp.array[int],
    course_id: wp.array[int],
    box_pos: wp.array2d[vec3],
    box_quat: wp.array2d[wp.quat],
    box_half: wp.array2d[vec3],
    box_friction: wp.array[float],
    box_count: wp.array[int],
    geom_pos: wp.array2d[vec3],
    geom_quat: wp.array2d[wp.quat],
    geom_size: wp.array2d[vec3],
    geom_rbound: array2,
    geom_aabb: wp.array3d[vec3],
    geom_xpos: wp.array2d[vec3],
    geom_xmat: wp.array2d[wp.mat33],
    warmstart: array2,
):
    """Thread (world, slot): copy one box of the bank to the model fields and to the sensors' list.

    MuJoCo's kinematics never updates static geoms, so we write geom_xpos and geom_xmat here too;
    the broadphase reads both bounds.
    """
    w, k = wp.tid()
    if not mask[w]:
        return
    c = wp.clamp(choice[w], 0, bank_pos.shape[0] - 1)
    pos = bank_pos[c, k]
    quat = bank_quat[c, k]
    half = bank_half[c, k]
    box_pos[w, k] = pos
    box_quat[w, k] = quat
    box_half[w, k] = half
    geom_pos[w, k] = pos
    geom_quat[w, k] = quat
    geom_size[w, k] = half
    geom_rbound[w, k] = wp.length(half)
    geom_aabb[w, k, 0] = vec3(0.0, 0.0, 0.0)
    geom_aabb[w, k, 1] = half
    geom_xpos[w, k] = pos
    geom_xmat[w, k] = rotation(quat)
    if k == 0:
        course_id[w] = c
        box_friction[w] = bank_friction[c]
        box_count[w] = bank_count[c]
        for i in range(warmstart.shape[1]):
            warmstart[w, i] = 0.0


@wp.func
def write_start(
    w: int,
    start_qpos: array2,
    start_qvel: array2,
    pose: wp.array[float],
    qpos: array2,
    qvel: array2,
    ctrl: array2,
    warmstart: array2,
    last: array2,
    force: wp.array2d[vec3],
    time: wp.array[float],
):
    for i in range(qpos.shape[1]):
        qpos[w, i] = start_qpos[w, i]
    for i in range(qvel.shape[1]):
        qvel[w, i] = start_qvel[w, i]
        warmstart[w, i] = 0.0
    for i in range(ctrl.shape[1]):
        ctrl[w, i] = 0.0
        last[w, i] = pose[i]
    for i in range(force.shape[1]):
        force[w, i] = vec3(0.0, 0.0, 0.0)
    time[w] = 0.0


@wp.kernel
def reset_worlds(
    mask: wp.array[wp.bool],
    start_qpos: array2,
    start_qvel: array2,
    pose: wp.array[float],
    qpos: array2,
    qvel: array2,
    ctrl: array2,
    warmstart: array2,
    last: array2,
    force: wp.array2d[vec3],
    time: wp.array[float],
    failed: wp.array[wp.bool],
):
    """Thread (world): put a masked world into its start state and clear what it remembered."""
    w = wp.tid()
    if mask[w]:
        write_start(w, start_qpos, start_qvel, pose, qpos, qvel, ctrl, warmstart, last, force, time)
        failed[w] = False


@wp.func
def is_sound(row: array2, w: int, limit: float) -> bool:
    """Whether all numbers are below the limit; false for NaN and infinity too, as NaN compares
    false."""
    for i in range(row.shape[1]):
        if not (wp.abs(row[w, i]) < limit):
            return False
    return True


@wp.kernel
def contain(
    speed_limit: float,
    safe_qpos: array2,
    safe_qvel: array2,
    pose: wp.array[float],
    target: array2,
    qpos: array2,
    qvel: array2,
    ctrl: array2,
    warmstart: array2,
    last: array2,
    force: wp.array2d[vec3],
    time: wp.array[float],
    failed: wp.array[wp.bool],
    nonfinite: wp.array[int],
):
    """Thread (world): reset a diverged world to standing, mark and count it."""
    w = wp.tid()
    if is_sound(qpos, w, HUGE) and is_sound(qvel, w, speed_limit) and is_sound(target, w, HUGE):
        return
    write_start(w, safe_qpos, safe_qvel, pose, qpos, qvel, ctrl, warmstart, last, force, time)
    for i in range(target.shape[1]):
        target[w, i] = pose[i]
    failed[w] = True
    nonfinite[w] = nonfinite[w] + 1


@wp.kernel
def drive(
    substep: int,
    target: array2,
    last: array2,
    latency: wp.array[int],
    qpos: array2,
    qvel: array2,
    kp: array2,
    kd: array2,
    strength: array2,
    peak: wp.array[float],
    no_load: wp.array[float],
    ctrl: array2,
):
    """Thread (world, joint): compute the motor's torque for this physics step."""
    w, j = wp.tid()
    goal = last[w, j]
    if substep >= latency[w]:
        goal = target[w, j]
    ctrl[w, j] = motor_torque_wp(
        goal,
        qpos[w, 7 + j],
        qvel[w, 6 + j],
        kp[w, j],
        kd[w, j],
        strength[w, j],
        peak[j],
        no_load[j],
    )


@wp.kernel
def gather_forces(
    n_contacts: wp.array[int],
    contact_geom: wp.array[wp.vec2i],
    contact_world: wp.array[int],
    contact_force: wp.array[wp.spatial_vector],
    group: wp.array[int],
    force: wp.array2d[vec3],
):
    """Thread (contact): add its force, which acts on the second geom, to the robot's group."""
    c = wp.tid()
    if c >= n_contacts[0]:
        return
    f = wp.spatial_top(contact_force[c])
    first = group[contact_geom[c][0]]
    second = group[contact_geom[c][1]]
    if first >= 0:
        wp.atomic_add(force, contact_world[c], first, -f)
    if second >= 0:
        wp.atomic_add(force, contact_world[c], second, f)


@wp.kernel
def pose_legs(
    mount: wp.array[vec3],
    sizes: wp.array[vec3],
    axis: wp.array[vec3],
    qpos: array2,
    points: wp.array3d[vec3],
):
    """Thread (world, leg): compute hip joint, knee joint and foot centre in the world frame."""
    w, i = wp.tid()
    base = vec3(qpos[w, 0], qpos[w, 1], qpos[w, 2])
    frame = rotation(wp.quat(qpos[w, 3], qpos[w, 4], qpos[w, 5], qpos[w, 6]))
    abad = axis[i][0] * qpos[w, 7 + 3 * i]
    hip = axis[i][1] * qpos[w, 8 + 3 * i]
    knee = axis[i][2] * qpos[w, 9 + 3 * i]
    s, c = wp.sin(abad), wp.cos(abad)
    y = sizes[i][0]
    x1, z1 = -sizes[i][1] * wp.sin(hip), -sizes[i][1] * wp.cos(hip)
    x2, z2 = x1 - sizes[i][2] * wp.sin(hip + knee), z1 - sizes[i][2] * wp.cos(hip + knee)
    points[w, i, 0] = base + frame * (mount[i] + vec3(0.0, c * y, s * y))
    points[w, i, 1] = base + frame * (mount[i] + vec3(x1, c * y - s * z1, s * y + c * z1))
    points[w, i, 2] = base + frame * (mount[i] + vec3(x2, c * y - s * z2, s * y + c * z2))


@wp.kernel
def finish(
    row_bits: int,
    pool_bits: int,
    target: array2,
    overflow: wp.array[int],
    last: array2,
    failed: wp.array[wp.bool],
    overflowed: wp.array[int],
    pool: wp.array[int],
):
    """Thread (world): remember the targets; turn MuJoCo's overflow bits into counts and clear them.

    Each world has its own rows, so one that lacks them has failed; the pool is shared and is
    counted once per step.
    """
    w = wp.tid()
    for i in range(target.shape[1]):
        last[w, i] = target[w, i]
    if (overflow[w] & row_bits) != 0:
        overflowed[w] = overflowed[w] + 1
        failed[w] = True
    if w == 0 and (overflow[w] & pool_bits) != 0:
        pool[0] = pool[0] + 1
    overflow[w] = 0
