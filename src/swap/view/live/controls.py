"""The driver's side of the page: sliders, menus, switches, keys. Visitors who watch get none of it.

Every widget asks the viewer for other settings and is set to what they have become: two ways to the
same thing, a slider and a key, say, always show the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import viser

from swap.courses import FAMILIES
from swap.runs.saved_model import known_models
from swap.view.live.builder import Builder
from swap.view.live.driving import FORWARD_MPS, LEFT_MPS, TURN_RPS, VelocityCommand
from swap.view.live.faults import LATENCY_S, Faults
from swap.view.live.gamepad import add_gamepad, command_of
from swap.view.live.settings import MOST_SEED, RATES, CourseChoice, Settings

Change = Callable[[Settings], Settings]
Ask = Callable[[Change], None]
Read = Callable[[Settings], Any]
KEYS = (
    ("I", "faster", (0.25, 0.0, 0.0)),
    ("K", "slower", (-0.25, 0.0, 0.0)),
    ("U", "more to the left", (0.0, 0.1, 0.0)),
    ("O", "more to the right", (0.0, -0.1, 0.0)),
    ("J", "turn more to the left", (0.0, 0.0, 0.25)),
    ("L", "turn more to the right", (0.0, 0.0, -0.25)),
)
KEYS_TOLD = (
    "Keys: **I** faster, **K** slower, **J** **L** turn, **U** **O** sideways, **H** straight on, "
    "**space** stop, **P** pause, **N** one step, **R** reset. The camera has **W A S D** and the "
    "mouse."
)
PLAIN = "-no-eq"
"""In the names of plain arms, behind the robot's: see swap arms."""
SEVERAL = "(see Build)"
"""In place of an obstacle: the course is built of pieces."""
PUSHES = {"left": (0.0, 0.8), "right": (0.0, -0.8), "ahead": (0.8, 0.0), "back": (-0.8, 0.0)}
"""Blows: so much faster, forward and left, m/s."""
FAULTS = {
    "holes": ("camera holes", 0.0, 1.0, 0.05),
    "darkness": ("darkness", 0.0, 1.0, 0.05),
    "latency_s": ("camera latency, s", 0.0, LATENCY_S, 0.02),
    "lost_frames": ("lost frames", 0.0, 1.0, 0.05),
    "payload_kg": ("payload, kg", 0.0, 60.0, 1.0),
    "friction": ("friction", 0.05, 1.5, 0.05),
    "strength": ("motor strength", 0.1, 1.2, 0.05),
}
"""Field of `Faults` -> what it is called, and how far it can be turned."""


