"""`swap bench train`: where the time of a training iteration goes."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.device.choice import choose_device
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """Time the parts of an iteration of one or more presets: physics, sensors, world model, PPO."""

    preset: tuple[str, ...] = ("swap",)
    """Presets to train, or yours as file.py:NAME; several are timed one after the other."""
    worlds: int | None = None
    """Robots simulated in parallel; by default as many as the preset has."""
    iterations: int = 100
    """Number of timed iterations."""
    warm_up: int = 20
    """Iterations before that, which compile, record CUDA graphs and fill buffers."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("worlds", "iterations"), filled=("preset",))


def run(args: Args) -> int:
    device = choose_device(args.device)
    from swap.device.memory import check_memory
    from swap.evaluate.train_bench import bench
    from swap.presets.user_code import preset_from_user

    for preset in args.preset:
        preset_from_user(preset)
    if args.worlds is not None:
        check_memory(args.worlds, device)

    results = [
        bench(
            preset,
            worlds=args.worlds,
            iterations=args.iterations,
            warm_up=args.warm_up,
            device=device,
        )
        for preset in args.preset
    ]
    names = list(dict.fromkeys(name for row in results for name in row if name != "preset"))
    rows = [{"": name, **{row["preset"]: row.get(name) for row in results}} for name in names]
    notes = [
        "parts are in ms per iteration, one after the other even with model.overlap; height maps "
        "are in 'course, reward, observation'."
    ]
    show(Report(f"A training iteration on {device}", rows, notes), args.json)
    return 0
