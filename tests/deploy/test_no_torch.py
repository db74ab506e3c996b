"""What runs on a robot imports neither torch nor a simulator."""

import subprocess
import sys
from pathlib import Path

import swap.deploy

PROGRAM = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "mujoco", "warp", "mujoco_warp", "safetensors", "rich"}:
            raise ImportError(f"{name} is not on this robot")

sys.meta_path.insert(0, Blocker())
import swap.deploy
names = [x.name for x in pkgutil.walk_packages(swap.deploy.__path__, "swap.deploy.")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_deploy_imports_without_torch_and_mujoco():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = list(Path(swap.deploy.__path__[0]).rglob("*.py"))
    assert int(done.stdout) == len(files) - 1
