"""A real browser for tests of the page: Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no browser here; get one: apt-get install chromium"
)
PATIENCE_MS = 90_000
"""Without a GPU a browser draws a frame in three seconds, and other tests run meanwhile."""
POLL_MS = 200
"""Between two looks; the default is every frame, which are rare."""
DRAWN = 200
"""So many objects a page draws, a few frames; later ones it only counts. Everything else happens at
every frame; without a GPU, drawing takes more time than all of it."""
COUNT_AND_DRAW = """most => {
  window.drawn = 0
  const context = WebGL2RenderingContext.prototype
  for (const name of ["drawArrays", "drawElements"])
    for (const kind of [name, name + "Instanced"]) {
      const draw = context[kind]
      context[kind] = function (...words) {
        if (window.drawn++ < most) draw.apply(this, words)
      }
    }
}"""


@contextmanager
def open_browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        software = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
        chromium = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", *software]
        )
        try:
            yield chromium
        finally:
            chromium.close()


def draw_little(page) -> None:
    """For a page that is not loaded yet."""
    page.add_init_script(f"({COUNT_AND_DRAW})({DRAWN})")


class Page:
    """The page of one visitor; `outside_requests` are the addresses outside that it asked for."""

    def __init__(self, browser, url: str) -> None:
        # Small: every pixel is drawn by the CPU.
        self.page = browser.new_page(viewport={"width": 640, "height": 320})
        draw_little(self.page)
        self.page.set_default_timeout(PATIENCE_MS)
        self.outside_requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self._note(request.url, url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(url)
        self.page.wait_for_selector("#swap-time")

    def _note(self, asked: str, url: str) -> None:
        if not asked.startswith((url, url.replace("http", "ws"), "data:", "blob:")):
            self.outside_requests.append(asked)

    def told(self, name: str) -> str:
        """What the table says of `time`, `course`, ..."""
        return self.page.locator(f"#swap-{name}").inner_text()

    def wait_for(self, name: str, part: str) -> None:
        """Until the table says it."""
        self.page.wait_for_function(
            "([id, part]) => document.getElementById(id)?.innerText.includes(part)",
            arg=[f"swap-{name}", part],
            polling=POLL_MS,
        )

    def tab(self, name: str) -> None:
        """By the keyboard: the table above grows and shrinks, so the mouse may miss."""
        tab = self.page.get_by_role("tab", name=name)
        tab.press("Enter")
        self.page.get_by_role("tab", name=name, selected=True).wait_for()

    def check(self, label: str) -> None:
        self._widget(label).dispatch_event("click")

    def enter(self, label: str, value: str) -> None:
        """A number, in the box beside a slider."""
        box = self._widget(label).locator("xpath=following-sibling::*//input")
        box.fill(value)

    def choose(self, label: str, option: str) -> None:
        self._widget(label).dispatch_event("click")
        self.page.get_by_role("option", name=option, exact=True).dispatch_event("click")

    def click(self, name: str) -> None:
        """A button."""
        self.page.get_by_role("button", name=name, exact=True).dispatch_event("click")

    def press(self, key: str) -> None:
        self.page.evaluate(
            "key => document.documentElement.dispatchEvent(new KeyboardEvent('keydown', "
            "{key, code: 'Key' + key.toUpperCase(), bubbles: true}))",
            key,
        )

    def _widget(self, label: str):
        uuid = self.page.locator("label", has_text=label).first.get_attribute("for")
        return self.page.locator(f'[id="{uuid}"]')
