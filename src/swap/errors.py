"""Defines UserError: a user's mistake, reported in one line that names the fix.

Messages may quote untrusted files, so a UserError prints no control characters.
"""

import difflib
from collections.abc import Iterable

LISTED = 300
"""Most characters of a list of known names; a long list is cut."""


class UserError(ValueError):
    """Raised for bad input. The command line prints its one line and exits with code 2."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


def printable(text: object, longest: int = 1000) -> str:
    """Make one line that is safe to print in a terminal: control characters, marks that change the
    direction of writing, and half characters become escapes; text that is too long is cut."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def unknown(kind: str, name: str, known: Iterable[str], more: str = "") -> UserError:
    """`unknown joint 'FL_kne'; did you mean 'FL_knee'?`, or the known names if none is close, and
    how to get `more`."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hints = [f"did you mean {_either(close)}?"] if close else [f"known: {_listed(known)}", more]
    return UserError("; ".join([f"unknown {kind} '{name}'", *filter(None, hints)]))


def _listed(names: list[str]) -> str:
    """The names, as many as fit on a line or two."""
    shown = names
    while len(shown) > 1 and len(", ".join(shown)) > LISTED:
        shown = shown[:-1]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return (", ".join(shown) or "none") + more


def _either(names: list[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)
