"""The commands in the README run, and the Python of README and docs/training.md."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from swap.cli import main as cli

README = Path(__file__).parent.parent / "README.md"
SHELL = re.findall(r"```\n(.*?)```", README.read_text(), flags=re.DOTALL)
LINES = [line.split("#")[0] for block in SHELL for line in block.splitlines()]
INLINE = re.findall(r"`(swap [^`]*)`", README.read_text())
COMMANDS = sorted({line.strip() for line in (*LINES, *INLINE) if line.startswith("swap ")})
BLOCKS = [
    (file.name, k, block)
    for file in (README, README.parent / "docs/training.md")
    for k, block in enumerate(re.findall(r"```python\n(.*?)```", file.read_text(), flags=re.DOTALL))
]


@pytest.mark.parametrize(("file", "k", "block"), BLOCKS, ids=[f"{f}-{k}" for f, k, _ in BLOCKS])
def test_python_blocks_run(file, k, block):
    exec(compile(block, f"{file} block {k}", "exec"), {})


def test_every_command_is_in_the_readme_and_every_linked_file_exists():
    text = README.read_text()
    for name in cli.COMMANDS:
        assert f"`swap {name}`" in text, name
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (README.parent / link).exists(), link


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_has_options_that_exist(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a reader of the README may have runs of these names here
    name, options = cli.match_command(shlex.split(line)[1:])
    module = importlib.import_module(f"swap.cli.{name.replace(' ', '_')}")
    if not options:  # the name of a command
        return
    options = [word for word in options if word != "--help"]
    if hasattr(module, "parse"):
        module.parse(options)
    else:
        cli.parse(module.Args, f"swap {name}", options)


def test_the_moving_picture_loops_and_loads_fast():
    moving = re.findall(r"\]\(([^)]+\.gif)\)", README.read_text())
    assert moving
    for link in moving:
        file = README.parent / link
        assert file.stat().st_size < 3_000_000
        with Image.open(file) as image:
            assert image.n_frames > 50
            assert image.info["loop"] == 0
