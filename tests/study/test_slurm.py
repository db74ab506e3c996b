"""Jobs through submitit: on this machine, with its local executor; and one that is preempted."""

import json
import sys
from types import SimpleNamespace

import pytest

from small_study import Done
from swap.cli import main as cli
from swap.errors import UserError
from swap.study import slurm as of
from swap.study.plan import Folder, create_folder
from swap.study.study import read_study


def test_without_submitit_one_line_says_how_to_get_it(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UserError, match="submitit is not installed; pip install"):
        cli.dispatch(["study", str(tiny), "--out", str(tmp_path / "s"), "--slurm"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["partition"], "give submitit's options as key=value"),
        (["cluster=local", "partitoin=gpu"], "--slurm: .*partitoin"),
        (["cluster=sluurm"], "--slurm: .*sluurm"),
    ],
)
def test_wrong_options_are_told_in_one_line(options, says, tiny, tmp_path):
    pytest.importorskip("submitit")
    with pytest.raises(UserError, match=says) as error:
        cli.dispatch(["study", str(tiny), "--out", str(tmp_path / "s"), "--slurm", *options])
    assert "\n" not in str(error.value)


def test_a_job_trains_keeps_and_measures_a_run(tiny, tmp_path):
    pytest.importorskip("submitit")
    study, folder = read_study(tiny), Folder(tmp_path / "s")
    create_folder(study, folder)
    done, *_, run = study.runs
    folder.metrics(done).touch()
    folder.measured("boxes", done).touch()
    (job,) = of.submit(study, folder, "cpu", ["cluster=local", "timeout_min=3"], [done, run])
    assert job.result() == f"{run.name} done"
    assert json.loads(folder.measured("boxes", run).read_text())["rows"]
    assert folder.metrics(run).is_file()
    assert "done:" in folder.log(run).read_text()
    job.wait()


def test_the_command_says_what_it_has_submitted(tiny, tmp_path, monkeypatch, capsys):
    given = {}

    def submit(study, folder, device, options, runs):
        given.update(device=device, options=options, runs=[run.name for run in runs])
        return [SimpleNamespace(job_id="77_0"), SimpleNamespace(job_id="77_1")]

    monkeypatch.setattr(of, "submit", submit)
    words = ["--seeds", "1", "--slurm", "partition=gpu", "timeout_min=60"]
    assert cli.dispatch(["study", str(tiny), "--out", str(tmp_path / "s"), *words]) == 0
    assert given == {
        "device": "auto",
        "options": ("partition=gpu", "timeout_min=60"),
        "runs": ["mirror-1", "plain-1"],
    }
    said = capsys.readouterr().out
    assert "submitted 2 jobs: 77_0, 77_1" in said
    assert f"swap study {tiny} --out {tmp_path / 's'} --only figures" in said


def test_a_job_that_is_preempted_stops_its_run_and_is_queued_again_as_it_was(tiny, tmp_path):
    submitit = pytest.importorskip("submitit")
    study, folder = read_study(tiny), Folder(tmp_path / "s")
    create_folder(study, folder)
    job = of.RunJob(study, folder, study.runs[0], "cpu")
    stopped = []

    class FakePool:
        def stop(self):
            stopped.append(True)

    job.pool = FakePool()
    again = job.checkpoint()
    assert stopped == [True]
    assert isinstance(again, submitit.helpers.DelayedSubmission)
    assert again.function == of.RunJob(study, folder, study.runs[0], "cpu")
    assert again.function.pool is None


def test_a_run_that_fails_fails_its_job(tiny, tmp_path, monkeypatch, in_process):
    study, folder = read_study(tiny), Folder(tmp_path / "s")
    create_folder(study, folder)
    monkeypatch.setattr(of, "start_process", lambda env: lambda command, log: Done(1))
    with pytest.raises(RuntimeError, match="mirror-0 train failed"):
        of.RunJob(study, folder, study.runs[0], "cpu")()