class Controls:
    """The widgets of one visitor, until `remove`."""

    def __init__(
        self,
        client: viser.ClientHandle,
        ask: Ask,
        act: Mapping[str, Callable[[], None]],
        settings: Settings,
    ) -> None:
        """`ask` changes settings, `act` does things once: reset, step, push left, ..."""
        self.client, self._gui, self._ask, self._act = client, client.gui, ask, act
        self._readers: list[tuple[Any, Read]] = []
        self._parts: list[Any] = []
        tabs = self._gui.add_tab_group()
        self._parts.append(tabs)
        for name, build in (
            ("Drive", self._drive),
            ("Course", self._course),
            ("Build", self._build),
            ("Show", self._show),
            ("Mirror", self._mirror),
            ("Faults", self._faults),
        ):
            with tabs.add_tab(name):
                build(settings)
        self._keys()
        self.sync(settings)

    def sync(self, settings: Settings) -> None:
        """Makes all widgets show these settings."""
        self._fit_size(settings.course)
        for widget, read in self._readers:
            widget.value = read(settings)

    def remove(self) -> None:
        for part in self._parts:
            part.remove()
        self._readers.clear()

    # --- the tabs -------------------------------------------------------------------------------
    def _drive(self, now: Settings) -> None:
        gui = self._gui
        sliders = {
            "forward_mps": ("forward, m/s", *FORWARD_MPS, 0.05),
            "left_mps": ("to the left, m/s", -LEFT_MPS, LEFT_MPS, 0.05),
            "turn_rps": ("turn left, rad/s", -TURN_RPS, TURN_RPS, 0.05),
        }
        for name, (label, low, high, step) in sliders.items():
            value = getattr(now.command, name)
            slider = gui.add_slider(label, min=low, max=high, step=step, initial_value=value)
            self._bind(slider, *of("command", name))
        self._buttons("command", {"stop": stopped, "straight on": straight})
        rates = {f"{rate:g}": rate for rate in RATES}
        rate = gui.add_dropdown("speed of time", tuple(rates), initial_value=f"{now.rate:g}")
        self._bind(rate, lambda s, x: replace(s, rate=rates[x]), lambda s: f"{s.rate:g}")
        self._check("pause", "paused", now)
        self._check("start again by itself", "again", now)
        self._once(gui.add_button_group("do", ("one step", "reset")))
        pushes = tuple(PUSHES)
        self._once(gui.add_button_group("push", pushes))
        gui.add_markdown(KEYS_TOLD)
        sticks = add_gamepad(gui)
        sticks.on_update(lambda _: self._ask(partial(with_sticks, sticks.value)))

    def _course(self, now: Settings) -> None:
        gui = self._gui
        model = gui.add_dropdown("model", models(now), initial_value=now.model)
        self._bind(model, lambda s, x: replace(s, model=x), lambda s: s.model)
        family = gui.add_dropdown("obstacle", (*FAMILIES, SEVERAL), initial_value=obstacle(now))
        self._bind(family, with_family, obstacle)
        self._size = gui.add_slider(
            "size", min=0.0, max=1.0, step=0.01, initial_value=min(1.0, now.course.size)
        )
        self._bind(self._size, *of("course", "size"))
        side = gui.add_dropdown("high side", ("left", "right"), initial_value=now.course.side)
        self._bind(side, *of("course", "side"))
        seed = gui.add_number("seed", now.course.seed, min=0, max=MOST_SEED, step=1)
        self._bind(seed, *of("course", "seed"))

    def _build(self, now: Settings) -> None:
        Builder(self._gui, self._ask)

    def _show(self, now: Settings) -> None:
        self._check("camera follows", "follow", now)
        self._check("contact forces", "forces", now)
        self._check("the ground as it believes it", "ground", now)
        self._check("the robot as it was foreseen", "ghost", now)
        self._gui.add_markdown(
            "Ground: the height map that the world model decodes, green where it is right, red "
            "where it is off by 0.3 m. Ghost: joints and tilt as predicted 2 s ago, where the "
            "robot is now."
        )

    def _mirror(self, now: Settings) -> None:
        self._check("a second robot in the mirror", "mirrored", now)
        self._gui.add_markdown(
            "The second robot is on the mirrored course, its commands, its noise and its faults "
            "are mirrored. Above, the largest distance to the mirror image so far, of base and "
            "joints: an equivariant robot lives the mirror image of the other's life."
        )
        plain = plain_arm_of(now.model, known_models())
        if plain is None:
            self._gui.add_markdown(
                f"A model of its plain arm, without the mirror in its networks, would be swapped "
                f"in here: `{base_of(now.model)}{PLAIN}` in `models/`."
            )
            return
        box = self._gui.add_checkbox("the plain arm", now.model == plain)
        self._bind(
            box,
            lambda s, x: replace(s, model=plain if x else base_of(s.model)),
            lambda s: s.model == plain,
        )

    def _faults(self, now: Settings) -> None:
        for field in fields(Faults):
            name, (label, low, high, step) = field.name, FAULTS[field.name]
            value = getattr(now.faults, name)
            slider = self._gui.add_slider(label, min=low, max=high, step=step, initial_value=value)
            self._bind(slider, *of("faults", name))
        self._buttons("set to", {"those of training": lambda s: replace(s, faults=Faults())})

    def _keys(self) -> None:
        def add(key: Any, label: str, does: Callable[[], None]) -> None:
            command = self._gui.add_command(label, hotkey=key)
            command.on_trigger(lambda _: does())
            self._parts.append(command)

        for key, label, by in KEYS:
            add(key, label, partial(self._ask, partial(with_more, by)))
        add("H", "straight on", lambda: self._ask(straight))
        add("space", "stop", lambda: self._ask(stopped))
        add("P", "pause", lambda: self._ask(lambda s: replace(s, paused=not s.paused)))
        add("N", "one step", self._act["one step"])
        add("R", "reset", self._act["reset"])

    # --- widgets --------------------------------------------------------------------------------
    def _bind(self, widget: Any, change: Callable[[Settings, Any], Settings], read: Read) -> None:
        """Lets a visitor's change of the `widget` change settings; our own changes of it do not."""

        def turned(event: viser.GuiEvent) -> None:
            if event.client is not None:
                value = widget.value
                self._ask(lambda s: change(s, value))

        widget.on_update(turned)
        self._readers.append((widget, read))

    def _check(self, label: str, field: str, now: Settings) -> None:
        box = self._gui.add_checkbox(label, getattr(now, field))
        self._bind(box, lambda s, x: replace(s, **{field: x}), lambda s: getattr(s, field))

    def _buttons(self, label: str, changes: dict[str, Change]) -> None:
        group = self._gui.add_button_group(label, tuple(changes))
        group.on_click(lambda _: self._ask(changes[group.value]))

    def _once(self, group: Any) -> None:
        group.on_click(lambda _: self._act[group.value]())

    def _fit_size(self, course: CourseChoice) -> None:
        """Gives the slider the range of the family, in its unit."""
        family = FAMILIES[course.family]
        span, slider = family.size, self._size
        flat = span.low == span.high
        slider.disabled = flat
        slider.label = f"size, {span.unit}"
        slider.min, slider.max = span.low, span.low + 1.0 if flat else family.max_size
        slider.step = 1.0 if span.unit != "m" else 0.01


