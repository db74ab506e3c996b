"""Colours a depth image: near is bright, unseen is dark."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from swap.errors import UserError

# From near to far; perceived brightness falls all the way, so it also reads in grey.
_STOPS = np.array(
    [(255, 246, 196), (254, 196, 79), (236, 112, 62), (165, 45, 105), (75, 24, 118), (10, 8, 36)],
    dtype=np.float64,
)


def to_picture(depth: Tensor | np.ndarray, scale: int = 1) -> np.ndarray:
    """uint8 RGB [rows * scale, cols * scale, 3]; each pixel becomes a square of `scale`."""
    image = torch.as_tensor(depth).detach().float().cpu().numpy()
    if image.ndim != 2:
        raise UserError(f"a picture is made of one image [rows, cols], not {image.shape}")
    if scale < 1:
        raise UserError(f"scale={scale} leaves no pixels; use 1 or more")
    place = np.linspace(0.0, 1.0, len(_STOPS))
    shown = np.clip(np.nan_to_num(image, nan=1.0), 0.0, 1.0)
    rgb = np.stack([np.interp(shown, place, _STOPS[:, k]) for k in range(3)], axis=-1)
    return rgb.round().astype(np.uint8).repeat(scale, axis=0).repeat(scale, axis=1)


def fitted(picture: np.ndarray, side: int) -> Image.Image:
    """The picture, as large as a square of `side` pixels holds; its pixels stay square."""
    rows, cols = picture.shape[:2]
    longest = max(rows, cols)
    size = max(round(side * cols / longest), 1), max(round(side * rows / longest), 1)
    return Image.fromarray(picture).resize(size, Image.Resampling.NEAREST)
