"""What the robot senses beyond its joints: depth images and height maps, on either device.

Read in this order: launch -> rays -> depth -> heights -> noise -> camera
"""

from swap.sensors.bench import time_sensors
from swap.sensors.camera import DepthCamera, DepthCameraCfg, Frames
from swap.sensors.depth import CameraCfg, Depth, from_uint8, to_uint8
from swap.sensors.heights import HeightCfg, HeightMaps, Patch
from swap.sensors.noise import DepthNoise, Draws, NoiseCfg
from swap.sensors.picture import to_picture

__all__ = [
    "CameraCfg",
    "Depth",
    "DepthCamera",
    "DepthCameraCfg",
    "DepthNoise",
    "Draws",
    "Frames",
    "HeightCfg",
    "HeightMaps",
    "NoiseCfg",
    "Patch",
    "from_uint8",
    "time_sensors",
    "to_picture",
    "to_uint8",
]
