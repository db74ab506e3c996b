"""Neither library is needed: each is an extra, and nothing imports it unasked."""

import subprocess
import sys
import tomllib
from pathlib import Path

from swap.adapters import GYMNASIUM, RSL_RL

ROOT = Path(__file__).parents[2]


def test_what_a_user_is_told_to_install_is_what_the_extra_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras["gymnasium"] == [GYMNASIUM]
    assert extras["rsl-rl"] == [RSL_RL]
    dev = next(word for word in extras["dev"] if word.startswith("swap-parkour["))
    assert {"gymnasium", "rsl-rl"} <= {*dev.partition("[")[2].strip("]").split(",")}


def test_nothing_is_imported_before_it_is_asked_for():
    script = (
        "import sys, swap.api, swap.adapters, swap.cli.main;"
        "print({'gymnasium', 'rsl_rl', 'tensordict'} & {m.split('.')[0] for m in sys.modules})"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == "set()"
