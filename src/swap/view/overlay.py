"""Adds panels to a picture: the robot's depth image, its command and its speed."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from swap.errors import UserError
from swap.view.depth_picture import fitted, to_picture

Rect = tuple[int, int, int, int]
INK, FAINT, PANEL = (255, 255, 255), (205, 212, 220), (18, 24, 32, 165)
TOLD, DONE = (255, 200, 90), (110, 200, 255)
"""Commands are amber, measured values are blue."""
FULL_SPEED = 3.0
"""Length of the speed bar, m/s."""
FULL_TURN = 1.5
"""Half the length of the bars that go in both directions, m/s and rad/s."""


def regions(width: int, height: int) -> dict[str, Rect]:
    """The places of the panels as (left, top, right, bottom); the rest of the picture does not
    change."""
    unit = max(min(width / 640, height / 360), 0.25)
    gap, inset = round(10 * unit), round(128 * unit)
    low = height - gap
    return {
        "caption": (gap, gap, gap + round(230 * unit), gap + round(26 * unit)),
        "depth": (width - gap - inset - 4, gap, width - gap, gap + inset + 4),
        # Low on the right, because the robot comes from the left and the obstacle rises behind.
        "command": (width - gap - round(206 * unit), low - round(66 * unit), width - gap, low),
        "time": (gap, low - round(24 * unit), gap + round(64 * unit), low),
    }


def annotate(
    picture: np.ndarray,
    *,
    depth: Tensor | np.ndarray | None = None,
    command: Tensor | Sequence[float] | None = None,
    speed: float | None = None,
    caption: str = "",
    time_s: float | None = None,
) -> np.ndarray:
    """Adds a panel for each of the given values. `depth` [rows, cols] is in [0, 1]; `command` is
    forward m/s, left m/s, turn rad/s; `speed` is the robot's actual forward speed."""
    height, width = picture.shape[:2]
    where = regions(width, height)
    page = Image.fromarray(picture)
    if caption:
        _words(page, where["caption"], caption)
    if depth is not None:
        _inset(page, where["depth"], to_picture(depth))
    if command is not None or speed is not None:
        numbers = None if command is None else [float(c) for c in command]
        if numbers is not None and len(numbers) != 3:
            raise UserError(f"a command of {len(numbers)} numbers; give forward, left, turn")
        _bars(page, where["command"], numbers, speed)
    if time_s is not None:
        _words(page, where["time"], f"{time_s:.2f} s")
    return np.array(page)


def _panel(page: Image.Image, rect: Rect) -> ImageDraw.ImageDraw:
    left, top, right, bottom = rect
    below = page.crop(rect)
    shade = Image.new("RGBA", below.size, (0, 0, 0, 0))
    box = (0, 0, right - left - 1, bottom - top - 1)
    ImageDraw.Draw(shade).rounded_rectangle(box, radius=(bottom - top) // 8 + 2, fill=PANEL)
    page.paste(Image.alpha_composite(below.convert("RGBA"), shade).convert("RGB"), (left, top))
    return ImageDraw.Draw(page)


def _words(page: Image.Image, rect: Rect, text: str) -> None:
    """Writes one line, cut where the panel ends; the panel is no wider than the line needs."""
    left, top, end, bottom = rect
    pad, font = (bottom - top) // 3, ImageFont.load_default(0.54 * (bottom - top))
    while len(text) > 1 and font.getlength(text) > end - left - 2 * pad:
        text = text[:-2].rstrip() + "…"
    used = round(font.getlength(text)) + 2 * pad
    middle = (left + pad, (top + bottom) / 2)
    _panel(page, (left, top, left + used, bottom)).text(middle, text, INK, font, anchor="lm")


def _inset(page: Image.Image, rect: Rect, shown: np.ndarray) -> None:
    """Draws a picture with a frame in the upper right corner of a square."""
    left, top, right, _ = rect
    picture = fitted(shown, right - left - 4)
    left, bottom = right - picture.width - 4, top + picture.height + 4
    ImageDraw.Draw(page).rectangle((left, top, right - 1, bottom - 1), fill=INK)
    page.paste(picture, (left + 2, top + 2))


def _bars(
    page: Image.Image, rect: Rect, numbers: Sequence[float] | None, speed: float | None
) -> None:
    """Draws a row each for speed, side step and turn: a bar for the measured value, a tick for the
    command."""
    left, top, right, bottom = rect
    pen, row = _panel(page, rect), (bottom - top) / 3.4
    font = ImageFont.load_default(0.72 * row)
    pad = 0.4 * row
    start = left + 2 * pad + font.getlength("forward")
    stop = right - 2 * pad - font.getlength("-0.0 rad/s")
    wanted = [None, None, None] if numbers is None else list(numbers)
    rows = (
        ("forward", wanted[0], speed, "m/s", False),
        ("left", wanted[1], None, "m/s", True),
        ("turn", wanted[2], None, "rad/s", True),
    )
    for k, (name, want, made, unit, two_sided) in enumerate(rows):
        y = top + (k + 0.7) * row
        pen.text((left + pad, y), name, FAINT, font, anchor="lm")
        zero = (start + stop) / 2 if two_sided else start
        scale = (stop - zero) / (FULL_TURN if two_sided else FULL_SPEED)
        pen.line((start, y, stop, y), FAINT, 1)
        if made is not None:
            _bar(pen, zero, np.clip(zero + made * scale, start, stop), y, 0.2 * row, DONE)
        if want is not None:
            x = float(np.clip(zero + want * scale, start, stop))
            if two_sided:
                _bar(pen, zero, x, y, 0.2 * row, TOLD)
            else:
                _bar(pen, x - 1, x + 1, y, 0.34 * row, TOLD)
        figure = made if made is not None else want
        if figure is not None:
            figure = round(figure, 1) + 0.0  # avoids -0.0
            pen.text((stop + pad, y), f"{figure:.1f} {unit}", INK, font, anchor="lm")


def _bar(
    pen: ImageDraw.ImageDraw, a: float, b: float, y: float, thick: float, colour: tuple
) -> None:
    pen.rectangle((min(a, b), y - thick, max(a, b), y + thick), fill=colour)
