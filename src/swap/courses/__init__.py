"""Terrain as boxes: one function per obstacle, difficulty in [0, 1], and its mirror image."""
