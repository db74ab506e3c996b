"""`swap rewards`: the reward table, the paper's rows and ours, with the weights of each preset."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show


@dataclass(frozen=True)
class Args:
    """Print every term of the reward with its equation, origin and weights."""

    term: tuple[str, ...] = ()
    """Also show these terms of yours, file.py:NAME or package.module:NAME; their code is run, and
    tried in mirrored worlds."""
    json: Path | None = None
    """Also write the table to this file."""


def run(args: Args) -> int:
    from swap.env import REWARDS
    from swap.env.reward_presets import WEIGHTS
    from swap.sim import CONTROL_DT

    for word in args.term:
        REWARDS.from_user(word)
    rows = [
        {"term": term.name, "equation": term.equation, "origin": term.origin}
        | {preset: weights.get(term.name) for preset, weights in WEIGHTS.items() if weights}
        for term in REWARDS.values()
    ]
    notes = [
        f"A control step's reward is the weighted sum times {CONTROL_DT:g} s, clipped at zero from "
        "below; not so with --env.rewards.no-only-positive.",
        "paper-table: the paper's Table III. paper: with WMP's terms against exploits. teacher: "
        "height, vertical and orientation terms on flat ground only, more for tracking, and pay "
        "for new ground. tiny: without terms for the gait.",
    ]
    show(Report("Rewards", rows, notes), args.json)
    return check(args.term) if args.term else 0


def check(words: tuple[str, ...]) -> int:
    """A table of the user's terms; exit code 1 if one of them prefers a side."""
    from swap.evaluate.reward_audit import check_rewards

    rows = list(check_rewards(words))
    notes = [
        "unweighted, of robots that move their joints at random. mirror error: the largest "
        "difference between a world and its mirror image; networks with the mirror cannot learn "
        "what a reward asks for that prefers a side. pass: not known of what was always 0."
    ]
    show(Report("Your terms, in mirrored worlds", rows, notes))
    return 1 if any(row["pass"] is False for row in rows) else 0
