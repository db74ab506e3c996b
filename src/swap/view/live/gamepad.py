"""Lets a gamepad drive, where the browser offers one.

viser's page knows no gamepads. A frame of ours in it asks the browser for them and writes what
their sticks say into a text field of the page, which comes back here as any other widget's value
does. The frame loads nothing: all of it is below.
"""

from html import escape
from typing import Any

import viser

from swap.view.live.driving import LEFT_MPS, TURN_RPS, VelocityCommand

LABEL = "gamepad"
FASTEST_MPS = 2.0
"""At the end of the stick's way ahead; back it is a quarter of that."""
SCRIPT = """
const DEAD = 0.12;
let last = "";
function field() {
    const page = parent.document;
    let row = [...page.querySelectorAll("label")].find(x => x.innerText === "gamepad");
    while (row && !row.querySelector("input")) row = row.parentElement;
    return row && row.querySelector("input");
}
function stick(x) {
    return Math.abs(x || 0) < DEAD ? 0 : Math.round(20 * x) / 20;
}
setInterval(() => {
    const pad = [...navigator.getGamepads()].find(x => x && x.connected);
    if (!pad) return;
    const said = [stick(-pad.axes[1]), stick(-pad.axes[0]), stick(-pad.axes[2])].join(" ");
    const box = field();
    // At rest it is silent: sliders and keys drive, too.
    if (!box || said === last || (last === "" && said === "0 0 0")) return;
    last = said;
    const own = parent.HTMLInputElement.prototype;
    Object.getOwnPropertyDescriptor(own, "value").set.call(box, said);
    box.dispatchEvent(new parent.Event("input", {bubbles: true}));
}, 50);
"""
FRAME = f'<iframe style="display:none" srcdoc="{escape(f"<script>{SCRIPT}</script>")}"></iframe>'


def add_gamepad(gui: viser.GuiApi) -> Any:
    """Adds the frame to the page; returns it and the field that it writes into."""
    gui.add_html(FRAME)
    return gui.add_text(LABEL, "")


def command_of(said: str) -> VelocityCommand | None:
    """Reads what the sticks ask for: fractions of the speed ahead, to the left, and of the turn to
    the left, each from -1 to 1; None if the text is something else."""
    try:
        ahead, left, turn = (min(max(float(word), -1.0), 1.0) for word in said.split())
    except ValueError:
        return None
    if not all(x == x for x in (ahead, left, turn)):
        return None
    forward = ahead * (FASTEST_MPS if ahead > 0 else FASTEST_MPS / 4)
    return VelocityCommand(round(forward, 6), round(left * LEFT_MPS, 6), round(turn * TURN_RPS, 6))
