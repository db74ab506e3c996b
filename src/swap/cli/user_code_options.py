"""Options that name a robot's sensors and networks if these are the user's own code."""

from dataclasses import dataclass
from typing import Annotated, Any

import tyro


@dataclass(frozen=True)
class UserCodeOptions:
    """The same flags as in swap train."""

    actor: Annotated[str | None, tyro.conf.arg(name="policy.actor")] = None
    """The robot's actor, if it is your own class: file.py:NAME or package.module:NAME."""
    critic: Annotated[str | None, tyro.conf.arg(name="policy.critic")] = None
    """The robot's critic, if it is your own class."""
    encoder: Annotated[str | None, tyro.conf.arg(name="model.net.encoder")] = None
    """The encoder of its world model, if it is your own class."""
    observations: Annotated[tuple[str, ...] | None, tyro.conf.arg(name="env.observations")] = None
    """All observations besides the usual groups, if any of them is your own."""

    def given(self) -> dict[str, Any]:
        return {name: word for name, word in vars(self).items() if word is not None}


UserCode = Annotated[UserCodeOptions, tyro.conf.arg(name="")]
