"""Measures how far a robot's networks, and its behaviour in mirrored worlds, are from their mirror
image.

First the robot acts, without exploration, in pairs of mirrored worlds on the cpu engine: course,
robot, start, noise and pushes of one are the mirror image of the other's. If policy and world model
are equivariant, the second robot must move as the mirror image of the first, up to the rounding of
the physics (`mirror_audit.TOLERANCE`). Observations are rounded, see `GRID`.

Then all networks get what the first robots observed, and also its exact mirror image, with mirrored
noise. An equivariant network must answer with the mirror image, bit for bit.

A network that does not claim to be equivariant is measured, but cannot fail. Actor and critic claim
it only if the world model that they read does: the latent of a plain world model has no mirror
image.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from swap.courses import FAMILIES
from swap.evaluate.layer_check import numerics
from swap.evaluate.mirror_audit import TOLERANCE
from swap.evaluate.mirrored_pairs import Pairs
from swap.evaluate.scenes import bank_of
from swap.learn.style_reward import GROUP
from swap.policy import LATENT, Agent, LatentState
from swap.runs.trained_robot import TrainedRobot
from swap.symmetry import VECTOR, Grid, Rep, trivial

STEPS = 100
"""Control steps that the robots act; their observations are then fed to the networks."""
DIFFICULTIES = (0.0, 0.3, 0.6)
"""Difficulties of the courses of each family."""
RESETS = 0.02
"""Probability per step that a world's latent is reset while networks are fed, to test that this
mirrors too."""
GRID = 1024.0
"""Agents read observations rounded to multiples of 1 / GRID, far below their noise.

