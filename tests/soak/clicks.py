"""A page of `swap view` that is clicked at random: no traceback, and memory does not grow."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from browser import BROWSER, Page, open_browser
from soak.growth import SLACK, rss_mib
from soak.tally import Tally

KEYS = "ijkluohpnr "
TABS = ("Drive", "Course", "Build", "Show", "Mirror", "Faults")


def clicks(minutes: float, home: Path, chance: Random) -> list[Tally]:
    if minutes <= 0:
        return []
    tally = Tally(f"clicks, {minutes:g} min")
    if BROWSER is None:
        tally.fault("lost", "no browser here; get one: apt-get install chromium")
        return [tally]
    home.mkdir(parents=True, exist_ok=True)
    with (home / "said").open("w+b") as said:
        view = subprocess.Popen(
            [sys.executable, "-u", "-m", "swap", "view", "--port", "0"],
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=home,  # where courses are saved
        )
        try:
            samples = visit(url_of(view, Path(said.name)), view, 60 * minutes, chance, tally)
        finally:
            view.send_signal(signal.SIGINT)
            code = view.wait(timeout=60)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if "Traceback" in text or "Error" in text:
        tally.fault("tracebacks", text.strip()[-400:])
    if code != 130:
        tally.fault("lost", f"exit code {code} after Ctrl-C")
    # All models, families and switches have been seen once by then.
    half_s = samples[-1][0] / 2
    first, later = (
        max(mib for s, mib in samples if (s > half_s) == late) for late in (False, True)
    )
    if later > SLACK * first:
        tally.fault("silent", f"{first:.0f} MiB, later {later:.0f} MiB")
    tally.what += f", {first:.0f} then {later:.0f} MiB"
    return [tally]


def url_of(view: subprocess.Popen, said: Path) -> str:
    for _ in range(600):
        if found := re.search(r"http://\S+:\d+", said.read_text()):
            return found[0]
        assert view.poll() is None, said.read_text()
        time.sleep(0.1)
    raise TimeoutError(said.read_text())


def visit(
    url: str, view: subprocess.Popen, seconds: float, chance: Random, tally: Tally
) -> list[tuple[float, float]]:
    """Memory over time; now and then the page is closed and opened again."""
    began, samples = time.monotonic(), []
    with open_browser() as browser:
        page = Page(browser, url)
        while (now := time.monotonic() - began) < seconds and view.poll() is None:
            if chance.random() < 0.005:
                page.page.close()
                page = Page(browser, url)
            click(page, chance)
            tally.tried += 1
            samples.append((now, rss_mib(view.pid)))
            if page.outside_requests or page.errors:
                tally.fault("lost", f"{page.outside_requests} {page.errors}")
                page.outside_requests.clear()
                page.errors.clear()
        page.wait_for("visitors", "1")  # it still answers
    return samples


def click(page: Page, chance: Random) -> None:
    """A key, a tab, or a widget: pressed, or filled with some number or text."""
    what = chance.random()
    if what < 0.25:
        page.press(chance.choice(KEYS))
    elif what < 0.4:
        page.tab(chance.choice(TABS))
    else:
        page.page.evaluate(
            """([share, value]) => {
                const options = [...document.querySelectorAll('[role=option]')];
                const all = options.length ? options
                    : [...document.querySelectorAll(':is(button, input, textarea)')]
                        .filter(x => x.offsetParent && !x.closest('[role=tablist]'));
                if (!all.length) return;
                const it = all[Math.floor(share * all.length)];
                if (it.tagName === 'INPUT' && it.type === 'text' && !it.readOnly) {
                    const kind = HTMLInputElement.prototype;
                    Object.getOwnPropertyDescriptor(kind, 'value').set.call(it, value);
                    it.dispatchEvent(new Event('input', {bubbles: true}));
                    it.dispatchEvent(new Event('blur', {bubbles: true}));
                }
                it.click();
            }""",
            [chance.random(), f"{chance.uniform(-2, 3):.2f}"],
        )
    time.sleep(chance.uniform(0.0, 0.5))
