"""Names the shapes of friction cones, without a simulator."""

from typing import Literal

FrictionCone = Literal["pyramidal", "elliptic"]
"""Pyramids are fast, and slip too easily along their diagonals. Ellipses are what friction is."""
