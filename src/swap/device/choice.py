"""Chooses the device that a user names, and checks whether torch.compile works on it."""

import re

from swap.errors import UserError


def choose_device(name: str) -> str:
    """Resolve cpu, cuda, cuda:1 or auto to a device; UserError if this machine does not have it."""
    import torch

    check_device_name(name)
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return name
    _, _, index = name.partition(":")
    if not torch.cuda.is_available():
        raise UserError(f"--device {name}: torch sees no GPU here; use --device cpu")
    if index and int(index) >= torch.cuda.device_count():
        raise UserError(f"--device {name}: there are {torch.cuda.device_count()} GPUs, from cuda:0")
    return name


def check_device_name(name: str) -> None:
    """Raises a UserError for what is no device on any machine."""
    if not re.fullmatch("auto|cpu|cuda(:[0-9]+)?", name):
        raise UserError(f"unknown device '{name}'; use cpu, cuda, cuda:0 or auto")


def check_compiles(device: str) -> None:
    """Try torch.compile before anything is measured: it needs a C++ compiler on this machine."""
    import torch

    try:
        torch.compile(lambda x: x * x + 1)(torch.ones(8, device=device))
    except Exception as error:  # torch wraps the cause in errors of many types
        why = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(
            f"torch.compile does not work here ({why} ...); it needs a C++ compiler, e.g. "
            "apt-get install g++"
        ) from None
