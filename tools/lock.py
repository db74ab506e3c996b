"""Writes constraints.lock: the pins of constraints.txt with the sha256 of every file that PyPI has
of them, for all platforms. `make lock`, after each change of a pin; it needs the network."""

import re
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = "https://pypi.org/simple"
MANY = {"torch"}
"""Comes in builds for the CPU and for each CUDA, from several places; of all that have their hash
here pip would take the largest. So it has a version only, and so have the libraries it asks for."""
HEAD = """\
# Made by `make lock` from constraints.txt; not to be edited. `make setup` installs these:
# pip refuses a file whose sha256 is not here. Only torch, of which there are many builds, and the
# CUDA libraries that it may ask for come on top, by their version.
"""


def pins(text: str) -> dict[str, str]:
    """`name==version`, and where it is needed, if not everywhere (`; platform_system == "Linux"`),
    for each line that is no comment, by name, as an index spells it."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return {normal(line.split("==")[0]): line for line in lines if line}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def digests(page: str, pin: str) -> set[str]:
    """Of the files of one version, in a page of the index: wheels and source archives."""
    name, version = pin.split(";")[0].strip().split("==")
    stem = re.escape(normal(name)).replace(r"\-", "[-_.]+")
    wanted = re.compile(rf"{stem}-{re.escape(version)}(-.+\.whl|\.tar\.gz|\.zip)", re.IGNORECASE)
    links = re.findall(r'href="[^"#]*/([^"/#]+)#sha256=([0-9a-f]{64})"', page)
    return {digest for file, digest in links if wanted.fullmatch(file)}


def main() -> int:
    entries = [HEAD]
    every = pins((ROOT / "constraints.txt").read_text())
    for name, pin in every.items():
        if name in MANY:
            continue
        with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=60) as answer:
            found = digests(answer.read().decode(), pin)
        if not found:
            print(f"the index has no file of {pin}; correct constraints.txt", file=sys.stderr)
            return 2
        hashes = [f" \\\n    --hash=sha256:{digest}" for digest in sorted(found)]
        entries.append("".join([pin, *hashes, "\n"]))
    (ROOT / "constraints.lock").write_text("".join(entries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
