"""Shows four depth images beside the scene: true, seen by the camera, reconstructed, predicted."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
import viser
from torch import Tensor

from swap.evaluate.imagination import Imagination
from swap.sim import CONTROL_DT
from swap.view.depth_picture import to_picture
from swap.view.play import error_m

BOARD_POS, BOARD_M, BOARD_TURN_DEG = (1.2, 1.5, 1.7), 0.9, -35.0
NAMES = ("true depth", "camera", "reconstructed", "predicted")


class DepthPicture(NamedTuple):
    label: str
    depth: Tensor  # [rows, cols] in [0, 1]


class DepthPanels:
    """Shows the images in a panel of its own, for all visitors."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._images: dict[str, viser.GuiImageHandle] = {}
        panel = server.gui.add_panel()
        with panel.add_tab("What it sees"):
            blank = enlarged(torch.ones(64, 64))
            for name in NAMES:
                self._images[name] = server.gui.add_image(blank, label=name, format="jpeg")
        panel.dock_left()
        panel.set_width(240)

    def show(self, shown: Mapping[str, DepthPicture]) -> None:
        for name, image in self._images.items():
            image.visible = name in shown
            if name in shown:
                image.label = shown[name].label
                image.image = enlarged(shown[name].depth)


class DepthBoard:
    """Shows the same images in the scene, for recordings, which have no panels."""

    def __init__(self, server: viser.ViserServer) -> None:
        blank, tilt = enlarged(torch.ones(64, 64)), math.radians(BOARD_TURN_DEG)
        # Upright, and turned to where the camera is at first.
        upright = viser.transforms.SO3.from_x_radians(-math.pi / 2)
        turn = viser.transforms.SO3.from_z_radians(tilt)
        across = turn.apply(np.array([1.0, 0.0, 0.0]))
        self._images, self._labels = {}, {}
        for k, name in enumerate(NAMES):
            place = np.array(BOARD_POS) + (k - 1.5) * 1.1 * BOARD_M * across
            self._images[name] = server.scene.add_image(
                f"/board/{name}",
                blank,
                BOARD_M,
                BOARD_M,
                format="jpeg",
                position=place,
                wxyz=(turn @ upright).wxyz,
                cast_shadow=False,
                receive_shadow=False,
            )
            self._labels[name] = server.scene.add_label(
                f"/board/{name} label",
                name,
                position=place + np.array([0.0, 0.0, 0.62 * BOARD_M]),
                font_screen_scale=0.6,
                anchor="bottom-center",
            )

    def show(self, shown: Mapping[str, DepthPicture]) -> None:
        for name in NAMES:
            self._images[name].visible = self._labels[name].visible = name in shown
            if name in shown:
                self._images[name].image = to_picture(shown[name].depth)


def depth_pictures(true: Tensor, seen: Tensor, mind: Imagination | None) -> dict[str, DepthPicture]:
    """Makes pictures of depth images [rows, cols], by the names of their panels."""
    shown = {
        "true depth": DepthPicture("true depth, bright is near", true),
        "camera": DepthPicture("camera", seen),
    }
    if mind is None or mind.images is None:
        return shown
    age_s = mind.images.ticks * mind.k * CONTROL_DT
    shown["reconstructed"] = DepthPicture("reconstructed", mind.images.reconstructed[0])
    shown["predicted"] = DepthPicture(f"predicted {age_s:.1f} s ago", mind.images.predicted[0])
    for name in NAMES[1:]:
        label, depth = shown[name]
        off = error_m(mind.code, depth, true)
        shown[name] = DepthPicture(f"{label}, off {off:.2f} m", depth)
    return shown


def enlarged(depth: Tensor) -> np.ndarray:
    """Enlarges an image to 2.5 screen pixels per pixel: all four then fit on a laptop's screen."""
    return to_picture(depth, 5)[::2, ::2]
