"""Launches Warp kernels on torch tensors, on torch's current stream, without copies.

A CUDA graph keeps pointers, so each argument's view is made once and remade only when the caller
passes a tensor with other storage.
"""

from collections.abc import Sequence
from typing import Any

import torch
import warp as wp
from torch import Tensor

from swap.device.warp_graph import warp_stream
from swap.device.warp_start import init_warp
from swap.errors import UserError

MODULE_OPTIONS = {
    "enable_backward": False,
    # Reciprocals and roots lose a bit or two (CUDA only), but signs still mirror exactly.
    "fast_math": True,
    "default_grid_stride": False,
}


class WarpViews:
    """Keeps Warp views of torch tensors, one per argument name, and checks each when it is made."""

    def __init__(self, device: torch.device) -> None:
        init_warp()
        self.device = device
        self._views: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def __call__(
        self, name: str, tensor: Tensor, shape: Sequence[int], dtype: Any = wp.float32
    ) -> Any:
        """Return a view of `tensor`, which must have this shape; `dtype` may be a Warp vector."""
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        if name not in self._views or self._views[name][0] != key:
            self._check(name, tensor, tuple(shape), dtype)
            self._views[name] = key, wp.from_torch(tensor, dtype=dtype, requires_grad=False)
        return self._views[name][1]

    def _check(self, name: str, tensor: Tensor, shape: tuple[int, ...], dtype: Any) -> None:
        expect_shape(name, tensor, shape)
        scalar = wp.dtype_to_torch(getattr(dtype, "_wp_scalar_type_", dtype))
        if tensor.dtype != scalar:
            raise UserError(f"{name} is {tensor.dtype}; sensors read {scalar}, convert it first")
        if not same_device(tensor.device, self.device):
            raise UserError(
                f"{name} is on '{tensor.device}', the sensor on '{self.device}'; "
                "make both on one device"
            )
        if hasattr(dtype, "_shape_") and tensor.stride(-1) != 1:
            raise UserError(f"the last axis of {name} has gaps; pass {name}.contiguous()")


def expect_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise UserError(f"{name} has shape {tuple(tensor.shape)}; give {shape}")


def same_device(a: torch.device, b: torch.device) -> bool:
    return a.type == b.type and (a.index or 0) == (b.index or 0)


def launch(kernel: wp.Kernel, dim: Sequence[int], inputs: Sequence[Any], device: Any) -> None:
    """Run a kernel; on CUDA it goes to torch's current stream, in order with torch's own work."""
    if device.type == "cuda":
        wp.launch(kernel, dim=dim, inputs=inputs, stream=warp_stream(device))
    else:
        wp.launch(kernel, dim=dim, inputs=inputs, device="cpu")
