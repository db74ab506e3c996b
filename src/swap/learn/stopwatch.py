"""Times the parts of an iteration without waiting for the device between them."""

import time

import torch


class Stopwatch:
    """`lap(name)` ends a part; call `read()` after the iteration has waited for the device,
    once."""

    def __init__(self, device: torch.device) -> None:
        self.on_gpu = device.type == "cuda"
        self._marks: list[tuple[str, torch.cuda.Event | float]] = []

    def start(self) -> None:
        self._marks = []
        self.lap("")

    def lap(self, name: str) -> None:
        if not self.on_gpu:
            self._marks.append((name, time.perf_counter()))
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append((name, event))

    def read(self) -> dict[str, float]:
        out = {}
        for (_, a), (name, b) in zip(self._marks, self._marks[1:], strict=False):
            if isinstance(a, float) and isinstance(b, float):
                out[name] = b - a
            elif isinstance(a, torch.cuda.Event) and isinstance(b, torch.cuda.Event):
                out[name] = a.elapsed_time(b) / 1000
        return out
