"""SWAP: left-right equivariant world models and policies for quadruped parkour."""

__version__ = "0.1.0"
