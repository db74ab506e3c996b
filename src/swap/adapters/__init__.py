"""Adapts the environment to the interfaces of other libraries: Gymnasium and rsl_rl.

Neither is installed with SWAP. Each has a file here, which is imported only when it is needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from torch import Tensor

from swap.errors import UserError, unknown

GYMNASIUM = "gymnasium>=1.1,<2"
RSL_RL = "rsl-rl-lib>=5,<6"


@contextmanager
def needs(requirement: str) -> Iterator[None]:
    """Turns a failed import into an error with the command that installs the library."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(
            f"no module '{error.name}' here; install it: pip install '{requirement}'"
        ) from error


def select_groups(
    obs: Mapping[str, Tensor], groups: Sequence[str] | None = None
) -> dict[str, Tensor]:
    """Returns the observation groups of these names, or all."""
    names = tuple(obs) if groups is None else tuple(groups)
    if not names:
        raise UserError(f"groups is empty; name at least one of {', '.join(obs)}, or leave it out")
    for name in names:
        if name not in obs:
            raise unknown("observation group", name, obs)
    return {name: obs[name] for name in names}
