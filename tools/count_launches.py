"""Kernels that each hot path of training launches on a GPU, the bytes they move and what they
compute, equivariant and plain; counted without a GPU, on tensors that have shapes and no numbers.

    PYTHONPATH=src python tools/count_launches.py [--ops] [path ...]
    SWAP_KERNELS=all PYTHONPATH=src python tools/count_launches.py

An operation of torch that writes memory counts as one launch, which is about what a GPU does; those
that are known to take more, or fewer, are listed below. Bytes are those of all tensors read and
written, so what is read twice counts twice, caches or not. GFLOP are those of products and
convolutions.
"""

import argparse
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.utils import clip_grad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from swap.device import triton_launch
from swap.learn.amp import AMP
from swap.learn.collector import Collector
from swap.learn.metrics import MetricAccumulator
from swap.learn.model_learner import ModelLearner
from swap.learn.ppo import PPO
from swap.learn.replay import ReplayBuffer
from swap.learn.rollout import Rollout
from swap.learn.style_reward import GROUP
from swap.policy import LatentState, build_networks
from swap.presets import SwapCfg, get_preset
from swap.symmetry import Layout

ARMS = {"equivariant": "swap", "plain": "swap-no-eq"}
CPU = torch.device("cpu")
FREE = {
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "detach", "device",
    "promote_types", "lift_fresh", "_local_scalar_dense", "_record_function_enter_new",
    "_record_function_exit",
}  # fmt: skip
"""Take memory or look at it, and launch nothing."""
SEVERAL = {"convolution_backward": 2, "_fused_rms_norm_back": 2, "_foreach_norm": 2, "cumsum": 2}
"""Launches of one call: gradients of input and weights each have theirs."""
PER_LAUNCH = 36
"""Tensors that one launch of a `_foreach` or fused optimiser takes."""


class Count(TorchDispatchMode):
    """What is called while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.flop = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.name().split("::")[1].split(".")[0]
        if func.overloadpacket in flop_registry:
            self.flop += flop_registry[func.overloadpacket](*args, **(kwargs or {}), out_val=out)
        if name not in FREE and not _is_view(func):
            given, made = _tensors((args, kwargs)), _tensors(out)
            several = SEVERAL.get(name, 1)
            if name.startswith(("_foreach", "_fused_adam")):
                lists = [x for x in args if isinstance(x, (list, tuple))]
                # Of other shapes than the first list has: torch then goes one by one.
                alike = len({tuple(x.shape for x in part) for part in lists}) <= 1
                batched = alike or name.startswith("_fused")
                several *= math.ceil(len(lists[0]) / PER_LAUNCH) if batched else len(lists[0])
            if name in ("index_select", "index"):  # reads what it takes, not what it takes from
                given = made
            self.note(name.rstrip("_"), given, made, several)
        return out

    def note(self, name: str, given: list[Tensor], made: list[Tensor], several: int = 1) -> None:
        self.launches[name] += several
        self.bytes[name] += sum(_size(x) for x in (*given, *made))

    @property
    def total(self) -> tuple[int, float]:
        return self.launches.total(), self.bytes.total() / 1e6


def _is_view(func: Any) -> bool:
    return any(
        r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns
    ) or func._schema.name.split("::")[1] in ("_unsafe_view", "view", "reshape", "t", "alias")


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _size(x: Tensor) -> int:
    """Bytes there are: what is expanded is read once."""
    spread = math.prod(n for n, step in zip(x.shape, x.stride(), strict=True) if step)
    return spread * x.element_size()


# --- as on a GPU ------------------------------------------------------------------------------
class FusedNorm(torch.autograd.Function):
    """torch's RMS norm, which on a GPU is one launch, and two back."""

    count: Count

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor) -> Tensor:
        ctx.save_for_backward(x, gain)
        y = torch.empty_like(x)
        FusedNorm.count.note("_fused_rms_norm", [x, gain], [y])
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        x, gain = ctx.saved_tensors
        made = torch.empty_like(x), torch.empty_like(gain)
        FusedNorm.count.note("_fused_rms_norm_back", [x, gain, dy, x, dy], [*made], 2)
        return made


@contextmanager
def as_on_gpu(count: Count) -> Iterator[None]:
    FusedNorm.count = count

    def note_launch(kernel: Any, programs: int, *args: Any, **_: Any) -> None:
        """Its arguments are what a kernel of Triton reads or writes."""
        kernel = getattr(kernel, "fn", kernel)
        name = f"{kernel.__module__.split('.')[-1]}.{kernel.__name__.strip('_')}"
        count.note(name, _tensors(args), [])

    with ExitStack() as stack:
        patch = lambda *a, **k: stack.enter_context(mock.patch.object(*a, **k))  # noqa: E731
        patch(FakeTensor, "is_cuda", property(lambda _: True), create=True)
        patch(triton_launch, "INTERPRETED", True)
        patch(F, "rms_norm", lambda x, shape, gain, eps: FusedNorm.apply(x, gain))
        patch(clip_grad, "_has_foreach_support", return_value=True)
        patch(triton_launch, "works", return_value=True)
        patch(triton_launch, "launch", note_launch)
        yield