# --- changes of settings --------------------------------------------------------------------------
def stopped(s: Settings) -> Settings:
    return replace(s, command=VelocityCommand())


def straight(s: Settings) -> Settings:
    return replace(s, command=VelocityCommand(s.command.forward_mps))


def with_more(by: tuple[float, float, float], s: Settings) -> Settings:
    return replace(s, command=s.command.more(*by))


def with_sticks(said: str, s: Settings) -> Settings:
    command = command_of(said)
    return s if command is None else replace(s, command=command)


def with_family(s: Settings, family: str) -> Settings:
    """Chooses another family, at a quarter of its range."""
    if family == SEVERAL:
        return s
    size = round(FAMILIES[family].size.at(0.25), 2)
    return replace(s, course=replace(s.course, family=family, size=size, plan=None))


def obstacle(s: Settings) -> str:
    """The entry that the menu of obstacles shows."""
    return s.course.family if s.course.plan is None else SEVERAL


def of(part: str, name: str) -> tuple[Callable[[Settings, Any], Settings], Read]:
    """Two functions for one field of a part of the settings: one that changes it, one that reads
    it."""

    def change(s: Settings, x: Any) -> Settings:
        return replace(s, **{part: replace(getattr(s, part), **{name: x})})

    return change, lambda s: getattr(getattr(s, part), name)


def base_of(model: str) -> str:
    """The robot that an arm belongs to: `swap` for `swap-no-eq`."""
    return model.partition(PLAIN)[0]


def plain_arm_of(model: str, known: Sequence[str]) -> str | None:
    """The model of this robot's plain arm, if there is one."""
    start = f"{base_of(model)}{PLAIN}"
    return next((name for name in known if name.startswith(start)), None)


def models(now: Settings) -> tuple[str, ...]:
    """The models in the models folder, and the one that was named."""
    return tuple(dict.fromkeys([now.model, *known_models()]))
