"""What the robot senses beyond its joints: depth images and height maps, on either device.

Read in this order: cfg -> rays -> depth -> heights -> noise -> camera
"""

from swap.sensors.camera import DepthCamera, DepthImages
from swap.sensors.cfg import DepthCameraCfg, DepthNoiseCfg, OpticsCfg
from swap.sensors.depth import DepthRenderer
from swap.sensors.heights import HeightCfg, HeightMaps, Patch
from swap.sensors.noise import DepthNoise, NoiseSeeds

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
