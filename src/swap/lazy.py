"""Makes packages that import each of their names only when it is used.

Layouts and configs must work without a simulator, so importing one of them from a package must not
import the rest.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def names_of(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Make a `__getattr__` for a package; `modules` lists the names of each of its modules."""
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(
            sys.modules[package], name, value
        )  # so that this function is not called again for it
        return value

    return find
