"""The mirror: representations, named fields, and the even/odd basis. Read in this order:

rep -> parity -> layout -> body -> grid -> spaces
"""

from swap.symmetry.body import PITCH, ROLL, ROTATION, VECTOR, YAW, Body, JointAxis, quadruped
from swap.symmetry.grid import Grid
from swap.symmetry.layout import Field, Layout
from swap.symmetry.parity import SQRT_HALF, Gather, Parity
from swap.symmetry.rep import Rep, flip, regular, signs, trivial
from swap.symmetry.spaces import Grids, Spaces, quantities

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
    "Grids",
    "JointAxis",
    "Layout",
    "Parity",
    "Rep",
    "Spaces",
    "flip",
    "quadruped",
    "quantities",
    "regular",
    "signs",
    "trivial",
]
