"""docs/deploy.md: its commands exist, its code runs, its figures are the bundle's."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.deploy.__main__ import main as deploy
from swap.presets.swap import SWAP

TEXT = (Path(__file__).parent.parent / "docs" / "deploy.md").read_text()
SHELL = re.findall(r"```\n(.*?)```", TEXT, flags=re.DOTALL)
LINES = [line.split("#")[0].strip() for block in SHELL for line in block.splitlines()]
INLINE = re.findall(r"`((?:swap|python -m) [^`]*)`", TEXT)
COMMANDS = [line for line in (*LINES, *INLINE) if line.startswith("swap ")]
ROBOTS = [line for line in (*LINES, *INLINE) if line.startswith("python -m swap.deploy")]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_have_options_that_exist(line):
    name, options = cli.match_command(shlex.split(line)[1:])
    if options:
        args = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}").Args
        cli.parse(args, f"swap {name}", options)


@pytest.mark.parametrize("line", ROBOTS)
def test_the_robots_commands_are_understood(line, tmp_path, monkeypatch, capsys):
    """There is no bundle of that name here: this is told, and nothing else is wrong."""
    monkeypatch.chdir(tmp_path)
    assert deploy(shlex.split(line)[3:]) == 2
    assert "no bundle 'swap.bundle'" in capsys.readouterr().err


def test_the_robots_end_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(block.replace("/dev/shm/robot", str(tmp_path / "robot")), "deploy.md", "exec"), {})


def test_only_what_it_names_is_imported():
    program = "import sys, swap.deploy.__main__; print(*[x for x in sys.modules if 'swap' in x])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    told = {"swap", "swap.errors", "swap.files", "swap.validate"}
    strange = {name for name in done.stdout.split() if not name.startswith("swap.deploy")} - told
    assert done.returncode == 0
    assert not strange


def test_its_figures_are_the_bundles():
    from swap.export.facts import BEYOND_RANGE_RAD, GAP_S, STATE_S, TORQUE_SHARE, limits_of

    limits = limits_of(SWAP, SWAP.env.load_robot())
    for said in (
        f"older than {STATE_S * 1000:.0f} ms",
        f"image older than {limits.depth_s * 1000:.0f} ms",
        f"gap of {GAP_S * 1000:.0f} ms",
        f"{BEYOND_RANGE_RAD:g} rad beyond",
        f"within {TORQUE_SHARE:g} times",
        f"z above {limits.tilt_z:g}",
        f"k = {SWAP.env.camera.every}",
    ):
        assert said in TEXT.replace("\n", " "), said
