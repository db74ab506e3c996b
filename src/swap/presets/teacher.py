"""The preset `teacher`: parkour from a height map, fast to train."""

from swap.env import EnvCfg, StartCfg
from swap.learn import PPOCfg
from swap.policy import PolicyCfg
from swap.presets.parkour import ParkourCfg
from swap.presets.run_cfg import RunCfg

TEACHER = ParkourCfg(
    run=RunCfg(minutes=18.0),
    env=EnvCfg(start=StartCfg(run_up_skip=0.5)),
    # An initial std of 1.0, usual elsewhere, topples this robot within a second, and nearly every
    # reward is then clipped to zero: it learned nothing in 25 M steps. See docs/log.md.
    policy=PolicyCfg(init_std=0.4, max_std=0.5),
    # Much noise at first, when there is most to find, and little in the end, because a policy that
    # is used to noise fails without it. Many short rollouts: of six settings this learned most in
    # nine minutes.
    ppo=PPOCfg(steps=12, entropy_coef=0.005, final_max_std=0.15),
)
