"""Expands the shorthands in the words after `swap train`. The options themselves are parsed later,
once it is known which preset they belong to."""

import shlex
from itertools import takewhile
from pathlib import Path

from swap.cli.main import check_repeated
from swap.errors import UserError
from swap.presets import ParkourCfg, TrainCfg
from swap.presets.table import PRESETS
from swap.registry import is_code
from swap.runs.migrations import option_today
from swap.runs.resume import newest_run

HOME = Path("out/train")
"""Default folder of runs, where a bare --resume also looks."""
PAIRS = {
    "--env.families": "NAME SHARE or NAME=SHARE, e.g. box 1",
    "--env.rewards.terms": "NAME WEIGHT or NAME=WEIGHT, e.g. headway 1",
}
"""Options that take names and numbers, which may be typed as name=number."""


def expand_options(options: list[str]) -> list[str]:
    """Returns the options in full; raises a UserError for an option that has another name today, is
    given twice, or has half a pair, and for a name without its option."""
    check_first_word(options)
    check_repeated(options)
    check_renamed(options)
    options = split_pairs(options)
    check_pairs(options)
    return resolve_resume(resolve_auto_preset(options))


def option_value(options: list[str], flag: str) -> str | None:
    """The value of a flag, before the options are parsed."""
    for i, word in enumerate(options):
        if word == flag:
            return options[i + 1] if i + 1 < len(options) else None
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def check_first_word(options: list[str]) -> None:
    if not options or options[0].startswith("-"):
        return
    word = options[0]
    if word in PRESETS or is_code(word):
        raise UserError(f"swap train {word}: did you mean --preset {word}?")
    raise UserError(f"swap train {word}: give --preset NAME, --from ROBOT or --resume RUN")


def check_renamed(options: list[str]) -> None:
    for word in options:
        option = word.partition("=")[0]
        if option.startswith("--") and (today := option_today(option)) != option:
            raise UserError(f"{option} is now {today}")


def check_camera(options: list[str], preset: str | None, cfg: TrainCfg) -> None:
    """Raises a UserError for a camera option if the preset has no camera."""
    if not isinstance(cfg, ParkourCfg) or cfg.env.camera is not None:
        return
    for word in options:
        if word.startswith("--env.camera."):
            option = word.partition("=")[0]
            raise UserError(
                f"{option}: preset '{preset}' has no camera, for nothing in it reads images; use "
                "one with a world model, e.g. --preset swap"
            )


def split_pairs(options: list[str]) -> list[str]:
    """Splits the pairs in `--env.rewards.terms headway=1 my.py:calm=0.5` into two words each."""
    out: list[str] = []
    within = False
    for word in options:
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            within = flag in PAIRS
            if within and value:
                out.append(flag)
                word = value
        name, equals, number = word.rpartition("=")
        out += [name, number] if within and equals else [word]
    return out


def check_pairs(options: list[str]) -> None:
    """Raises a UserError if an option of PAIRS, split before, is followed by anything but names and
    numbers in turn."""
    for flag, form in PAIRS.items():
        if flag not in options:
            continue
        after = options[options.index(flag) + 1 :]
        words = list(takewhile(lambda word: not word.startswith("--"), after))
        if len(words) % 2 or not all(map(is_number, words[1::2])):
            raise UserError(f"{flag} {shlex.join(words)}: give pairs of {form}")


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def resolve_auto_preset(options: list[str]) -> list[str]:
    """Replaces `--preset auto` by the preset that suits this machine."""
    if option_value(options, "--preset") != "auto":
        return options
    import torch

    name = "swap" if torch.cuda.is_available() else "tiny"
    out = list(options)
    for i, word in enumerate(options):  # a device may also be auto
        if word == "--preset=auto":
            out[i] = f"--preset={name}"
        elif word == "auto" and i and options[i - 1] == "--preset":
            out[i] = name
    return out


def resolve_resume(options: list[str]) -> list[str]:
    """Gives a bare `--resume` the folder it means: that of --out, or of the newest run."""
    if "--resume" not in options:
        return options
    at = options.index("--resume") + 1
    if at < len(options) and not options[at].startswith("-"):
        return options
    folder = option_value(options, "--out") or str(newest_run(HOME))
    return [*options[:at], folder, *options[at:]]
