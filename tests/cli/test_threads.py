"""How OpenMP's threads wait, as its own library reports when torch loads it."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def spins(start: list[str], **given: str) -> str:
    """The spin count that GNU's OpenMP prints as it is loaded."""
    rest = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, *start],
        env={**rest, "OMP_DISPLAY_ENV": "verbose", **given},
        capture_output=True,
        text=True,
        check=True,
    )
    told = re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
    if told is None:
        pytest.skip("torch uses another OpenMP here")
    return told[1]


MODULE = ["-m", "swap", "mirror"]
SCRIPT = ["-c", "import sys; sys.argv = ['swap', 'mirror']; import swap.cli.main as m; m.main()"]


@pytest.fixture
def load():
    """Code that loads torch's OpenMP alone, which takes less time than torch."""
    folder = Path(find_spec("torch").origin).parent / "lib"
    for library in folder.glob("libgomp*"):
        return f"import ctypes; ctypes.CDLL({str(library)!r})"
    return "import torch"


def test_every_way_to_start_a_command_makes_them_sleep_soon(load):
    plain = spins(["-c", load])
    for start in (MODULE, SCRIPT):
        assert spins(start) == "20000" != plain


def test_what_the_user_says_is_kept(load):
    start = ["-c", f"from swap import openmp; openmp.set_defaults(); {load}"]
    assert spins(start) == "20000"
    assert spins(start, GOMP_SPINCOUNT="123") == "123"
    assert spins(start, OMP_WAIT_POLICY="PASSIVE") == "0"
    active = {"OMP_WAIT_POLICY": "ACTIVE"}
    assert spins(start, **active) == spins(["-c", load], **active)


def test_torch_is_not_there_before():
    code = "import sys, swap.cli.main; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
