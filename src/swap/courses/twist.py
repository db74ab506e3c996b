"""Builds five plates that lead from level ground into a tilted plane.

Boxes cannot be twisted, but four planes through one point of the midline can be folded so that
their upper envelope has neither gap nor lip. Seen from above:

            left, high
          \\   ramp    /
           \\   up    /        The line "/" is x = spread * y: here the surface folds down, and
            \\       /         the plates have their rims on it. On the line "\" the surface folds
     level   \\     /  tilted  up: there the ramps simply run on below the others.
    -----------------------> x
             /     \
            /       \\         At y from the midline the twist is 2 * spread * |y| long.
           /  ramp   \
          /   down    \
            right, low
"""

from swap.courses.blocks import OVERLAP_M, Block, Interval, Plane, plate


def twist(x: float, half_width: float, z: float, slope_y: float, spread: float) -> list[Block]:
    """Ground that is level before x and tilted after it; a negative spread reverses this."""
    reach = spread * half_width

    def at(ahead: float, side: float) -> Interval:
        return (x + ahead * reach, side * half_width)

    middle, high_end, low_end = at(0, 0), at(1, 1), at(-1, -1)
    under = OVERLAP_M / half_width
    rim = (spread, 1.0)
    grade = slope_y / 2 / spread
    level = Plane(z)
    ramp_up = Plane(z, grade, slope_y / 2, x)
    ramp_down = Plane(z, -grade, slope_y / 2, x)
    sloped = Plane(z, 0.0, slope_y)
    return [
        plate(level, [low_end, middle, at(-1, 1)], rim),
        plate(ramp_up, [at(-under, -under), high_end, at(-1, 1)], rim),
        plate(ramp_down, [at(under, under), low_end, at(1, -1)], rim),
        plate(sloped, [middle, high_end, at(1, 0)], rim),
        plate(sloped, [middle, at(1, -1)]),
    ]
