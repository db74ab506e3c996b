"""What the robot senses beyond its joints: depth images and height maps, on either device.

Read in this order: rays -> depth -> heights -> noise -> camera
"""

from swap.sensors.camera import DepthCamera, DepthCameraCfg, DepthImages
from swap.sensors.depth import CameraCfg, DepthRenderer
from swap.sensors.heights import HeightCfg, HeightMaps, Patch
from swap.sensors.noise import DepthNoise, DepthNoiseCfg, NoiseSeeds

__all__ = [
    "CameraCfg",
    "DepthCamera",
    "DepthCameraCfg",
    "DepthImages",
    "DepthNoise",
    "DepthNoiseCfg",
    "DepthRenderer",
    "HeightCfg",
    "HeightMaps",
    "NoiseSeeds",
    "Patch",
]
