"""The device a user names."""

from swap.errors import UserError


def chosen(name: str) -> str:
    """cpu, cuda, cuda:1, or auto -> the device to use, or a line that says what is there."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return name
    kind, _, index = name.partition(":")
    if kind != "cuda" or (index and not index.isdigit()):
        raise UserError(f"unknown device '{name}'; use cpu, cuda, cuda:0 or auto")
    if not torch.cuda.is_available():
        raise UserError(f"--device {name}: torch sees no GPU here; use --device cpu")
    if index and int(index) >= torch.cuda.device_count():
        raise UserError(f"--device {name}: there are {torch.cuda.device_count()} GPUs, from cuda:0")
    return name
