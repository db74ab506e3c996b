"""Names rough conditions, what the paper's robot met outdoors: one list and one set of numbers for
`swap eval` and `swap sim2sim`."""

from collections.abc import Collection, Sequence

from swap.errors import UserError, unknown

NOMINAL = "nominal"
FRICTION = (0.3, 0.45)
GLARE = 0.33
DARKNESS = 0.9
BLADES, SILLS = 40, 2
PAYLOAD = 0.2
PUSH_MPS, PUSH_EVERY_S = 1.0, 1.0
STRENGTH = 0.5

ABOUT = {
    "wet": "friction of 0.3 to 0.45",
    "specular": "moving discs without a return cover a third of the images, on average",
    "dark": "one pixel in ten has a return",
    "grass": "40 blades of up to 0.35 m before it, seen and not solid",
    "glass": "two sills of 4 to 10 cm before it, solid and not seen",
    "rubble": "15 loose stones of 6 to 16 cm before it",
    "carpet": "a carpet before it that slides under 60 N",
    "payload": "a fifth of the robot's mass on its back",
    "pushes": "a push of up to 1 m/s every second or so",
    "weak_motor": "one motor has half of its strength",
    "leg_hit": "200 N for 50 ms against a shank every second or so",
}
"""What each of them is."""


def chosen(words: Sequence[str], offered: Collection[str]) -> list[str]:
    """Names among those offered; `all` is all of them. The nominal one comes first, if there is
    any."""
    names = list(offered) if "all" in words else list(dict.fromkeys(words))
    for name in names:
        if name in ABOUT and name not in offered:
            raise UserError(f"condition '{name}' needs another world: swap sim2sim has it")
        if name not in offered:
            raise unknown("condition", name, ["all", *offered])
    return [NOMINAL, *names] if names else []
