"""Shows depth images beside the scene: what there is to see, is seen, is believed, was foreseen."""

import numpy as np
import torch
import viser
from torch import Tensor

from swap.sim import CONTROL_DT
from swap.view.depth_picture import to_picture
from swap.view.live.world import LiveWorld
from swap.view.play import error_m

NAMES = ("true depth", "camera", "reconstructed", "predicted")


class DepthPanels:
    """A panel of its own, for all visitors."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._images: dict[str, viser.GuiImageHandle] = {}
        panel = server.gui.add_panel()
        with panel.add_tab("What it sees"):
            blank = enlarged(torch.ones(64, 64))
            for name in NAMES:
                self._images[name] = server.gui.add_image(blank, label=name, format="jpeg")
        panel.dock_left()
        panel.set_width(240)

    def show(self, world: LiveWorld) -> None:
        """The images of the last tick."""
        true, mind = world.true_depth[0], world.imagination
        pictures = {"true depth": true, "camera": world.seen[0]}
        labels = dict.fromkeys(NAMES, "") | {"true depth": "true depth, bright is near"}
        if mind is not None and mind.images is not None:
            age_s = mind.images.ticks * mind.k * CONTROL_DT
            pictures["reconstructed"] = mind.images.believed[0]
            pictures["predicted"] = mind.images.foreseen[0]
            labels["predicted"] = f"predicted {age_s:.1f} s ago"
            for name in NAMES[1:]:
                off = error_m(mind.code, pictures[name], true)
                labels[name] = f"{labels[name] or name}, off {off:.2f} m"
        for name, image in self._images.items():
            image.visible = name in pictures
            if name in pictures:
                image.label = labels[name] or name
                image.image = enlarged(pictures[name])


def enlarged(depth: Tensor) -> np.ndarray:
    """2.5 screen pixels a pixel: all four then fit on a laptop's screen."""
    return to_picture(depth, 5)[::2, ::2]
