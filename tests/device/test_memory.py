"""Memory that nobody uses any more is given back."""

import weakref

from swap.device.memory import give_back_memory


class Circle:
    def __init__(self) -> None:
        self.own = self


def test_circles_are_gone_at_once():
    left = weakref.ref(Circle())
    assert left() is not None
    give_back_memory()
    assert left() is None
