"""Layers that obey a Rep, and their plain twins."""
