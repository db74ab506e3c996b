"""What the robot senses beyond its joints: depth images and height maps, on either device.

Read in this order: rays -> depth -> heights -> noise -> camera
"""

from swap.sensors.bench import time_sensors
from swap.sensors.camera import DepthCamera, DepthCameraCfg, DepthImages
from swap.sensors.depth import CameraCfg, DepthRenderer, from_uint8, to_uint8
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
    "from_uint8",
    "time_sensors",
    "to_uint8",
]
