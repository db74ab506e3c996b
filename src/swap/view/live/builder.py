"""The tab on which a course is put together from pieces, run, and saved as a file.

The course is the file's text, which can be edited; buttons add pieces to it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import viser

from swap.courses.course_file import (
    as_toml,
    known_courses,
    load_course,
    parse_course,
    save_course,
)
from swap.courses.course_plan import CoursePlan
from swap.courses.pieces import KINDS, Box
from swap.errors import UserError
from swap.view.live.settings import Settings

FOLDER = Path("courses")
"""Where courses are saved: in the folder that swap view was started in."""
ONE = "-"
"""In the menu: none of them."""
FIRST = CoursePlan("my course", (Box(),))


class Builder:
    """Adds the widgets of this tab to the present container of a visitor's page."""

    def __init__(
        self, gui: viser.GuiApi, ask: Callable[[Callable[[Settings], Settings]], None]
    ) -> None:
        self._ask = ask
        self.files = gui.add_dropdown("file", (ONE, *known_courses()), initial_value=ONE)
        self.files.on_update(self._open)
        self._add = gui.add_button_group("add a", tuple(KINDS))
        self._add.on_click(lambda _: self._tried(self._append))
        self._text: Any = gui.add_text("course", as_toml(FIRST), multiline=True)
        self._do = gui.add_button_group("then", ("run it", "save it"))
        self._do.on_click(lambda _: self._tried(self._done))
        self._note = gui.add_markdown("")

    def _open(self, event: Any) -> None:
        if event.client is not None and self.files.value != ONE:
            self._tried(lambda: self._show(load_course(Path(self.files.value))))

    def _show(self, plan: CoursePlan) -> None:
        self._text.value = as_toml(plan)
        self._run(plan)

    def _append(self) -> None:
        plan = self._plan()
        self._show(replace(plan, pieces=(*plan.pieces, KINDS[self._add.value]())))

    def _done(self) -> None:
        plan = self._plan()
        if self._do.value == "run it":
            self._run(plan)
        else:
            path = save_course(plan, FOLDER)
            self._note.content = f"saved: `swap eval swap --course {path}`"

    def _plan(self) -> CoursePlan:
        return parse_course(self._text.value, FIRST.name)

    def _run(self, plan: CoursePlan) -> None:
        self._note.content = f"{len(plan.pieces)} pieces, {plan.ends[-1][0]:.1f} m"
        self._ask(lambda s: replace(s, course=replace(s.course, plan=plan)))

    def _tried(self, work: Callable[[], None]) -> None:
        """Does the work; a mistake in the course is shown below it."""
        try:
            work()
        except UserError as error:
            self._note.content = f"**{error}**".replace("_", r"\_")
