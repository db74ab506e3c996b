"""How often physics and control happen."""

from swap.robots.mjcf import TIMESTEP

SUBSTEPS = 4
"""Physics steps in one control step."""
CONTROL_DT = SUBSTEPS * TIMESTEP
"""Control at 50 Hz, physics at 200 Hz."""
