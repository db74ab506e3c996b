"""Options of commands that act with a robot: its networks, where they are code of the user's."""

from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class NetworkOptions:
    """By the flags of swap train."""

    actor: Annotated[str | None, tyro.conf.arg(name="policy.actor")] = None
    """The robot's actor, if it is a class of yours: file.py:NAME or package.module:NAME."""
    critic: Annotated[str | None, tyro.conf.arg(name="policy.critic")] = None
    """Its critic, likewise."""
    encoder: Annotated[str | None, tyro.conf.arg(name="model.net.encoder")] = None
    """The encoder of its world model, likewise."""

    def given(self) -> dict[str, str]:
        return {name: word for name, word in vars(self).items() if word is not None}


Networks = Annotated[NetworkOptions, tyro.conf.arg(name="")]
