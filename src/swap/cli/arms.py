"""`swap arms`: what each arm of the ablation constrains, and how large its networks are."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, save, show


@dataclass(frozen=True)
class Args:
    """Build the networks of every arm, mirror what they read, and count their parameters."""

    json: Path | None = None
    """Also write the table to this file."""


def run(args: Args) -> int:
    from swap.evaluate.arms import LIMIT, describe
    from swap.presets.swap import ARMS

    arms = describe(ARMS)
    rows = [
        {
            "arm": arm["arm"],
            **arm["networks"],
            "penalty": ", ".join(f"{part} {w:g}" for part, w in arm["penalty"].items()) or None,
            "augmentation": "mirrored samples" if arm["augmentation"] else None,
        }
        for arm in arms
    ]
    sizes = [{"arm": arm["arm"], **arm["parameters"], "total": arm["total"]} for arm in arms]
    notes = [
        "equivariant: a mirrored input gives the mirrored output to the last bit. penalty: weight "
        "in PPO's loss of the squared length by which this fails.",
        "mirrored samples: PPO, world model and discriminator learn from them, too. "
        "Nothing else differs but the widths of swap-wide and swap-no-eq-matched.",
    ]
    show(Report("Arms", rows, notes))
    show(Report(f"Their parameters ({LIMIT / 1e6:g} M may run on board)", sizes))
    save(Report("Arms", arms, notes), args.json)
    return 0
