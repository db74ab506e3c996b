"""Made-up results of a small study, from which tables and figures are made."""

import json
from pathlib import Path

from small_study import written
from swap.study.plan import Folder, create_folder
from swap.study.study import Run, read_study

SIZES = (0.5, 1.0)
RATES = {  # arm -> seed -> success at both sizes
    "ours": [(1.0, 0.9), (1.0, 0.7), (0.9, 0.8)],
    "plain": [(0.8, 0.2), (1.0, 0.75), (0.7, 0.1)],
}


def put(path: Path, **content) -> None:
    path.write_text(json.dumps({"rows": [], **content}))


def row(size, success, family="box", side="both", **more):
    told = {"family": family, "size": size, "unit": "m", "side": side, "speed": 1.0}
    return told | {"success": success} | more


def measured(folder, arm, seed, side="both"):
    pairs = zip(SIZES, RATES[arm][seed], strict=True)
    rows = [row(size, rate, side=side) for size, rate in pairs]
    put(folder.measured("boxes", Run(arm, seed)), rows=rows)


def one_arm(tmp_path, **measure):
    """A study of one arm and three seeds, and its folder."""
    data = {"seeds": [0, 1, 2], "steps": 1000, "arms": {"a": "--preset tiny"}, "measure": measure}
    study, folder = read_study(written(tmp_path / "one.toml", data)), Folder(tmp_path / "one")
    create_folder(study, folder)
    return study, folder


def learned(folder, arm, seed, speed=1.0):
    rows = [
        {"iteration": k, "wall_s": 6.0 * k, "steps": 100.0 * k, "frontier/box": 0.1 * k * speed}
        for k in range(1, 11)
    ]
    folder.metrics(Run(arm, seed)).write_text("".join(json.dumps(r) + "\n" for r in rows))


def everything(folder):
    for arm in RATES:
        for seed in range(3):
            measured(folder, arm, seed)
            learned(folder, arm, seed, 1.0 if arm == "ours" else 0.85)
