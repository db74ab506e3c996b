"""`swap bench sim`: how fast worlds are stepped and sensors computed, beside mujoco-warp's own."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

MOST_SLOTS = 1024
"""Many times what any course has; a model with more boxes takes minutes to build."""


@dataclass(frozen=True)
class Args:
    """Time control steps, depth images and height maps of many worlds, with all families mixed."""

    worlds: tuple[int, ...] = ()
    """World counts; by default 64 and 128 on a CPU, 1024, 6000 and 16384 on a GPU."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    robot: str = "apollo"
    """Which robot; see swap robots."""
    slots: int = 32
    """Boxes a world can hold."""
    seconds: float = 2.0
    """Time spent on each figure of an engine."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("worlds", "slots"), not_negative=("seconds",))


def run(args: Args) -> int:
    if args.seconds > 600.0:
        raise UserError(f"--seconds {args.seconds:g} is out of range; use 0 to 600")
    if args.slots > MOST_SLOTS:
        raise UserError(f"--slots {args.slots} is out of range; use 1 to {MOST_SLOTS}")
    device = choose_device(args.device)
    from swap.device.memory import check_memory
    from swap.evaluate.sim_bench import bench
    from swap.robots import from_user

    robot = from_user(args.robot)
    for n in args.worlds:
        check_memory(n, device)
    rows = list(bench(device, args.worlds, robot=robot, slots=args.slots, seconds=args.seconds))
    notes = [
        "control steps/s: 4 physics steps each, robots standing and acting with noise, 1/500 of "
        "the worlds given a new course, motors and start at every step.",
        "depth: 64x64, one image a world; noisy: with latency and all faults; heights: all three "
        "maps; render(): mujoco-warp's own, the same clean images.",
        "gpu on the device cpu is mujoco-warp on Warp's CPU device; its speed-up is what the cpu "
        "engine, timed in turns with it, gains over it.",
        "memory: of engine and sensors on a GPU, of the whole process on a CPU.",
        "'-': not available on this machine.",
    ]
    notes += [
        f"{row['engine']} on {row['device']}, {row['worlds']} worlds: {row['note']}"
        for row in rows
        if row["note"]
    ]
    shown = [{key: value for key, value in row.items() if key != "note"} for row in rows]
    show(Report(f"Simulation speed ({args.robot}, {args.slots} slots)", shown, notes), args.json)
    return 0
