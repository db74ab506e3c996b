"""Runs the two graphs at their two rates: the world model every k control steps, the policy at
each.

One thread, because a control loop that shares its core with its own threads waits for itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from swap.deploy.bundle import Bundle
from swap.deploy.vectors import Vectors
from swap.errors import UserError


def session(graph: bytes) -> Any:
    """An onnxruntime session of one thread."""
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise UserError(
            "no module 'onnxruntime' here; install it: pip install onnxruntime"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many kinds; each means that the graph is none
        told = str(error).splitlines()[0]
        raise UserError(f"onnxruntime cannot read a graph of the bundle ({told})") from None


class Runtime:
    """Keeps the latent state. `reset` when an episode begins; then `step` every control step."""

    def __init__(self, bundle: Bundle) -> None:
        spec = self.spec = bundle.spec
        self._model, self._policy = session(bundle.world_model), session(bundle.policy)
        shapes = spec.world_model.inputs
        self.h = np.zeros(shapes["h"], np.float32)
        self.z = np.zeros(shapes["z"], np.float32)
        self.actions = np.zeros(shapes["actions"], np.float32)
        """Those since the last tick, oldest first."""
        self._noise = np.zeros(shapes["noise"], np.float32)  # none: the likeliest z
        self._place = 0
        self._due = True

    @property
    def due(self) -> bool:
        """The next step is a tick: it wants an image."""
        return self._due

    def reset(self) -> None:
        """Forget everything: h, z and actions are zero, as at the start of an episode."""
        for x in (self.h, self.z, self.actions):
            x.fill(0)
        self._place, self._due = 0, True

    def tick(self, depth: np.ndarray, proprioception: np.ndarray) -> None:
        """A prepared image [rows, cols] and what is felt."""
        feed = {
            "depth": depth[None],
            "proprioception": proprioception[None],
            "actions": self.actions,
            "h": self.h,
            "z": self.z,
            "noise": self._noise,
        }
        self.h, self.z = self._model.run(["next_h", "next_z"], feed)
        self._place, self._due = 0, False

    def act(self, history: np.ndarray, command: np.ndarray) -> np.ndarray:
        """The policy's action [joints], not clipped."""
        feed = {"history": history[None], "command": command[None], "h": self.h}
        action: np.ndarray = self._policy.run(["action"], feed)[0][0]
        return action

    def record(self, action: np.ndarray) -> None:
        """The action that the motors are given now."""
        assert not self._due, "the world model is due; tick before the next action"
        self.actions[0, self._place] = action
        self._place += 1
        self._due = self._place == self.actions.shape[1]

    def step(
        self,
        proprioception: np.ndarray,
        history: np.ndarray,
        command: np.ndarray,
        look: Callable[[], np.ndarray],
    ) -> np.ndarray:
        """One control step whose action is carried out as it is; `look` is called at ticks."""
        if self.due:
            self.tick(look(), proprioception)
        action = self.act(history, command)
        self.record(action)
        return action


def replay_vectors(runtime: Runtime, vectors: Vectors) -> tuple[np.ndarray, np.ndarray]:
    """Actions [T, joints] and h [T, deter] of this runtime for recorded inputs."""
    images, actions, latents = iter(vectors.depth), [], []
    for step in range(vectors.steps):
        if vectors.fresh[step]:
            runtime.reset()
        seen = vectors.proprioception[step], vectors.history[step], vectors.command[step]
        actions.append(runtime.step(*seen, lambda: next(images)))
        latents.append(runtime.h[0].copy())
    return np.stack(actions), np.stack(latents)
