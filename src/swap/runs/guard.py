"""Watches the metrics for faults, saves evidence, and stops the run if they persist."""

import math
import re
import shutil
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from swap.learn.trainable import Trainable
from swap.learn.trainer import NETWORKS
from swap.presets.run_cfg import GuardCfg, RunCfg
from swap.runs.checkpoint import Say
from swap.runs.shards import write_folder

FOLDER, PREFIX = "evidence", "guard/"
REMEDIES = {
    "contact_pool": "the contact pool is full: use a larger --env.contacts N",
    "overflow": "a world's contacts do not fit: use a larger --env.contact-rows N",
}
"""What to do about a fault, by name."""
WEIGHTS = {"contact_pool": 0.05}
"""Weights of faults; others have 1. A full contact pool is counted for all worlds that share it,
but few of them lose a contact. So a run stops when the pool is full in 2 % of the control steps.
"""


STAGES = (
    "guard/obs",
    "guard/action",
    "diverged|overflow|contact_pool|speed",
    "reward",
    "/value$",
    "advantage",
    "explained",
    "loss",
    "grad",
)
"""Patterns of metric names in the order of computation: a value that is not finite spoils all that
follow, so the first one is to blame."""
LEARNERS = {"ppo": ("PPO", "skipped_updates"), "model": ("the world model", "model_skipped")}
LEARNERS["amp"] = ("AMP", "amp_skipped")
"""For each group of metrics that counts its gradient steps in `updates`: the learner's name, and
the metric that counts skipped steps."""
OF_LEARNERS = "skipped|loss|grad_norm"
"""Faults that are counted in gradient steps, not in control steps."""
NEARLY_ALL, HALF = 0.9, 0.5
"""An iteration is lost if NEARLY_ALL of a learner's gradient steps are skipped, or if more than
HALF of the control steps cannot be learned from."""


class Guard:
    """Watches one run; call `check` after every iteration."""

    def __init__(
        self, cfg: GuardCfg, run: Path, say: Say, shard_mib: float = RunCfg.shard_mib
    ) -> None:
        self.cfg, self.folder, self.say, self.shard_mib = cfg, run / FOLDER, say, shard_mib
        self.totals: Counter[str] = Counter()
        self.strikes = 0
        """Iterations in a row with a metric that is not finite."""
        self.lost = 0
        """Iterations in a row that were lost, for this or another reason."""
        self.seen: set[str] = set()
        self.recent: deque[tuple[float, float]] = deque(maxlen=cfg.window)  # faults, steps
        self.steps = math.nan

    def check(
        self, iteration: int, metrics: Mapping[str, float], trainable: Trainable
    ) -> str | None:
        """Returns None to go on, or the message to stop with."""
        broken = [name for name, value in metrics.items() if not math.isfinite(value)]
        counted = {
            name: int(value)
            for name, value in metrics.items()
            if name.startswith(PREFIX) and math.isfinite(value) and value > 0
        }
        self.totals.update({_bare(name): n for name, n in counted.items()})
        messages = {name: f"{name} is {metrics[name]}" for name in broken}
        messages |= {
            name: f"{name} counts {n}{_remedy(name, metrics)}" for name, n in counted.items()
        }
        messages = {name: messages[name] for name in sorted(messages, key=_stage)}
        for culprit in [name for name in messages if name not in self.seen]:
            self.seen.add(culprit)
            kept = self._save_evidence(iteration, culprit, metrics, trainable)
            self.say(f"iteration {iteration}: {messages[culprit]}{kept}")
        self.strikes = self.strikes + 1 if broken else 0
        steps = metrics.get("steps", math.nan)
        fresh, self.steps = steps - self.steps, steps
        faults = sum(n * _weight(name) for name, n in counted.items())
        lost = _idle(metrics) or _useless(faults, fresh)
        self.lost = self.lost + 1 if lost or broken else 0
        if self.lost >= self.cfg.strikes:
            causes = [*_broken_weights(trainable), *messages.values()]
            return (
                f"stopped at iteration {iteration}: {f'{lost}: ' if lost else ''}"
                f"{', '.join(causes[:3])} for {self.lost} iterations; evidence in {self.folder}"
            )
        return self._too_many(iteration, metrics, fresh, faults)

    def _too_many(
        self, iteration: int, metrics: Mapping[str, float], fresh: float, faults: float
    ) -> str | None:
        if not math.isfinite(fresh):  # the first iteration, or the trainable counts no steps
            return None
        self.recent.append((faults, fresh))
        all_faults = sum(f for f, _ in self.recent)
        all_steps = sum(s for _, s in self.recent)
        bad, seen = sum(f > 0 for f, _ in self.recent), len(self.recent)
        if seen < self.cfg.window and bad < self.cfg.strikes:  # it may have been chance
            return None
        if (
            all_faults <= self.cfg.fault_fraction * all_steps * self.cfg.window / seen
        ):  # of a full window
            return None
        heavy = sorted(filter(_weight, self.totals), key=lambda k: -self.totals[k] * _weight(k))[:3]
        worst = ", ".join(f"{name} {self.totals[name]}{_remedy(name, metrics)}" for name in heavy)
        return (
            f"stopped at iteration {iteration}: {all_faults:.0f} faults in {all_steps:.0f} steps "
            f"are too many (most: {worst}); evidence in {self.folder}"
        )

    def _save_evidence(
        self, iteration: int, culprit: str, metrics: Mapping[str, float], trainable: Trainable
    ) -> str:
        """Saves the state as evidence; returns the end of the message."""
        tensors = trainable.state_dict()
        nan = not_finite(tensors)
        tail = f"; not finite: {', '.join(nan[:4])}{' ...' * (len(nan) > 4)}" if nan else ""
        place = self.folder / f"{iteration:06d}-{re.sub('[^A-Za-z0-9_.-]', '_', culprit)}"
        if place.exists() or len(self.seen) > self.cfg.evidence:
            return tail
        facts = {
            "iteration": iteration,
            "culprit": culprit,
            "not_finite": nan,
            # As text, since strict JSON has no NaN and this file is for reading.
            "metrics": {name: repr(float(value)) for name, value in metrics.items()},
            "numbers": trainable.numbers(),
        }
        try:
            self.folder.mkdir(exist_ok=True)  # no parents: the run's folder may have been moved
            place.mkdir()
            write_folder(place, tensors, facts, self.shard_mib)
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            return f"{tail}; no evidence kept ({error.strerror or error})"
        return f"{tail}; evidence in {place}"


