"""Compares one process with all samples to two with half of them each:
`python two_process_learning.py FOLDER`."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import toy_model
from swap.distributed import ProcessGroup
from swap.env import Spaces
from swap.learn import AMP, AMPCfg, ModelCfg, ModelLearner, ReplayBuffer, SymmetryCfg, Trainer
from swap.learn.gradient_step import PooledNorms
from swap.learn.metrics import MetricAccumulator
from swap.learn.rollout import Rollout
from swap.nn import RunningNorm
from swap.state_dict import copy_into
from swap.symmetry import signs
from toy_world import Toy, small
from two_processes import SIZE, one_thread, play_scenarios

CPU = torch.device("cpu")
WORLDS = 32
KINDS = ("none", "loss", "augment")
KEPT = ("action", "mean", "log_prob", "value", "reward", "terminated", "truncated", "valid")


def apart(here, there) -> float:
    """The largest difference between two lists of tensors."""
    pairs = zip(here, there, strict=True)
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs if a.numel())


def hashed(tensors) -> str:
    return hashlib.sha256(b"".join(x.detach().numpy().tobytes() for x in tensors)).hexdigest()


def timeless(told) -> dict[str, float]:
    return {name: x for name, x in told.items() if not name.startswith("time/")}


def kept(rollout: Rollout) -> list[torch.Tensor]:
    """All that a rollout stores of its steps, [T, N, ...] each."""
    named = [getattr(rollout, name) for name in KEPT]
    return [*rollout.inputs, *(rollout.mirrored or ()), *named]


def ready(processes: ProcessGroup, kind: str, **ppo) -> tuple[Trainer, Trainer]:
    """A single-process trainer with a whole rollout, and this process's with its part of it."""
    cfg = replace(small(equivariant=kind == "none", **ppo), symmetry=SymmetryCfg(kind))
    whole = Trainer(cfg, Toy(WORLDS))
    whole.iterate()
    whole.collector.collect(cfg.ppo.gamma, cfg.ppo.lam)
    whole.rollout.valid[:, : WORLDS // SIZE : 2] = False  # a process with fewer samples counts less
    whole.collector._estimate(cfg.ppo.gamma, cfg.ppo.lam)
    half = Trainer(cfg, Toy(WORLDS // SIZE), processes=processes)
    half.policy.load_state_dict(whole.policy.state_dict())
    copy_into(half.ppo.state_dict(), whole.ppo.state_dict())
    ours, theirs, n = half.rollout, whole.rollout, half.env.n
    for x, y in zip(kept(ours), kept(theirs), strict=True):
        x.copy_(y[:, processes.rank * n : (processes.rank + 1) * n])
    ours.std.copy_(theirs.std)
    half.collector._estimate(cfg.ppo.gamma, cfg.ppo.lam)
    whole.metrics.read()
    half.metrics.read()
    return whole, half


def minibatches(trainer: Trainer, half: Trainer):
    """Rows of minibatches for this process and for the single one, whose k-th minibatch is the k-th
    of both processes together."""
    n, steps, count = half.env.n, half.rollout.steps, trainer.cfg.ppo.minibatches
    orders = [
        torch.randperm(steps * n, generator=torch.Generator().manual_seed(7 + rank))
        for rank in range(SIZE)
    ]
    everyones = [order // n * WORLDS + rank * n + order % n for rank, order in enumerate(orders)]
    for k in range(count):
        yield (
            orders[half.processes.rank].chunk(count)[k],
            torch.cat([rows.chunk(count)[k] for rows in everyones]),
        )


def ppo(processes: ProcessGroup, kind: str) -> dict[str, Any]:
    whole, half = ready(processes, kind)
    valid = [int(part.sum()) for part in whole.rollout.valid.split(half.env.n, 1)]
    mine = whole.rollout.advantage.split(half.env.n, 1)[processes.rank]
    advantage = apart([mine], [half.rollout.advantage])
    before = [p.detach().clone() for p in half.ppo.parameters]
    for _ in range(2):
        for ours, everyones in minibatches(whole, half):
            for trainer, rows in ((half, ours), (whole, everyones)):
                trainer.ppo.step(rows)
    told, theirs = half.metrics.read(), whole.metrics.read()
    return {
        "valid": valid,
        "advantage": advantage,
        "moved": apart(before, half.ppo.parameters),
        "parameters": apart(whole.ppo.parameters, half.ppo.parameters),
        "lr": [float(whole.ppo.lr), float(half.ppo.lr)],
        "figures": [{k: x for k, x in t.items() if k.startswith("ppo/")} for t in (theirs, told)],
        "hash": hashed(half.ppo.parameters),
    }


def fault(processes: ProcessGroup) -> dict[str, Any]:
    """If a sample of the second process is not finite, no process takes the step, and it counts
    once."""
    _, half = ready(processes, "none")
    before = [x.clone() for x in half.state_dict().values()]
    if processes.rank == 1:
        half.rollout.advantage[half.rollout.valid.nonzero()[0].unbind()] = torch.inf
    half.ppo.step(torch.arange(half.ppo.size))
    same = all(torch.equal(a, b) for a, b in zip(before, half.state_dict().values(), strict=True))
    return {"same": same, "skipped": half.metrics.read()["guard/skipped_updates"]}


def model(processes: ProcessGroup) -> dict[str, Any]:
    def learner(batch: int, metrics: MetricAccumulator, **more) -> ModelLearner:
        net = toy_model.build()
        replay = ReplayBuffer(net, 6, 12, CPU)
        ticks, _ = toy_model.sequences(net, n=6, ticks=12)
        for t in range(12):
            tick = {name: x[:, t] for name, x in ticks._asdict().items() if name != "context"}
            replay.store(tick, toy_model.latent(net, 6, torch.Generator().manual_seed(t)))
            replay.stored()
        cfg = ModelCfg(net.cfg, batch=batch, ticks=4, memory=12, warm_up=1, lr=1e-3)
        return ModelLearner(cfg, net, replay, metrics, capture=False, **more)

    tallies = MetricAccumulator(CPU), MetricAccumulator(CPU, processes)
    whole, half = learner(6, tallies[0]), learner(3, tallies[1], processes=processes)
    before = [p.detach().clone() for p in half.parameters]
    generator, valid = torch.Generator().manual_seed(3), []
    for _ in range(4):
        drawn = worlds, starts, _ = whole.draw(generator)
        valid.append([int(x.sum()) for x in whole._sequences(worlds, starts).valid.chunk(SIZE)])
        whole.step(*drawn)
        half.step(*(x.chunk(SIZE)[processes.rank] for x in drawn))
    return {
        "valid": valid,
        "moved": apart(before, half.parameters),
        "parameters": apart(whole.parameters, half.parameters),
        "figures": [metrics.read() for metrics in tallies],
        "hash": hashed(half.parameters),
    }


def amp(processes: ProcessGroup) -> dict[str, Any]:
    frame = Spaces().layout("joint_pos", "lin_vel", "ang_vel", "joint_vel").rep
    chance = torch.Generator().manual_seed(5)
    expert = torch.randn(90, 2, frame.dim, generator=chance)
    motion = torch.randn(40, 2, frame.dim, generator=chance) + 0.5

    def learner(batch: int, metrics: MetricAccumulator, **more) -> AMP:
        cfg = AMPCfg(hidden=(16,), batch=batch, replay=64, lr=1e-3)
        made = AMP(cfg, expert, frame, 40, 1, metrics, capture=False, **more)
        made.store(motion, torch.ones(40, dtype=torch.bool))
        return made

    tallies = MetricAccumulator(CPU), MetricAccumulator(CPU, processes)
    whole, half = learner(32, tallies[0]), learner(16, tallies[1], processes=processes)
    before = [p.detach().clone() for p in half.parameters]
    for _ in range(4):
        theirs = torch.randint(90, (32,), generator=chance)
        ours = whole.ring.pick(torch.rand(32, generator=chance))
        whole.step(theirs, ours)
        half.step(*(x.chunk(SIZE)[processes.rank] for x in (theirs, ours)))
    return {
        "moved": apart(before, half.parameters),
        "parameters": apart(whole.parameters, half.parameters),
        "statistics": apart(whole.net.mlp.norm.buffers(), half.net.mlp.norm.buffers()),
        "figures": [metrics.read() for metrics in tallies],
        "hash": hashed(half.net.state_dict().values()),
    }


def statistics(processes: ProcessGroup) -> dict[str, Any]:
    """Running statistics of uneven shares, pooled at intervals."""
    rep = signs(1, -1, 1)
    whole, half = RunningNorm(rep), RunningNorm(rep)
    pooled, chance = PooledNorms(processes, half), torch.Generator().manual_seed(2)
    for k in range(6):
        x = torch.randn(10, 3, generator=chance) * 3 + k
        whole.update(x)
        half.update(x[:3] if processes.rank == 0 else x[3:])
        if k % 2:
            pooled.pool()
    return {"count": float(half.count), "apart": apart(whole.buffers(), half.buffers())}


# --- worlds shared out ----------------------------------------------------------------------------
class Part(Toy):
    """Part of the worlds of Toy(WORLDS): each process draws all random numbers and uses its own."""

    def __init__(self, processes: ProcessGroup) -> None:
        self.processes = processes
        super().__init__(WORLDS // processes.size)

    def _begin(self, mask):
        mine = slice(self.processes.rank * self.n, (self.processes.rank + 1) * self.n)
        start = (torch.rand(WORLDS, 4, generator=self.generator) * 2 - 1)[mine]
        self.pos = torch.where(mask[:, None], start[:, :2], self.pos)
        self.vel = torch.where(mask[:, None], start[:, 2:], self.vel)
        self.clock = torch.where(mask, 0.0, self.clock)
        self.total = torch.where(mask, 0.0, self.total)


class Same(Trainer):
    """Explores with its part of the noise of all worlds, and keeps its normalisers fixed, because
    processes only share theirs after a rollout."""

    def __init__(self, cfg, processes: ProcessGroup) -> None:
        super().__init__(cfg, Part(processes), processes=processes)
        self.luck = torch.Generator().manual_seed(11)
        self.policy.update_normalizers = lambda *_: None
        self.statistics.pool = lambda: None

    def noise(self):
        n = self.env.n
        every = torch.randn(WORLDS, self.policy.action.dim, generator=self.luck)
        return every[self.processes.rank * n : (self.processes.rank + 1) * n]


def whole_iterations(processes: ProcessGroup) -> dict[str, Any]:
    """Two iterations with the same worlds and noise; with one minibatch there is no shuffling."""
    cfg = small(minibatches=1, epochs=4)
    one, ours = Same(cfg, ProcessGroup()), Same(cfg, processes)
    before = [p.detach().clone() for p in ours.ppo.parameters]
    theirs, told = ([timeless(trainer.iterate()) for _ in range(2)] for trainer in (one, ours))
    return {
        "moved": apart(before, ours.ppo.parameters),
        "parameters": apart(one.ppo.parameters, ours.ppo.parameters),
        "figures": [theirs[-1], told[-1]],
    }


def training(processes: ProcessGroup) -> dict[str, Any]:
    trainer = Trainer(small(), Toy(16, seed=processes.rank), processes=processes)
    told = [timeless(trainer.iterate()) for _ in range(3)]
    shared = {k: x for k, x in trainer.state_dict().items() if k.startswith(("policy/", "ppo/"))}
    with torch.no_grad():
        trainer.ppo.parameters[0][0] += 1e-3 * processes.rank
    return {
        "told": told,
        "hash": hashed(shared.values()),
        "rollout": hashed([trainer.rollout.action]),
        "tampered": trainer.iterate()["guard/apart"],
    }


def main(folder: Path) -> None:
    one_thread()
    Trainer(small(), Toy(4)).iterate()  # so that lazy imports happen before the forks
    several: dict[str, Callable[[ProcessGroup], Any]] = {
        f"ppo {kind}": lambda processes, kind=kind: ppo(processes, kind) for kind in KINDS
    }
    single = (fault, model, amp, statistics, whole_iterations, training)
    play_scenarios(several | {each.__name__.replace("_", " "): each for each in single}, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
