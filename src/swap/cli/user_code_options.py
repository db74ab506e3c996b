"""Options that name a robot's sensors and networks where these are the user's own code."""

from dataclasses import dataclass
from typing import Annotated, Any

import tyro


@dataclass(frozen=True)
class UserCodeOptions:
    """By the flags of swap train."""

    actor: Annotated[str | None, tyro.conf.arg(name="policy.actor")] = None
    """The robot's actor, if it is a class of yours: file.py:NAME or package.module:NAME."""
    critic: Annotated[str | None, tyro.conf.arg(name="policy.critic")] = None
    """Its critic, likewise."""
    encoder: Annotated[str | None, tyro.conf.arg(name="model.net.encoder")] = None
    """The encoder of its world model, likewise."""
    observations: Annotated[tuple[str, ...] | None, tyro.conf.arg(name="env.observations")] = None
    """All that it observes beside the usual groups, if any of it is a declaration of yours."""

    def given(self) -> dict[str, Any]:
        return {name: word for name, word in vars(self).items() if word is not None}


UserCode = Annotated[UserCodeOptions, tyro.conf.arg(name="")]
