"""The left-right mirror: representations, named fields, and the even/odd basis. Read in this order:

rep -> grid -> parity -> layout -> body
"""

from swap.symmetry.body import PITCH, ROLL, ROTATION, VECTOR, YAW, Body, JointAxis, quadruped
from swap.symmetry.grid import Grid
from swap.symmetry.layout import Field, Layout
from swap.symmetry.parity import SQRT_HALF, Gather, Parity
from swap.symmetry.rep import Rep, flip, regular, signs, trivial

__all__ = [
    "PITCH",
    "ROLL",
    "ROTATION",
    "SQRT_HALF",
    "VECTOR",
    "YAW",
    "Body",
    "Field",
    "Gather",
    "Grid",
    "JointAxis",
    "Layout",
    "Parity",
    "Rep",
    "flip",
    "quadruped",
    "regular",
    "signs",
    "trivial",
]
