"""Physics: one small Engine protocol and two engines behind it. Read in this order:

rate -> motor -> randomise -> engine -> cpu_models -> cpu -> kernels -> gpu_models -> gpu
"""

from swap.sim.engine import (
    CONTACT_ROWS,
    CONTACTS,
    Engine,
    EngineName,
    FaultReport,
    Start,
    State,
    engine_device,
    engine_for,
    make_engine,
    standing,
)
from swap.sim.motor import motor_torque
from swap.sim.randomise import BODY_PARTS, FIXED, Draw, Ranges, draw, draw_push, mirror, nominal
from swap.sim.rate import CONTROL_DT, GRAVITY, SUBSTEPS

__all__ = [
    "BODY_PARTS",
    "CONTACTS",
    "CONTACT_ROWS",
    "CONTROL_DT",
    "FIXED",
    "GRAVITY",
    "SUBSTEPS",
    "Draw",
    "Engine",
    "EngineName",
    "FaultReport",
    "Ranges",
    "Start",
    "State",
    "draw",
    "draw_push",
    "engine_device",
    "engine_for",
    "make_engine",
    "mirror",
    "motor_torque",
    "nominal",
    "standing",
]
