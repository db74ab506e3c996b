"""Presets that learn parkour from a depth camera, in one training stage: SWAP itself, and the arms
of its ablation, which differ from it only in the constraint, and in the rate that goes with it."""

from dataclasses import dataclass, field, replace

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env import CurriculumCfg, EnvCfg, ParkourEnv
from swap.errors import UserError
from swap.learn import AMPCfg, ModelCfg, SymmetryCfg, Trainer, TrainerCfg
from swap.motions import transitions
from swap.nn.conv import check_image_size
from swap.presets.parkour import ParkourCfg
from swap.presets.run_cfg import RunCfg
from swap.presets.teacher import TEACHER
from swap.sensors import DepthCameraCfg


@dataclass(frozen=True)
class SwapCfg(ParkourCfg):
    """A policy that reads the latent of a world model, which sees the terrain with a depth
    camera."""

    env: EnvCfg = field(default_factory=lambda: EnvCfg(camera=DepthCameraCfg()))
    model: ModelCfg = field(default_factory=ModelCfg)
    """The world model and how it learns."""
    amp: AMPCfg = field(default_factory=AMPCfg)
    """The style reward."""

    @property
    def learning(self) -> TrainerCfg:
        if self.env.camera is None:
            raise UserError("the world model sees by a camera; set env.camera=DepthCameraCfg()")
        optics = self.env.camera.optics
        check_image_size((optics.rows, optics.cols), self.model.net.channels)
        return self.learning_with(self.model, self.amp)

    def trainer(self, env: ParkourEnv, processes: ProcessGroup = SINGLE_PROCESS) -> Trainer:
        return Trainer(self.learning, env, transitions(env.robot), processes)


PLAIN_LR, LR = 1e-4, 1.4e-4
"""Learning rates of a plain and of an equivariant world model. Each entry of an equivariant layer's
dense matrix is half the sum or difference of an even and an odd weight. Adam moves both by the
rate, and so the entry by 1/√2 of it: with one rate for both, the equivariant model is slower. See
docs/log.md. (PPO's rate adapts to the policy by itself.)"""
CAMERA_POLICY = replace(
    TEACHER.policy,
    actor_reads=("history", "command", "latent"),
    critic_reads=("privileged", "latent"),
)
ENV = EnvCfg(
    camera=DepthCameraCfg(),
    start=TEACHER.env.start,
    # Most worlds go where most is left to learn. After 80 M steps the frontiers of boxes and gaps
    # are .96 m and 1.68 m, .80 m and 1.49 m with EnvCfg's shares. See docs/log.md.
    families=(
        ("flat", 0.05),
        ("box", 0.4),
        ("gap", 0.25),
        ("stairs", 0.1),
        ("lateral_slope", 0.1),
        ("rocks", 0.1),
    ),
    curriculum=CurriculumCfg(replay_fraction=0.25),
)
SWAP = SwapCfg(
    run=RunCfg(minutes=25.0),
    env=ENV,
    policy=CAMERA_POLICY,
    ppo=TEACHER.ppo,
    model=ModelCfg(lr=LR, updates=5),  # per control step as many as with rollouts twice as long
    amp=AMPCfg(weight=0.02),  # half of that was 4 % of the reward, and robots shuffled
)
NO_EQ_POLICY = replace(SWAP, policy=replace(CAMERA_POLICY, equivariant=False))
NO_EQ = replace(
    NO_EQ_POLICY,
    model=replace(SWAP.model, lr=PLAIN_LR, net=replace(SWAP.model.net, equivariant=False)),
    amp=replace(SWAP.amp, equivariant=False),
)
"""No part is equivariant; this is essentially WMP."""
MATCHED_NET = replace(
    NO_EQ.model.net,
    deter=352,
    hidden=256,
    channels=(8, 16, 32, 64),
    prop_hidden=86,
    decoder_hidden=182,
)
NO_EQ_MATCHED = replace(
    NO_EQ,
    model=replace(NO_EQ.model, net=MATCHED_NET),
    policy=replace(NO_EQ.policy, actor_hidden=(340, 170, 86), critic_hidden=(336, 168, 84)),
    amp=replace(NO_EQ.amp, hidden=(166, 84)),
)
"""The same, but narrower: every part has as many parameters as SWAP's, to within 2 %."""
WIDE_NET = replace(
    SWAP.model.net,
    deter=736,
    hidden=544,
    channels=(32, 64, 128, 256),
    prop_hidden=192,
    decoder_hidden=336,
)
WIDE = replace(
    SWAP,
    model=replace(SWAP.model, net=WIDE_NET),
    policy=replace(SWAP.policy, actor_hidden=(752, 376, 192), critic_hidden=(760, 380, 192)),
    amp=replace(SWAP.amp, hidden=(384, 192)),
)
"""SWAP, but wider: every part has as many parameters as NO_EQ's, to within 2 %."""

ARMS = {
    "swap": SWAP,
    "swap-wide": WIDE,
    "swap-no-eq-policy": NO_EQ_POLICY,
    "swap-no-eq": NO_EQ,
    "swap-no-eq-matched": NO_EQ_MATCHED,
    "symloss": replace(NO_EQ, symmetry=SymmetryCfg("loss")),
    "augment": replace(NO_EQ, symmetry=SymmetryCfg("augment")),
}
"""The paper's four arms, and three that it does not have: an equivariant and a plain one with as
many parameters as the other, and one with mirrored samples."""
