"""The command line from a user's point of view."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from command_line import swap
from swap.cli import main as cli
from swap.errors import UserError

ROOT = Path(__file__).parents[2]


def test_help_lists_every_command_and_each_has_its_file_and_help(capsys):
    assert cli.dispatch(["--help"]) == 0
    text = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert name in text
        with pytest.raises(SystemExit) as stop:
            cli.dispatch([*name.split(), "--help"])
        assert stop.value.code == 0
        assert f"swap {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["chek"], "swap: unknown command 'chek'; did you mean 'check nn' or 'check sim'?"),
        (["check"], "swap: swap check needs a subject: "),
        (["bench", "nm"], "swap: unknown subject of swap bench 'nm'; known: "),
        (["mirror", "--jsn", "x"], "--json"),
        (["mirror", "--robot", "apolo"], "unknown robot 'apolo'; did you mean 'apollo'"),
        (["mirror", "--json", "/no/such/folder/x.json"], "cannot write '/no/such/folder/x.json'"),
        (["bench", "nn", "--batch", "many"], "--batch"),
        (["bench", "nn", "--batch", "0"], "--batch 0; use 1 or more"),
        (["eval", "x", "--side", "up"], "invalid choice 'up' for argument '--side'"),
        (["sim2sim", "x", "--randomness", "swap"], "is that of swap eval; add --beside MODEL"),
        (["record", "x", "--trials", "many"], "--trials"),
        (["check", "nn", "--device", "tpu"], "unknown device 'tpu'; use cpu, cuda, cuda:0 or auto"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, says):
    assert_one_line(swap(*words), says)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("eval teacher --family box --family gap", "values after one: --family box gap"),
        ("eval teacher --family box --sizes 0.1 --sizes=0.2", "after one: --sizes 0.1 0.2"),
        ("play teacher --family box --size 0.5 --family gap --size 1", "one: --family box gap"),
        ("rewards --term a.py:A --term b.py:B", "after one: --term a.py:A b.py:B"),
        ("courses --family box --family gap", "values after one: --family box gap"),
        ("bench train --warm_up 1 --warm-up 2", "after one: --warm-up 1 2"),
        ("train --preset tiny --preset swap", "after one: --preset tiny swap"),
        (
            "train --preset tiny --env.rewards.terms headway=1 --env.rewards.terms torque=0",
            "after one: --env.rewards.terms headway=1 torque=0",
        ),
        ("eval teacher --blind --blind", "--blind is given twice; give it once"),
    ],
)
def test_an_option_that_is_given_twice_is_refused(line, says):
    done = swap(*line.split())
    assert_one_line(done, " is given twice; give it once")
    assert done.stderr.endswith(f"{says}\n")


def test_courses_takes_several_families(capsys):
    assert cli.dispatch(["courses", "--family", "box", "gap"]) == 0
    shown = capsys.readouterr().out
    assert "│ box " in shown
    assert "│ gap " in shown
    assert "│ flat " not in shown


def test_so_it_is_with_a_process():
    words = [sys.executable, "-m", "swap", "mirror", "--robot", "apolo"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert_one_line(done, "unknown robot 'apolo'; did you mean 'apollo'")


def assert_one_line(done, says):
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert done.stdout == ""


def test_mirror_prints_the_table_and_writes_the_same_figures(capsys, tmp_path):
    file = tmp_path / "mirror.json"
    assert cli.dispatch(["mirror", "--json", str(file)]) == 0
    shown, written = capsys.readouterr().out, json.loads(file.read_text())
    rows = {row["quantity"]: row for row in written["rows"]}
    assert rows["joint_pos"]["mirrored"] == "left leg <-> right leg, abad negated"
    assert rows["foot_heights"]["mirrored"] == "left leg <-> right leg, each flipped"
    assert rows["command"]["mirrored"] == "(x, -y, -yaw)"
    for name in rows:
        assert name in shown


@pytest.mark.parametrize(
    ("name", "holds", "says"),
    [
        ("kept.json", '{"preset": "tiny", "sha256": "0", "seal": "1"}', "else than a report"),
        ("list.json", "[]", "else than a report"),
        ("half.json", '{"title": "Mirror", "rows": [', "else than a report"),
        ("metrics.jsonl", '{"iteration": 0}', "is a report; let it end in .json"),
        ("course.py", "PIT = 1", "is a report; let it end in .json"),
    ],
)
def test_json_replaces_nothing_but_a_report(tmp_path, name, holds, says):
    file = tmp_path / name
    file.write_text(holds)
    assert_one_line(swap("mirror", "--json", file), f"swap: --json {file} ")
    assert_one_line(swap("mirror", "--json", file), says)
    assert file.read_text() == holds


def test_json_replaces_an_earlier_report_and_an_empty_file(tmp_path):
    file = tmp_path / "mirror.json"
    file.touch()
    for robot in ("apollo", "go2"):
        assert swap("mirror", "--robot", robot, "--json", file).returncode == 0
    assert "go2" in json.loads(file.read_text())["title"]


def test_doctor_says_what_is_here(capsys, tmp_path):
    file = tmp_path / "doctor.json"
    assert cli.dispatch(["doctor", "--json", str(file)]) == 0
    rows = {row["what"]: row for row in json.loads(file.read_text())["rows"]}
    assert rows["torch"]["state"] == "ok"
    assert rows["GPU"]["found"]
    assert "all that is needed is here" in capsys.readouterr().out


def test_doctor_names_the_cure_for_what_is_missing(capsys, monkeypatch):
    from swap.cli import doctor

    wanted = ["no-such-package<3,>=2; python_version > '3'", "nor-this; extra == 'dev'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: wanted)
    assert cli.dispatch(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "pip install -c constraints.txt no-such-package" in shown
    assert "nor-this" not in shown
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "OURS", "no-such-package")
    (told,) = doctor.packages()
    assert (told["state"], told["to mend"]) == ("missing", "pip install -c constraints.txt -e .")


def test_doctor_lists_the_optional_libraries_that_are_not_here(capsys, monkeypatch):
    wanted = ["no-such-viewer<2,>=1; extra == 'view'", 'torch>=2; extra == "export"', "numpy"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: wanted)
    assert cli.dispatch(["doctor"]) == 0  # nothing else needs them
    shown = capsys.readouterr().out
    assert "swap view and swap play --record need no-such-viewer" in shown
    assert "pip install -c constraints.txt '.[view]'" in shown
    assert "all that is needed is here; optional and not installed: [view]\n" in shown
    assert "for swap export, swap sim2sim" in shown


def test_doctor_knows_every_extra():
    from swap.cli import doctor

    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = data["project"]["optional-dependencies"]
    named = {word for extra in doctor.EXTRAS for word in extras[extra]}
    assert named == {word for name in extras if name != "dev" for word in extras[name]} - {
        "numpy>=2.0,<3"  # of deploy, whose other library is among export's
    }


def test_doctor_asks_for_all_that_the_package_requires():
    from swap.cli import doctor

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [line.split(">")[0] for line in project["dependencies"]]
    assert sorted(told["what"] for told in doctor.packages()) == sorted(wanted)


def test_doctor_does_not_believe_in_an_ffmpeg_that_is_not_there(monkeypatch):
    from swap.cli import doctor

    assert doctor.ffmpeg()["state"] == "ok"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/no/such/ffmpeg")
    told = doctor.ffmpeg()
    assert told["state"] == "none"
    assert "/no/such/ffmpeg is no program" in told["found"]


@pytest.mark.parametrize(("works", "state"), [(True, "ok"), (False, "unused")])
def test_doctor_of_a_gpu_says_whether_kernels_can_be_compiled(works, state, monkeypatch):
    from swap.cli import doctor

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("swap.device.triton_launch.works", lambda: works)
    (told,) = doctor.kernels()
    assert told["state"] == state
    assert bool(told["to mend"]) is not works
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert doctor.kernels() == []


def test_check_nn_fails_when_a_layer_breaks_the_mirror(capsys, monkeypatch, tmp_path):
    from swap.evaluate import layer_check as check
    from swap.evaluate.layer_examples import Example, examples

    good = next(e for e in examples() if e.name == "Linear 512 -> action 12")
    bad = Example("broken", lambda eq: good.build(False), good.shapes, good.reads, good.gives)
    monkeypatch.setattr(check, "examples", lambda: [good])
    assert cli.dispatch(["check", "nn"]) == 0
    monkeypatch.setattr(check, "examples", lambda: [good, bad])
    file = tmp_path / "check.json"
    assert cli.dispatch(["check", "nn", "--json", str(file)]) == 1
    assert "FAILED: broken" in capsys.readouterr().out
    exact = {row["module"]: row["exact"] for row in json.loads(file.read_text())["rows"]}
    assert exact == {good.name: True, "broken": False}


def test_bench_nn_gives_ratios_to_dense(capsys, tmp_path):
    file = tmp_path / "bench.json"
    words = ["bench", "nn", "--device", "cpu", "--batch", "8", "--images", "1", "--repeats", "1"]
    assert cli.dispatch([*words, "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert {row["layer"] for row in rows} >= {"linear 256", "3-layer MLP 1024"}
    assert all(row["equivariant"] > 0 and row["dense ms"] > 0 for row in rows)


def test_bench_model_counts_and_times_both_arms(tmp_path):
    file = tmp_path / "bench.json"
    words = ["bench", "model", "--device", "cpu", "--worlds", "1", "2", "--batch", "1"]
    assert cli.dispatch([*words, "--ticks", "2", "--repeats", "1", "--json", str(file)]) == 0
    rows = {row["what"]: row for row in json.loads(file.read_text())["rows"]}
    assert rows["parameters"]["equivariant"] < 0.5 * rows["parameters"]["plain"]
    for what in ("tick of 1, ms", "tick of 2, ms", "loss and gradients, 1 x 2, ms"):
        assert rows[what]["equivariant"] > 0


def test_one_line_from_any_box():
    rule = 9 * "─"
    box = f"╭─ Title {rule}╮\n│ bad thing │\n│ {rule} │\n│ For full helptext, see x │\n╰{rule}╯\n"
    assert cli.one_line(box, "swap x") == "bad thing (see swap x --help)"
    plain = " Title \n ------- \n  bad\n  thing  \n ------- \n For full helptext, see x\n"
    assert cli.one_line(plain, "swap x") == "bad thing (see swap x --help)"
    nested = box.replace("bad thing", "Error parsing cfg.ppo: ppo.clip=-1; use more")
    assert cli.one_line(nested, "swap x") == "ppo.clip=-1; use more (see swap x --help)"
    assert cli.one_line("", "swap x") == "cannot read these options (see swap x --help)"


def test_user_errors_are_value_errors():
    assert issubclass(UserError, ValueError)
