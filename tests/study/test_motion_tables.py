"""How arms walk and take off, what they reconstruct, and mirrored pairs: means over seeds."""

from made_up_results import one_arm, put
from swap.study import tables
from swap.study.report import write_report
from swap.study.results import read_results
from swap.study.study import Run


def test_motion_reconstruction_and_pairs_are_means_over_seeds(study, folder):
    move = {"family": "box", "size": 1.0, "command_mps": 1.0, "gait": "x", "unit": "m", "trials": 5}
    mean = {"side": "left", "sequences": "mirrored", "trials": 2}
    pair = {"family": "tilted_box", "pairs": 4, "success": 0.5, "success, mirrored": 0.5}
    for seed, x in ((0, 0.1), (1, 0.3)):
        run = Run("ours", seed)
        put(folder.measured("moves", run), rows=[{**move, "fore_index": x, "stalled": None}])
        facts = {"mean": [{**mean, "error_m": x}], "mirror_gap_m": x}
        put(folder.measured("seen", run), facts=facts)
        put(
            folder.measured("pairs", run),
            rows=[{"part": "actor"}, {**pair, "same end": x, "5 cm apart": 0}],
        )
    results = read_results(study, folder)
    (row,) = tables.motion_table(results)
    assert (row["arm"], row["fore_index"], row["stalled"]) == ("ours", "0.2", "-")
    (row,) = tables.reconstruction_table(results)
    assert (row["side"], row["error, m"]) == ("left", "0.2")
    assert row["largest gap to the mirror image, m"] == "0.3"
    (row,) = tables.mirrored_table(results)
    assert (row["family"], row["pairs"], row["same end"], row["5 cm apart"]) == (
        "tilted_box",
        8,
        "0.2",
        "0",
    )


def test_motion_that_was_not_measured_of_every_seed_is_no_mean_over_seeds(study, folder):
    move = {"family": "box", "size": 1.0, "command_mps": 1.0, "fore_index": 0.1}
    for seed, more in enumerate(({"fore_up_ns": 50.0}, {})):
        put(folder.measured("moves", Run("ours", seed)), rows=[move | more])
    (row,) = tables.motion_table(read_results(study, folder))
    assert row["fore_index"] == "0.1"
    assert "fore_up_ns" not in row


def test_a_mean_says_of_how_many_seeds_it_is_and_which_measurement(tmp_path):
    """A seed whose robots never took off has no impulse; the others' mean is not that of all."""
    sides = {side: f"gait --family box --side {side}" for side in ("left", "right")}
    pairs = "check model --trials 2 --family box"
    study, folder = one_arm(tmp_path, **sides, pairs=pairs)
    move = {"family": "box", "size": 1.0, "command_mps": 1.0, "fore_index": 0.1}
    pair = {"family": "box", "pairs": 2, "success": 1, "success, mirrored": 1, "5 cm apart": 0}
    for seed, push in enumerate((257.4, None, None)):
        run = Run("a", seed)
        put(folder.measured("left", run), rows=[move | {"take_off_up_ns": push}])
        put(folder.measured("right", run), rows=[move | {"take_off_up_ns": None}])
        put(folder.measured("pairs", run), rows=[pair | {"same end": 1}])
    results = read_results(study, folder)
    told = {row["measurement"]: row for row in tables.motion_table(results)}
    assert told["left"]["take_off_up_ns"] == "257 (1 of 3)"
    assert (told["left"]["fore_index"], told["left"]["seeds"]) == ("0.1", 3)
    assert told["right"]["take_off_up_ns"] == "-"
    (row,) = tables.mirrored_table(results)
    assert (row["measurement"], row["seeds"], row["same end"]) == ("pairs", 3, "1")


def test_how_they_walk_is_a_mean_over_seeds_without_feet_and_reference(tmp_path):
    study, folder = one_arm(tmp_path, walk="gait --feet")
    for seed, speed in enumerate((0.9, 1.1, 1.3)):
        robot = {"gait": "tiny", "command_mps": 1.0, "foot": "all", "speed_mps": speed, "fallen": 0}
        foot = {"gait": "tiny", "command_mps": 1.0, "foot": "FL", "cadence_hz": 2.0}
        reference = {"gait": "reference trot", "command_mps": 1.0, "speed_mps": 1.0}
        put(folder.measured("walk", Run("a", seed)), rows=[robot, foot, reference])
    (row,) = tables.gait_table(read_results(study, folder))
    assert row == {
        "measurement": "walk",
        "m/s": "1",
        "arm": "a",
        "seeds": 3,
        "speed_mps": "1.1",
        "fallen": "0",
    }
    write_report(study, folder)
    assert "## How they walk" in (folder.root / "report.md").read_text()