def _bare(name: str) -> str:
    return name.removeprefix(PREFIX)


def _weight(name: str) -> float:
    return 0.0 if re.search(OF_LEARNERS, name) else WEIGHTS.get(_bare(name), 1.0)


def _stage(name: str) -> int:
    """At which stage of an iteration a metric is computed."""
    found = (i for i, pattern in enumerate(STAGES) if re.search(pattern, name))
    return next(found, len(STAGES))


def _idle(metrics: Mapping[str, float]) -> str:
    """Says which learner skips (nearly) all of its gradient steps; empty if none."""
    for group, (name, skipped) in LEARNERS.items():
        tried, lost = metrics.get(f"{group}/updates", 0.0), metrics.get(PREFIX + skipped, 0.0)
        if tried > 0 and lost >= NEARLY_ALL * tried:
            return f"{name} skips {lost:.0f} of {tried:.0f} gradient steps"
    return ""


def _useless(faults: float, steps: float) -> str:
    """Says that most control steps cannot be learned from; empty if that is not so."""
    return (
        f"{faults:.0f} faults in {steps:.0f} steps" if steps > 0 and faults > HALF * steps else ""
    )


def _broken_weights(trainable: Trainable) -> list[str]:
    """The weights that are not finite. They are the cause of all other faults, since no gradient
    step makes them."""
    bad = [name for name in not_finite(trainable.state_dict()) if name.startswith(NETWORKS)]
    return [f"weights {bad[0]} are not finite"] if bad else []


def _remedy(name: str, metrics: Mapping[str, float]) -> str:
    """What to do about a fault, in brackets; empty if nothing is known."""
    cure = _largest_term(metrics) if _bare(name) == "reward" else REMEDIES.get(_bare(name))
    return f" ({cure})" if cure else ""


def _largest_term(metrics: Mapping[str, float]) -> str:
    """Names the largest reward term, the likely cause of a reward that is out of bounds."""
    terms = {k: abs(x) for k, x in metrics.items() if re.match("reward/(?!step$)", k)}
    if not terms:
        return ""
    worst = max(terms, key=lambda term: (math.isnan(terms[term]), terms[term]))
    return f"the largest term is {worst}, {metrics[worst]:.3g}; see --env.rewards.terms"


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of tensors with a NaN or an infinity in them."""
    return [
        name
        for name, x in tensors.items()
        if x.is_floating_point() and not bool(torch.isfinite(x).all())
    ]


def has_nan(tensors: Mapping[str, Tensor]) -> list[str]:
    """The same for NaN alone: an infinity can be intended, such as the best of no values."""
    return [
        name for name, x in tensors.items() if x.is_floating_point() and bool(torch.isnan(x).any())
    ]
