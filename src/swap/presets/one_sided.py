"""Presets that train on one side only: every arm of the ablation on flat ground and on boxes,
stairs and gaps that are high on the left. They are measured on the right, which none has seen."""

from dataclasses import replace

from swap.env import EnvCfg
from swap.presets.swap import ARMS, SWAP

ENV: EnvCfg = replace(
    SWAP.env,
    families=(("flat", 0.1), ("tilted_box", 0.3), ("tilted_stairs", 0.3), ("tilted_gap", 0.3)),
    mirror_half=False,
    tilt_deg=(5.0, 20.0),
)
ONE_SIDED = {f"{name}-one-sided": replace(arm, env=ENV) for name, arm in ARMS.items()}
