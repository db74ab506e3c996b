"""What a part of the soak tried, and how often it went wrong."""

from dataclasses import dataclass, field


@dataclass
class Tally:
    """`lost`: what was there is gone. `silent`: something is wrong and nobody said so."""

    what: str
    tried: int = 0
    lost: int = 0
    silent: int = 0
    tracebacks: int = 0
    late: int = 0
    notes: list[str] = field(default_factory=list)

    def fault(self, kind: str, note: str) -> None:
        """Told at once, so that it can be done again."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.notes.append(f"{self.what}, {kind}: {note}".encode(errors="backslashreplace").decode())
        print(self.notes[-1], flush=True)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.silent or self.tracebacks or self.late)
