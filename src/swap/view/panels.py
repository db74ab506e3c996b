"""Draws a row of labelled depth images below a film's frame."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from swap.view.depth_picture import fitted, to_picture

PAGE, INK, FAINT = (18, 24, 32), (255, 255, 255), (170, 180, 192)

Panel = tuple[str, str, Tensor]
"""Title, a smaller line below it, and a depth image [rows, cols] in [0, 1]."""


def row(panels: Sequence[Panel], width: int) -> np.ndarray:
    """uint8 RGB [height, width, 3]: the panels side by side, each in a square of the same
    size, with their titles above."""
    gap = max(round(width / 80), 2)
    side = (width - gap) // len(panels) - gap
    font, small = (ImageFont.load_default(share * side) for share in (0.095, 0.08))
    words = round(0.27 * side)
    height = words + side + gap
    page = Image.new("RGB", (width, height + height % 2), PAGE)  # mp4 needs even numbers
    pen = ImageDraw.Draw(page)
    for k, (title, note, depth) in enumerate(panels):
        left = gap + k * (side + gap)
        pen.text((left, 0.34 * words), title, INK, font, anchor="lm")
        pen.text((left, 0.76 * words), note, FAINT, small, anchor="lm")
        page.paste(fitted(to_picture(depth), side), (left, words))
    return np.array(page)
