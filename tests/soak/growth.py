"""A tiny training whose memory is watched: after the first minute it must not grow."""

import subprocess
import sys
import time
from pathlib import Path

from soak.tally import Tally

SMALL = "--preset tiny --worlds 16 --ppo.steps 8 --device cpu --save-minutes 0.1"
SETTLED_S = 60.0
"""Or half of the time, if that is less."""
SLACK = 1.05
"""Allocators round up."""


def growth(minutes: float, home: Path) -> list[Tally]:
    tally = Tally(f"memory, {minutes:g} min")
    if minutes <= 0:
        return []
    home.mkdir(parents=True, exist_ok=True)
    words = ["train", *SMALL.split(), "--minutes", str(minutes), "--out", str(home / "run")]
    with (home / "said").open("w+b") as said:
        command = [sys.executable, "-m", "swap", *words]
        run = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        began, samples = time.monotonic(), []
        while run.poll() is None:
            samples.append((time.monotonic() - began, rss_mib(run.pid)))
            time.sleep(0.5)
            if time.monotonic() - began > 120 + 90 * minutes:
                run.kill()
                tally.fault("late", "did not end")
        said.seek(0)
        text = said.read().decode(errors="replace")
    tally.tried = 1
    if "Traceback" in text:
        tally.fault("tracebacks", text.strip().splitlines()[-1])
    elif run.returncode != 0:
        tally.fault("lost", f"exit code {run.returncode}: {text.strip()[-200:]}")
    first, later = levels(samples)
    if later > SLACK * first:
        tally.fault("silent", f"{first:.0f} MiB, later {later:.0f} MiB")
    tally.what += f", {first:.0f} then {later:.0f} MiB"
    return [tally]


def levels(samples: list[tuple[float, float]]) -> tuple[float, float]:
    """The most, MiB, until memory should have settled, and after that, of (time, MiB)."""
    settled_s = max(min(SETTLED_S, samples[-1][0] / 2), samples[0][0])
    first = max(mib for s, mib in samples if s <= settled_s)
    return first, max((mib for s, mib in samples if s > settled_s), default=first)


def rss_mib(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20
    except (OSError, IndexError):
        return 0.0
