"""SWAP: left-right equivariant world models and policies for quadruped parkour."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swap.api import load, make_env, make_gymnasium_env, make_rsl_rl_env

__version__ = "0.1.0"
__all__ = ["load", "make_env", "make_gymnasium_env", "make_rsl_rl_env"]


def __getattr__(name: str) -> Any:
    """Import names of `swap.api` only when they are used, so that `swap --help` is quick."""
    if name in __all__:
        import swap.api

        return getattr(swap.api, name)
    raise AttributeError(f"module 'swap' has no attribute '{name}'")
