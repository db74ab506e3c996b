"""The robot's exteroceptive sensors: depth images and height maps, on CPU and GPU.

Read in this order: cfg -> rays -> depth -> heights -> noise -> camera
"""

from typing import TYPE_CHECKING

from swap.lazy import names_of

if TYPE_CHECKING:
    from swap.sensors.camera import DepthCamera, DepthImages
    from swap.sensors.cfg import DepthCameraCfg, DepthNoiseCfg, HeightCfg, OpticsCfg, Patch
    from swap.sensors.depth import DepthRenderer
    from swap.sensors.heights import HeightMaps
    from swap.sensors.noise import DepthNoise, NoiseSeeds
else:
    MODULES = {
        "camera": ("DepthCamera", "DepthImages"),
        "cfg": ("DepthCameraCfg", "DepthNoiseCfg", "HeightCfg", "OpticsCfg", "Patch"),
        "depth": ("DepthRenderer",),
        "heights": ("HeightMaps",),
        "noise": ("DepthNoise", "NoiseSeeds"),
    }
    __getattr__ = names_of(__name__, MODULES)

__all__ = [
    "DepthCamera",
    "DepthCameraCfg",
    "DepthImages",
    "DepthNoise",
    "DepthNoiseCfg",
    "DepthRenderer",
    "HeightCfg",
    "HeightMaps",
    "NoiseSeeds",
    "OpticsCfg",
    "Patch",
]
