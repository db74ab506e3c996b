"""constraints.lock, from which set-up installs, agrees with constraints.txt."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
assert SPEC is not None
assert SPEC.loader is not None
lock = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lock)


def test_every_pin_but_those_of_many_builds_has_hashes():
    entries = (ROOT / "constraints.lock").read_text().replace("\\\n", " ").splitlines()
    locked = [re.split(r"\s+(?=--hash)", x) for x in entries if not x.startswith("#")]
    pinned = lock.pins((ROOT / "constraints.txt").read_text())
    assert [pin for pin, *_ in locked] == [x for name, x in pinned.items() if name not in lock.MANY]
    for pin, *hashes in locked:
        assert hashes, pin
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", x) for x in hashes), pin


def test_digests_are_those_of_one_version_only():
    files = {
        "my_pkg-1.2-py3-none-any.whl": "a",
        "my-pkg-1.2.tar.gz": "b",
        "my_pkg-1.2.1-py3-none-any.whl": "c",
        "my_pkg-1.2rc1.tar.gz": "d",
        "not_my_pkg-1.2.tar.gz": "e",
    }
    page = "".join(f'<a href="https://x/{f}#sha256={d * 64}">{f}</a>\n' for f, d in files.items())
    assert lock.digests(page, "My.Pkg==1.2") == {"a" * 64, "b" * 64}
    assert lock.digests(page, 'My.Pkg==1.2; python_version < "3.12"') == {"a" * 64, "b" * 64}
