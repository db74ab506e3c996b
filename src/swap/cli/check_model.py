"""`swap check model`: mirror what a robot observes; its networks and its behaviour must mirror
too."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from swap.cli.show import Report, Row, save, show
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

OBSERVATION_NOTES = (
    "What mirrored worlds observed under mirrored actions. error: the largest distance from the "
    "mirror image that the observation's rep makes.",
)
NETWORK_NOTES = (
    "The networks were fed what robots observed, and its mirror image. largest: of their outputs; "
    "error: the largest difference between the outputs and the mirrored ones. 0 is equal to the "
    "last bit.",
)
BEHAVIOUR_NOTES = (
    "Pairs of robots, driven by the policy without exploration in mirrored worlds on the cpu "
    "engine; observations rounded to 1/1024, so that the rounding of physics does not feed back. "
    "error: the largest distance between a robot and its partner's mirror image.",
)
TRIAL_NOTES = (
    "Whole trials in the same pairs, at three sizes of each family. same end: share of "
    "the pairs that end for the same reason; 5 cm apart: whose bases were at some time, mirrored.",
)


@dataclass(frozen=True)
class Args:
    """Mirror what a robot observes: encoder, latent, actor, critic and discriminator must mirror.

    Then let it act in mirrored worlds. Exit code 1 if what claims to be equivariant is not.
    """

    run: tyro.conf.Positional[Path | None] = None
    """Folder of a swap train run, a file that swap keep made, or a model by name; without it, the
    untrained networks of --preset."""
    preset: str = "swap"
    """The preset whose untrained networks are checked if no run is named; or yours,
    file.py:NAME."""
    family: tuple[str, ...] = ()
    """Course families, yours as file.py:NAME; by default all known ones."""
    steps: int = 100
    """Control steps."""
    trials: int = 0
    """Also run this many whole trials of each family, and as many mirrored ones, which must end
    the same."""
    seed: int = 0
    """Seed of courses, starts and noise."""
    device: str = "cpu"
    """cpu, cuda, or auto: where the networks run. The worlds are on the CPU."""
    json: Path | None = None
    """Also write the figures to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("steps",))


def run(args: Args) -> int:
    device = choose_device(args.device)
    if args.steps < 2:
        raise UserError(f"--steps {args.steps} shows no motion; use 2 or more")
    from swap.courses import FAMILIES
    from swap.evaluate.model_audit import LIMIT_M, ModelAudit
    from swap.evaluate.paired_trials import MIN_SAME_END, mirrored_trial_rows
    from swap.presets.user_code import preset_from_user
    from swap.runs.trained_robot import load_trained, untrained

    families = [FAMILIES.from_user(word).name for word in args.family]
    if args.run is None:
        preset_from_user(args.preset)
    robot = load_trained(args.run, **args.code.given()) if args.run else untrained(args.preset)
    audit = ModelAudit(robot, device, families, seed=args.seed)
    observations: list[Row] = list(audit.check_observations())
    audit.run(args.steps)
    networks: list[Row] = list(audit.check_networks())
    behaviour: list[Row] = list(audit.check_behaviour())
    who = f"{robot.name}, iteration {robot.iteration}, {args.steps} control steps, {device}"
    if observations:
        show(Report(f"Observations beside the usual ones ({who})", observations, OBSERVATION_NOTES))
    show(Report(f"Networks under the mirror ({who})", networks, NETWORK_NOTES))
    show(Report(f"Mirrored lives ({who}, limit {LIMIT_M:g} m)", behaviour, BEHAVIOUR_NOTES))
    trials: list[Row] = []
    if args.trials:
        trials = list(mirrored_trial_rows(robot, audit.families, args.trials, device, args.seed))
        acts = audit.declared_equivariant["actor"]
        trials = [
            {**row, "pass": row["same end"] >= MIN_SAME_END if acts else None} for row in trials
        ]
        show(
            Report(
                f"Mirrored trials ({robot.name}, iteration {robot.iteration})", trials, TRIAL_NOTES
            )
        )
    verdict, failed = judged(observations, networks, behaviour, trials)
    notes = [
        *NETWORK_NOTES,
        *BEHAVIOUR_NOTES,
        *missing(networks, robot.cfg.learning.amp is not None),
        verdict,
    ]
    print("\n".join(notes[len(NETWORK_NOTES) + len(BEHAVIOUR_NOTES) :]))
    save(
        Report(f"Mirror of {who}", [*observations, *networks, *behaviour, *trials], notes),
        args.json,
    )
    return 1 if failed else 0


def judged(
    observations: list[Row], networks: list[Row], behaviour: list[Row], trials: list[Row]
) -> tuple[str, bool]:
    """The verdict in words, and whether a claim was broken."""
    named = [(f"the rep of {row['observation']}", row["pass"]) for row in observations]
    named += [(row["part"], row["pass"]) for row in networks]
    named += [(f"life on {row['family']}", row["pass"]) for row in behaviour]
    named += [(f"trials on {row['family']}", row["pass"]) for row in trials]
    broken = [name for name, passed in named if passed is False]
    unclaimed = [row["part"] for row in networks if not row["equivariant"]]
    if broken:
        return f"FAILED: {', '.join(broken)}", True
    if unclaimed:
        return f"not claimed to be equivariant, so not judged: {', '.join(unclaimed)}", False
    return "all of it claims to be equivariant, and is", False


def missing(networks: list[Row], styled: bool) -> list[str]:
    if styled and all(row["part"] != "discriminator" for row in networks):
        return ["discriminator: not among these weights; check the run's folder to include it"]
    return []
