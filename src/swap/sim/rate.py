"""The rates of physics and control, and gravity (m/s²)."""

from swap.robots.mjcf import GRAVITY, TIMESTEP

__all__ = ["CONTROL_DT", "GRAVITY", "SUBSTEPS"]

SUBSTEPS = 4
"""Physics steps in one control step."""
CONTROL_DT = SUBSTEPS * TIMESTEP
"""Control at 50 Hz, physics at 200 Hz."""
