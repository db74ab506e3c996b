"""A depth camera's mount and optics for tests."""

from swap.robots import CameraMount
from swap.sensors import OpticsCfg

MOUNT = CameraMount(pos=(0.42, 0.0, 0.06), pitch=0.25)


class CameraSetup:
    """Mount and optics in one object; the mount defaults to MOUNT, the optics to OpticsCfg."""

    def __init__(self, *, pos=MOUNT.pos, pitch=MOUNT.pitch, **optics):
        self.mount, self.optics = CameraMount(pos=pos, pitch=pitch), OpticsCfg(**optics)
