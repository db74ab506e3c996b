"""What the README shows must run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("k", range(len(BLOCKS)))
def test_python_blocks_run(k):
    exec(compile(BLOCKS[k], f"README block {k}", "exec"), {})


def test_every_command_is_in_the_readme_and_every_linked_file_exists():
    from swap.cli.main import COMMANDS

    text = README.read_text()
    for name in COMMANDS:
        assert f"`swap {name}`" in text, name
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (README.parent / link).exists(), link
