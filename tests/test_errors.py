"""Unknown names: what is close, or a list that fits."""

from swap.errors import LISTED, unknown


def test_a_close_name_is_offered_or_the_known_ones_are_listed():
    assert str(unknown("arm", "swop", ["swap", "plain"])) == (
        "unknown arm 'swop'; did you mean 'swap'?"
    )
    assert str(unknown("arm", "x", ["swap", "plain"])) == "unknown arm 'x'; known: swap, plain"
    assert str(unknown("arm", "x", [])) == "unknown arm 'x'; known: none"


def test_a_long_list_is_cut_between_names():
    names = [f"preset-{k:03d}" for k in range(100)]
    said = str(unknown("preset", "x", names)).removeprefix("unknown preset 'x'; known: ")
    listed, _, more = said.partition(" and ")
    shown = listed.split(", ")
    assert shown == names[: len(shown)]
    assert more == f"{100 - len(shown)} more"
    assert LISTED - len(", preset-000") < len(listed) <= LISTED
