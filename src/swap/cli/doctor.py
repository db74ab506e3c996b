"""`swap doctor`: what this machine has, what is missing, and the command that installs it."""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from swap.caches import CACHES, Cache, spare_folder, usable
from swap.cli.show import Report, show
from swap.openmp import usable_cores

OURS = "swap-parkour"
"""The package whose requirements are checked."""
EXTRAS = {
    "view": "swap view and swap play --record",
    "export": "swap export, swap sim2sim and swap bench deploy",
    "gymnasium": "environments of Gymnasium",
    "rsl-rl": "environments of rsl_rl",
    "slurm": "swap study --slurm",
    "dds": "robots that talk by DDS",
}
"""What each set of optional libraries is for."""


@dataclass(frozen=True)
class Args:
    """Print versions, CPU threads and GPU; for what is missing, the command that installs it."""

    json: Path | None = None
    """Also write the report to this file."""


def run(args: Args) -> int:
    optional = extras()
    rows = [python(), *packages(), *optional, threads(), gpu(), *kernels(), compiler(), ffmpeg()]
    rows += map(folder, CACHES)
    missing = [row for row in rows if row["state"] == "missing"]
    verdict = f"{len(missing)} missing, see above" if missing else "all that is needed is here"
    if absent := [row["what"] for row in optional if row["state"] == "none"]:
        verdict += f"; optional and not installed: {', '.join(absent)}"
    show(Report("doctor", rows, [verdict]), args.json)
    return 1 if missing else 0


def row(what: str, state: str, found: str, mend: str = "") -> dict[str, str]:
    return {"what": what, "state": state, "found": found, "to mend": mend}


def python() -> dict[str, str]:
    fine = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return row(
        "Python 3.11 to 3.13",
        "ok" if fine else "missing",
        platform.python_version(),
        "" if fine else "make PYTHON=python3.12 setup",
    )


def packages() -> list[dict[str, str]]:
    """All packages that swap requires, without its extras."""
    try:
        required = importlib.metadata.requires(OURS) or []
    except importlib.metadata.PackageNotFoundError:
        return [row(OURS, "missing", "not installed", "pip install -c constraints.txt -e .")]
    names = [re.split(r"[^\w.-]", line)[0] for line in required if "extra ==" not in line]
    return [package(name) for name in names]


def extras() -> list[dict[str, str]]:
    """The optional libraries, by the name under which pip installs them."""
    try:
        required = importlib.metadata.requires(OURS) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    rows = []
    for extra, use in EXTRAS.items():
        lines = [line for line in required if re.search(rf"extra == ['\"]{extra}['\"]", line)]
        names = [re.split(r"[^\w.-]", line)[0] for line in lines]
        absent = [name for name in names if package(name)["state"] == "missing"]
        if absent:
            mend = f"pip install -c constraints.txt '.[{extra}]'"
            rows.append(row(f"[{extra}]", "none", f"{use} need {', '.join(absent)}", mend))
        elif names:
            rows.append(row(f"[{extra}]", "ok", f"for {use}"))
    return rows


def package(name: str) -> dict[str, str]:
    try:
        return row(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return row(name, "missing", "not installed", f"pip install -c constraints.txt {name}")


def threads() -> dict[str, str]:
    return row("CPU threads", "ok", f"{usable_cores()} of {os.cpu_count() or 1}")


def gpu() -> dict[str, str]:
    """A GPU is optional, but a driver that torch cannot use is reported."""
    try:
        import torch
    except ImportError:
        return row("GPU", "none", "torch is not installed")
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        name = torch.cuda.get_device_name()
        return row("GPU", "ok", f"{name}, {free >> 30} of {total >> 30} GiB free")
    if shutil.which("nvidia-smi"):
        build = torch.version.cuda or "none"
        mend = "pip install --force-reinstall torch (a CUDA build that fits the driver)"
        return row("GPU", "unused", f"driver found, torch {torch.__version__}, CUDA {build}", mend)
    return row("GPU", "none", "no NVIDIA driver; everything runs on the CPU, slower")


def kernels() -> list[dict[str, str]]:
    """Whether Triton's kernels work; no row without a GPU."""
    try:
        import torch

        from swap.device.triton_launch import KERNELS, wanted, works
    except ImportError:
        return []
    if not torch.cuda.is_available():
        return []
    if works():
        used = ", ".join(sorted(name for name in KERNELS if wanted(name))) or "none"
        return [row("fused kernels", "ok", f"Triton compiles them; used: {used}")]
    mend = "install gcc and Python's headers (python3-dev)"
    return [row("fused kernels", "unused", "Triton cannot compile; training is slower", mend)]


def compiler() -> dict[str, str]:
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if found:
        return row("C++ compiler", "ok", found)
    return row("C++ compiler", "none", "torch.compile on the CPU needs one", "install g++")


def ffmpeg() -> dict[str, str]:
    """Whether there is an ffmpeg; only films need it."""
    try:
        import imageio_ffmpeg

        named = imageio_ffmpeg.get_ffmpeg_exe()  # it does not check IMAGEIO_FFMPEG_EXE
        if shutil.which(named):
            return row("ffmpeg", "ok", named)
        found = f"{named} is no program; swap play needs one"
    except (ImportError, RuntimeError, OSError):
        found = "swap play needs one"
    return row("ffmpeg", "none", found, "install ffmpeg, or set IMAGEIO_FFMPEG_EXE")


def folder(cache: Cache) -> dict[str, str]:
    """Whether the folder in which a library keeps compiled code can be written."""
    bad = next((place for place in cache.folders if not usable(place)), None)
    if bad is None:
        return row(cache.what, "ok", str(cache.folders[0]))
    spare, mend = spare_folder(cache), f"set {cache.variable} to a folder that can be written"
    if spare is None:
        return row(cache.what, "missing", f"{bad} cannot be written", mend)
    return row(cache.what, "elsewhere", f"{spare}, since {bad} cannot be written", mend)