Two mirrored worlds are some 1e-12 apart, in float64. Now and then that changes a float32
observation by a unit in the last place; the policy responds, and walking is chaotic: without
rounding the trained teacher and its mirror image were 2e-6 m apart after 2 s, and 1 m after 6 s.
"""
REP_TOLERANCE = 1e-3
"""The mirror error of an observation, or a reward, must be less than this times its largest
value."""
LIMIT_M = TOLERANCE["cpu"]["position"]
Outputs = dict[str, Tensor]


class ModelAudit:
    """Pairs of worlds of some families with a robot in each, and what the first robots observed."""

    def __init__(
        self,
        robot: TrainedRobot,
        device: str,
        families: Sequence[str] = (),
        *,
        speed_mps: float = 1.0,
        seed: int = 0,
    ) -> None:
        """`device` is that of the networks; the worlds are on the CPU."""
        self.robot, self.device, self._seed = robot, device, seed
        self.families = list(families or FAMILIES)
        courses = bank_of(self.families, DIFFICULTIES, seed)
        self.pairs = len(courses)
        self.env = Pairs(robot.cfg.env, courses, speed_mps=speed_mps, seed=seed)
        self.networks = robot.networks_for(self.env, device)
        self.discriminator = robot.discriminator_for(self.env, device)
        model, amp = self.networks.model, robot.cfg.learning.amp
        sees = model is None or model.cfg.equivariant
        acts = self.networks.policy.cfg.equivariant and sees
        self.declared_equivariant = dict.fromkeys(
            ("encoder", "latent", "prediction", "decoder"), sees
        )
        self.declared_equivariant |= {"actor": acts, "critic": acts}
        self.declared_equivariant["discriminator"] = amp is not None and amp.equivariant
        self._observed: list[Outputs] = []
        self._actions: list[Tensor] = []
        self._errors: list[Tensor] = []
        self._travelled: list[Tensor] = []

    # --- observations ---------------------------------------------------------------------------
    @torch.no_grad()
    def check_observations(self, steps: int = 25) -> Iterator[dict[str, Any]]:
        """Returns a row for each of the user's observations: how far the observations of mirrored
        worlds, under mirrored actions, are from mirror images. Networks obey any Rep, even a wrong
        one; worlds obey only the right one."""
        env, names = self.env, [term.name for term in self.env.spaces.extra]
        if not names:
            return
        rep, draw = env.spaces.action.rep, torch.Generator().manual_seed(self._seed)
        largest, errors = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        obs = env.reset()
        for _ in range(steps):
            for name in names:
                here, there = obs[name].chunk(2)
                off = (there - env.groups[name].rep(here)).abs().max()
                largest[name] = max(largest[name], float(here.abs().max()))
                errors[name] = max(errors[name], float(off))
            half = 0.5 * torch.randn(self.pairs, rep.dim, generator=draw).to(env.device)
            obs = env.step(torch.cat([half, rep(half)])).obs
        for name in names:
            yield {
                "observation": name,
                "largest": largest[name],
                "error": errors[name],
                # Written so that NaN fails.
                "pass": errors[name] <= REP_TOLERANCE * largest[name],
            }

    # --- behaviour ------------------------------------------------------------------------------
    @torch.no_grad()
    def run(self, steps: int = STEPS) -> None:
        """Runs both halves of the pairs, each with its own agent: in one batch a row's place could
        change the order of a sum."""
        env, half = self.env, self.pairs
        one, two = (Agent(self.networks, half, self.device) for _ in range(2))
        obs = env.reset()
        start_w = env.engine.state.base_pos[:half].clone()
        with numerics("fp32", self.device):
            for _ in range(steps):
                here, there = self._split_pairs(obs)
                self._observed.append(here)
                self._actions.append(one.act(rounded(here)))
                action = torch.cat([self._actions[-1], two.act(rounded(there))])
                obs = env.step(action.to(env.device)).obs
                here_w, there_w = env.engine.state.base_pos.chunk(2)
                self._errors.append((there_w - VECTOR(here_w)).abs().amax(1))
                self._travelled.append((here_w - start_w).norm(dim=1))

    def check_behaviour(self) -> Iterator[dict[str, Any]]:
        """Returns a row for each family: the largest distance between a robot and the mirror image
        of its partner, m."""
        off, way = torch.stack(self._errors), torch.stack(self._travelled)  # [T, P]
        claims = self.declared_equivariant["actor"]
        for k, family in enumerate(self.families):
            mine = slice(k, None, len(self.families))
            worst = float(off[:, mine].max())
            yield {
                "family": family,
                "pairs": len(range(self.pairs)[mine]),
                "moved, m": float(way[:, mine].max()),
                "error, m": worst,
                # Written so that NaN fails.
                "pass": worst <= LIMIT_M if claims else None,
            }

    # --- networks -------------------------------------------------------------------------------
    @torch.no_grad()
    def check_networks(self) -> Iterator[dict[str, Any]]:
        """Returns a row for each network: its largest output and its largest mirror error."""
        with numerics("fp32", self.device):
            here, there = self._outputs(mirrored=False), self._outputs(mirrored=True)
        for name, rep in self._reps().items():
            error = float((there[name] - rep(here[name])).abs().max())
            yield {
                "part": name,
                "equivariant": self.declared_equivariant[name],
                "largest": float(here[name].abs().max()),
                "error": error,
                "pass": error == 0 if self.declared_equivariant[name] else None,
            }

    def _outputs(self, *, mirrored: bool) -> Outputs:
        """The outputs of every network for all that was observed, or for its mirror image."""
        policy, model = self.networks
        n, action = self.pairs, policy.action
        generator = torch.Generator().manual_seed(self._seed + 1)
        state = None if model is None else LatentState(model, n, self.device)
        outputs: dict[str, list[Tensor]] = {name: [] for name in self._reps()}
        last = None
        for observed, acted in zip(self._observed, self._actions, strict=True):
            # Random numbers are drawn on the CPU: the same ones wherever the networks are.
            fresh = (torch.rand(n, generator=generator) < RESETS).to(self.device)
            noise = torch.randn(2, n, action.dim, generator=generator).to(self.device)
            explores, also_does = (action(x) if mirrored else x for x in noise)
            obs = self._image(observed) if mirrored else observed
            if state is not None and model is not None:
                gumbel = model.noise(n, like=noise.cpu(), generator=generator).to(self.device)
                gumbel = model.categoricals.rep(gumbel) if mirrored else gumbel
                for name, x in _model_outputs(state, obs, fresh, gumbel).items():
                    outputs[name].append(x)
                # Random actions are added, because an untrained robot hardly moves.
                state.record((action(acted) if mirrored else acted) + 0.5 * also_does)
                obs = {**obs, LATENT: state.h}
            outputs["actor"].append(policy.act(obs, explores))
            outputs["critic"].append(policy.value(obs)[:, None])
            frame = obs[GROUP]
            if self.discriminator is not None and last is not None:
                pair = self.discriminator.coordinates(torch.cat((last, frame), -1))
                outputs["discriminator"].append(self.discriminator(pair)[:, None])
            last = frame
        return {name: torch.stack(several) for name, several in outputs.items()}

    def _reps(self) -> dict[str, Rep]:
        """How each network's outputs mirror."""
        policy, model = self.networks
        reps: dict[str, Rep] = {}
        if model is not None:
            latent = model.latent_layout.rep + model.categoricals.rep
            reps |= {"encoder": model.encoder.rep, "latent": latent, "prediction": latent}
            targets = model.prop.rep + model.body.rep + model.foot.rep
            reps["decoder"] = Grid(*model.image).rep + targets
        reps |= {"actor": policy.action, "critic": trivial(1)}
        if self.discriminator is not None:
            reps["discriminator"] = trivial(1)
        return reps

    def _split_pairs(self, obs: Outputs) -> tuple[Outputs, Outputs]:
        """Copies of the observations of the first worlds and of their mirror images, on the
        networks' device."""
        parts: tuple[Outputs, Outputs] = ({}, {})
        for name, x in obs.items():
            for part, half in zip(parts, x.chunk(2), strict=True):
                part[name] = half.to(self.device, copy=True)
        return parts

    def _image(self, obs: Outputs) -> Outputs:
        groups = self.env.groups
        return {n: groups[n].rep(x) if n in groups else x.flip(-1) for n, x in obs.items()}


def rounded(obs: Outputs) -> Outputs:
    return {name: (x * GRID).round() / GRID for name, x in obs.items()}


def _model_outputs(
    state: LatentState, obs: Mapping[str, Tensor], fresh: Tensor, noise: Tensor
) -> Outputs:
    """The outputs of the world model's parts for an observation, if it is a tick; otherwise
    empty."""
    model = state.model
    depth, prop = model.codec.from_linear(obs["depth_noisy"]), model.prop_of(obs)
    if not state.observe(fresh, lambda: (depth, prop, noise)):
        return {}
    ahead = model.predict(state.latent, state.actions, noise)
    return {
        "encoder": model.embed(depth, prop),
        "latent": torch.cat(state.latent, -1),
        "prediction": torch.cat(ahead, -1),
        "decoder": torch.cat([x.flatten(1) for x in model.decode(state.latent)], -1),
    }
