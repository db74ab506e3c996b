"""Makes Triton's interpreter, which runs the kernels without a GPU, prepare its language once in a
launch. By itself it does so again at every call of a function in a kernel, which takes a third of
the time of these tests."""

from collections.abc import Callable
from typing import Any

import pytest


def prepare_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Returns a function to call before each launch."""
    import triton.language as tl
    from triton.runtime import interpreter

    prepare, ready = interpreter._patch_lang, set()

    def once(fn: Any) -> Any:
        seen = {x.__name__ for x in fn.__globals__.values() if x is tl or x is tl.core}
        if seen <= ready:
            return None
        ready.update(seen)
        return prepare(fn)

    monkeypatch.setattr(interpreter, "_patch_lang", once)
    return ready.clear
