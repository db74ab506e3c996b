"""A robot that stands still whatever it is told, for tests of its controller."""

import numpy as np

from swap.deploy.controller import Controller, ControllerCfg
from swap.deploy.messages import DepthImage, Operator, RobotState

QUICK = ControllerCfg(stand_s=0.1, blend_s=0.1)


class Still:
    """A robot in its default pose that nothing moves, and the wires to its controller."""

    def __init__(self, bundle, controller=None):
        self.spec, self.now_s = bundle.spec, 100.0
        self.controller = controller or Controller(bundle, cfg=QUICK)
        self.change = lambda state: state
        """What is done to every state before it is heard."""
        self.sees = True
        self.commands = []

    def state(self):
        pose = np.array([joint.default_rad for joint in self.spec.joints], np.float32)
        zero = np.zeros_like(pose)
        quat = np.array([1, 0, 0, 0], np.float32)
        return RobotState(self.now_s, quat, np.zeros(3, np.float32), pose, zero, zero)

    def image(self):
        size = self.spec.camera.rows, self.spec.camera.cols
        return DepthImage(self.now_s - 0.1, np.full(size, 2.0, np.float32))

    def tell(self, request="", **speeds):
        self.controller.on_operator(Operator(request, **speeds), self.now_s)

    def live(self, seconds, dt_s=0.005):
        """Time passes."""
        for _ in range(round(seconds / dt_s)):
            self.now_s += dt_s
            state = self.change(self.state())
            if state is not None:
                self.controller.on_state(state)
            if self.sees:
                self.controller.on_depth(self.image())
            self.commands.append(self.controller.step(self.now_s))
        return self

    def run(self):
        """Until the policy has it."""
        self.live(0.02)
        self.tell("stand")
        self.live(0.2)
        self.tell("run", forward_mps=1.0)
        return self.live(0.2)
