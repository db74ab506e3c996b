"""A depth camera's place and optics for tests of what it sees."""

from swap.robots import CameraMount
from swap.sensors import OpticsCfg

MOUNT = CameraMount(pos=(0.42, 0.0, 0.06), pitch=0.25)


class Eye:
    """Both in one; what is not said is as above, and as by default."""

    def __init__(self, *, pos=MOUNT.pos, pitch=MOUNT.pitch, **optics):
        self.mount, self.optics = CameraMount(pos=pos, pitch=pitch), OpticsCfg(**optics)
