"""Physics: one small Engine protocol and two engines behind it. Read in this order:

motor -> randomise -> engine -> cpu -> kernels -> gpu
"""

from swap.sim.engine import Engine, Report, Start, State, make_engine, standing
from swap.sim.motor import motor_torque
from swap.sim.randomise import FIXED, SUBSTEPS, Draw, Ranges, draw, draw_push, mirror, nominal

__all__ = [
    "FIXED",
    "SUBSTEPS",
    "Draw",
    "Engine",
    "Ranges",
    "Report",
    "Start",
    "State",
    "draw",
    "draw_push",
    "make_engine",
    "mirror",
    "motor_torque",
    "nominal",
    "standing",
]
