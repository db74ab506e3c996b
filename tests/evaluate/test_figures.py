"""Figures: what is in them, not how it looks."""

import numpy as np
import pytest

from swap.courses import FAMILIES
from swap.errors import UserError
from swap.evaluate.curves import Curve
from swap.evaluate.figures import (
    arm_styles,
    drawable,
    frontier_figure,
    line_style,
    spread,
    success_figure,
    write,
)
from swap.presets.swap import ARMS


def curve(name: str, *families: str, minutes: float = 6.0) -> Curve:
    t = np.linspace(0.1, minutes, 20)
    return Curve(name, t, 1e5 * t, 20, dict.fromkeys(families, 0.1 * t))


def rows(*families: str, success: float = 0.75) -> list[dict]:
    out = []
    for family in families:
        span = FAMILIES[family].size
        for size in sorted({span.high, span.low}, reverse=True):
            told = {"family": family, "size": size, "unit": span.unit, "success": success}
            out.append(told | {"low": success - 0.2, "high": success + 0.1})
    return out


def test_a_panel_a_family_and_a_line_a_run_with_its_name_at_its_end():
    runs = [curve("one", "box", "gap"), curve("two", "box", minutes=9.0)]
    figure = frontier_figure(runs, ["box", "gap"])
    box, gap = figure.axes
    assert [box.get_title(loc="left"), gap.get_title(loc="left")] == ["box", "gap"]
    assert box.get_ylabel() == "frontier, m"
    np.testing.assert_array_equal(box.get_lines()[0].get_xdata(), runs[0].minutes)
    np.testing.assert_array_equal(box.get_lines()[1].get_ydata(), runs[1].frontier["box"])
    assert box.get_xlim() == gap.get_xlim() == (0, 9.0)
    assert [text.get_text() for text in box.texts] == ["one", "two"]
    assert box.texts[1].get_color() == box.get_lines()[1].get_color()
    assert [text.get_text() for text in gap.texts] == ["one"]  # two never saw a gap
    assert not figure.legends


@pytest.mark.parametrize(("families", "runs"), [(("box", "gap", "stairs"), 2), (("box",), 9)])
def test_many_panels_or_runs_share_a_legend(families, runs):
    figure = frontier_figure([curve(str(k), *families) for k in range(runs)], families)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [str(k) for k in range(runs)]
    assert len(figure.axes) == len(families)
    lines = figure.axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == runs


def test_success_has_a_line_and_an_interval_a_policy():
    arms = {"swap": rows("flat", "box", "gap"), "plain": rows("box", success=0.25)}
    figure = success_figure(arms, ["flat", "box", "gap"])
    flat, box, gap = figure.axes
    np.testing.assert_array_equal(box.get_lines()[0].get_xdata(), [0.05, 1.9])  # sorted
    np.testing.assert_array_equal(box.get_lines()[1].get_ydata(), [0.25, 0.25])
    heights = [set(band.get_paths()[0].vertices[:, 1].round(9)) for band in box.collections]
    assert heights == [{0.55, 0.85}, {0.05, 0.35}]
    assert len(gap.get_lines()[1].get_xdata()) == 0  # plain was not measured there
    (bar,) = flat.collections[0].get_segments()  # one size has a bar in place of a band
    np.testing.assert_allclose(bar, [[0, 0.55], [0, 0.85]])
    assert box.get_xlabel() == "size, m"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["swap", "plain"]


def test_one_policy_is_named_in_the_title():
    figure = success_figure({"teacher": rows("box")}, ["box"])
    assert figure.get_suptitle() == "teacher"
    assert not figure.legends
    titled = success_figure({"teacher": rows("box")}, ["box"], "teacher at 1 m/s")
    assert titled.get_suptitle() == "teacher at 1 m/s"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_every_family_at_once_can_be_written(tmp_path, ending):
    file = tmp_path / f"all.{ending}"
    write(success_figure({"a": rows(*FAMILIES), "b": rows(*FAMILIES)}, list(FAMILIES)), file)
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert file.read_bytes().startswith(begins)
    drawable(file)
    with pytest.raises(UserError, match=r"cannot draw '.*all.doc'; use a name that ends in \.png"):
        drawable(tmp_path / "all.doc")


def test_names_move_apart_in_their_order_and_stay_in_the_panel():
    assert spread([0.2, 0.8], 0.1) == [0.2, 0.8]
    assert spread([0.5, 0.5, 0.1], 0.1) == pytest.approx([0.5, 0.6, 0.1])
    assert spread([1.0, 0.98, 0.97], 0.1) == pytest.approx([1.0, 0.9, 0.8])
    rng = np.random.default_rng(0)
    for _ in range(50):
        places = rng.random(7)
        moved = spread(places, 0.1)
        assert np.array_equal(np.argsort(places), np.argsort(moved))
        assert np.diff(np.sort(moved)).min() >= 0.1 - 1e-9
        assert max(moved) <= 1


def test_an_arm_has_its_colour_whichever_others_stand_beside_it():
    every = arm_styles(ARMS)
    assert len({look["color"] for look in every.values()}) == len(ARMS)
    assert arm_styles(["augment", "swap-no-eq"]) == {
        name: every[name] for name in ("augment", "swap-no-eq")
    }
    tiny = arm_styles(["tiny", "tiny-no-eq", "tiny-symloss"])
    assert list(tiny.values()) == [every[name] for name in ("swap", "swap-no-eq", "symloss")]
    mixed = arm_styles(["tiny-camera", "tiny-camera-no-heights", "tiny-camera-augment"])
    assert list(mixed.values()) == [every["swap"], line_style(1), every["augment"]]


@pytest.mark.parametrize("names", [["fast", "slow"], ["swap", "swap-slow"], ["swap", "tiny"]])
def test_other_arms_take_colours_in_their_order(names):
    assert arm_styles(names) == {names[0]: line_style(0), names[1]: line_style(1)}
