"""Names: no two public classes of the package are called alike."""

import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "swap"
EACH = {"Args"}  # every command has its own


def test_a_class_has_a_name_of_its_own():
    where = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for name in re.findall(r"^class ([A-Z]\w*)", file.read_text(), re.M):
            where[name].append(file.relative_to(SOURCE).as_posix())
    assert len(where) > 200
    assert {name: files for name, files in where.items() if len(files) > 1}.keys() <= EACH