# --- the paths --------------------------------------------------------------------------------
class Paths:
    """The hot paths of one preset, at its sizes."""

    def __init__(self, preset: str) -> None:
        cfg = get_preset(preset)
        assert isinstance(cfg, SwapCfg)
        self.cfg, self.spec, self.n = cfg, cfg.env.spec, cfg.worlds
        self.policy, self.model = build_networks(cfg.policy, cfg.model.net, self.spec, 0)
        assert self.model is not None
        self.metrics = MetricAccumulator(CPU)
        self.options: dict[str, Any] = {"metrics": self.metrics, "capture": False}
        replay = ReplayBuffer(self.model, 1, cfg.model.memory, CPU)
        self.learner = ModelLearner(cfg.model, self.model, replay, **self.options)
        frame = self.spec.groups[GROUP].rep
        expert = torch.zeros(1000, 2, frame.dim)
        self.amp_learner = AMP(cfg.amp, expert, frame, self.n, cfg.ppo.steps, **self.options)

    def ppo(self) -> Callable[[], Any]:
        """A gradient step of PPO."""
        policy, ppo = self.policy, self.cfg.ppo
        orbits = policy.actor.head.orbits.size
        rollout = Rollout(ppo.steps, self.n, policy.widths, policy.action.dim, orbits, CPU)
        learner = PPO(ppo, policy, rollout, **self.options)
        rows = torch.zeros(learner.size, dtype=torch.long)
        return lambda: learner.step(rows)

    def model_step(self) -> Callable[[], Any]:
        """A gradient step of the world model."""
        learner = self.learner
        b, t = learner.cfg.batch, learner.cfg.ticks
        where = torch.zeros(b, dtype=torch.long)
        noise = torch.zeros(b, t, self.model.categoricals.dim)
        return lambda: learner.step(where, where, noise)

    def model_loop(self) -> Callable[[], Any]:
        """Of that, the posterior along the sequences, forth and back, without the encoder."""
        model, (b, t) = self.model, (self.cfg.model.batch, self.cfg.model.ticks)
        data = self.learner._sequences(*torch.zeros(2, b, dtype=torch.long).unbind()).cleaned()
        noise = torch.zeros(b, t, model.categoricals.dim)
        embedding = torch.zeros(b, t, model.encoder.rep.dim)

        def run() -> None:
            with mock.patch.object(model.encoder, "forward", return_value=embedding):
                seen = model._observe(data, noise)
            out = [*seen.latent, seen.posterior]
            parameters = list(model.rssm.parameters())
            torch.autograd.grad(out, parameters, out, allow_unused=True)

        return run

    def tick(self) -> Callable[[], Any]:
        """A tick of all worlds."""
        state = LatentState(self.model, self.n, CPU)
        depth = torch.zeros(self.n, *self.model.image)
        prop = torch.zeros(self.n, self.model.prop.dim)
        noise = torch.zeros(self.n, self.model.categoricals.dim)
        return lambda: state.tick(depth, prop, noise)

    def decide(self) -> Callable[[], Any]:
        """An action for all worlds."""
        collector = Collector.__new__(Collector)
        collector.policy, collector.mirrored_inputs = self.policy, None
        groups: dict[str, Layout] = {
            **self.spec.groups, "latent": self.model.latent_layout
        }  # fmt: skip
        collector._read = {
            name: torch.zeros(self.n, groups[name].dim) for name in self.policy.reads
        }
        collector.bad_obs = self.metrics.counts(*collector._read)
        noise = torch.zeros(self.n, self.policy.action.dim)
        return lambda: collector._decide(noise)

    def amp(self) -> Callable[[], Any]:
        """A gradient step of the discriminator."""
        amp = self.amp_learner
        rows = torch.zeros(self.cfg.amp.batch, dtype=torch.long)
        return lambda: amp.step(rows, rows)

    def style(self) -> Callable[[], Any]:
        """The reward for style of all worlds."""
        amp = self.amp_learner
        pair, mask = torch.zeros(self.n, *amp.expert.shape[1:]), torch.ones(self.n).bool()
        return lambda: amp.reward(pair, mask)


PATHS = {
    "model_step": "world model, gradient step",
    "model_loop": "of that, the loop over the ticks",
    "tick": "world model, tick",
    "ppo": "PPO, gradient step",
    "decide": "policy, one step",
    "amp": "AMP, gradient step",
    "style": "AMP, reward",
}


def count(path: str, preset: str) -> Count:
    counted = Count()
    paths = Paths(preset)
    with FakeTensorMode(allow_non_fake_inputs=True), as_on_gpu(counted):
        run = getattr(paths, path)()
        with counted:
            run()
    return counted


def gflop(path: str, preset: str) -> float:
    """Without our kernels, whose products cannot be counted; they compute the same."""
    with mock.patch.dict(os.environ, {triton_launch.VARIABLE: "none"}):
        return count(path, preset).flop / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="*", metavar="path", default=[*PATHS], help=", ".join(PATHS))
    parser.add_argument("--ops", action="store_true", help="each operation's share, too")
    options = parser.parse_args()
    os.environ.setdefault(triton_launch.VARIABLE, "all")
    print("| | launches | plain | MB | plain | GFLOP | plain |\n|---|---|---|---|---|---|---|")
    several = {}
    for path in options.paths:
        several[path] = {arm: count(path, preset) for arm, preset in ARMS.items()}
        (a, x), (b, y) = (c.total for c in several[path].values())
        f, g = (gflop(path, preset) for preset in ARMS.values())
        print(f"| {PATHS[path]} | {a} | {b} | {x:.0f} | {y:.0f} | {f:.1f} | {g:.1f} |", flush=True)
    for path, arms in several.items() if options.ops else ():
        ours, plain = arms.values()
        print(f"\n{PATHS[path]}: launches, plain; MB, plain")
        for name, _ in (ours.launches + plain.launches).most_common():
            row = [c.launches[name] for c in (ours, plain)]
            row += [round(c.bytes[name] / 1e6, 1) for c in (ours, plain)]
            print(f"  {name:32} {row[0]:6} {row[1]:6} {row[2]:9} {row[3]:9}")


if __name__ == "__main__":
    main()
