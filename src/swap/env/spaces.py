"""Says how every quantity of a robot mirrors, and lays out the groups that networks read.
`observation_terms` declares what can be observed."""

from dataclasses import dataclass, field
from functools import cached_property

from swap.env.observation_terms import BUILT_IN, GROUPS, HISTORY, Observation
from swap.errors import UserError, unknown
from swap.sensors.cfg import HeightCfg, OpticsCfg
from swap.symmetry import Body, Field, Layout, quadruped


@dataclass(frozen=True)
class Spaces:
    """Fields and layouts by name."""

    body: Body = field(default_factory=quadruped)
    extra: tuple[Observation, ...] = ()
    """Observations beside the usual groups; each is a group of its own name."""
    optics: OpticsCfg = field(default_factory=OpticsCfg)
    """The camera's optics, which set the size of its images."""
    heights: HeightCfg = field(default_factory=HeightCfg)
    """The height maps."""
    history: int = 5
    """How many past steps the actor reads."""

    def __post_init__(self) -> None:
        taken = {**dict.fromkeys(GROUPS), **{term.name: term for term in BUILT_IN}}
        for term in self.extra:
            if term.name in GROUPS or taken.get(term.name, term) is not term:
                raise UserError(f"observation '{term.name}' is there already; rename yours")
            if self.extra.count(term) > 1:
                raise UserError(f"observation '{term.name}' is given twice; give it once")
            taken[term.name] = term

    @cached_property
    def terms(self) -> tuple[Observation, ...]:
        """All observations, each once."""
        return (*BUILT_IN, *(term for term in self.extra if term not in BUILT_IN))

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Every row of the symmetry table, by name; the depth image comes last."""
        rep, what = self.optics.grid.rep, "depth image, rows from the top, flattened"
        rows = (*(term.field(self) for term in self.terms), Field("depth", rep, "o_img", what))
        return {row.name: row for row in rows}

    def layout(self, *names: str) -> Layout:
        """A layout of the named quantities, in that order."""
        for name in names:
            if name not in self.fields:
                raise unknown("field", name, self.fields)
        return Layout(tuple(self.fields[name] for name in names))

    @cached_property
    def groups(self) -> dict[str, Layout]:
        """The layouts of an environment's observations, by the group names that networks use."""
        usual = {name: self.layout(*members) for name, members in GROUPS.items()}
        usual[HISTORY] = usual[HISTORY].repeat(self.history, "t")
        return usual | {term.name: self.layout(term.name) for term in self.extra}

    # --- the paper's spaces by name -------------------------------------------------------------
    @property
    def action(self) -> Layout:
        return self.layout("action")

    @property
    def command(self) -> Layout:
        return self.groups["command"]

    @property
    def depth(self) -> Layout:
        """o_img, the encoder's image; as [rows, cols] it mirrors by flipping the last axis."""
        return self.layout("depth")

    @property
    def proprioception(self) -> Layout:
        """o_prop, read by the encoder and predicted by the decoder."""
        return self.groups["proprioception"]

    @property
    def predicted_heights(self) -> Layout:
        """H_wm, predicted by the decoder."""
        return self.layout("body_heights", "foot_heights")

    @property
    def actor_history(self) -> Layout:
        """o_H: the newest step is `t0`, the oldest `t4`."""
        return self.groups[HISTORY]

    @property
    def privileged(self) -> Layout:
        """o_priv, read by the critic."""
        return self.groups["privileged"]

    @property
    def style(self) -> Layout:
        """The discriminator's input: two successive frames of motion."""
        return self.groups["style"].repeat(2, "frame")
