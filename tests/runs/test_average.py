"""`swap keep --average-with`: the mean of several robots' weights."""

from dataclasses import replace

import pytest
import torch

import tiny_swap
from swap.cli import main as cli
from swap.errors import UserError
from swap.learn.trainer import NETWORKS
from swap.runs import load_weights
from swap.runs.saved_model import keep_model, read_model
from tampered_files import one_line


def moved(model, by, only=torch.float32):
    return {name: x + by if x.dtype == only else x for name, x in model.tensors.items()}


@pytest.fixture
def others(home, kept):
    """Two files beside the kept one: its weights and 3, its weights less 1.5."""
    model, files = read_model(kept), []
    for name, by in (("more", 3.0), ("less", -1.5)):
        files.append(home / f"{name}.safetensors")
        keep_model(replace(model, tensors=moved(model, by)), files[-1], {})
    return files


def test_the_mean_of_three_in_equal_parts(home, kept, others):
    out = home / "mean.safetensors"
    words = ["keep", str(kept), "--average-with", *map(str, others), "--out", str(out)]
    assert cli.dispatch(words) == 0
    first, mean = read_model(kept), read_model(out)
    assert mean.tensors.keys() == first.tensors.keys()
    for name, x in moved(first, 0.5).items():
        torch.testing.assert_close(mean.tensors[name], x)
        assert mean.tensors[name].dtype == x.dtype
    assert (mean.name, mean.cfg, mean.figures) == (first.name, first.cfg, {})
    said = [f"{name}.safetensors, iteration 1" for name in ("kept", "more", "less")]
    assert load_weights(out)[1]["average_of"] == said

    again = home / "again.safetensors"  # what was averaged is not forgotten
    assert cli.dispatch(["keep", str(out), "--out", str(again)]) == 0
    assert read_model(again).average_of == tuple(said)


def test_a_run_can_begin_with_it(home, kept, others):
    out, run = home / "mean.safetensors", home / "second"
    words = ["keep", str(kept), "--average-with", str(others[0]), "--out", str(out)]
    assert cli.dispatch(words) == 0
    words = ["--device", "cpu", "--iterations", "1", "--no-tensorboard", "--out", str(run)]
    assert cli.dispatch(["train", "--from", str(out), *words]) == 0


def test_other_networks_are_told(home, kept, others):
    model, other = read_model(kept), others[0]
    tensors = dict(model.tensors)
    # Half of some layers is empty, and stays so without a row.
    name = next(k for k, x in tensors.items() if k.startswith(NETWORKS) and x.dim() > 1 and len(x))
    tensors[name] = tensors[name][:-1]
    keep_model(replace(model, tensors=tensors), other, {})
    with pytest.raises(UserError, match=r"'more.safetensors' has other networks") as error:
        cli.dispatch(
            ["keep", str(kept), "--average-with", str(other), "--out", str(home / "x.safetensors")]
        )
    one_line(error)
    assert not (home / "x.safetensors").exists()


def test_there_is_no_mean_of_optimisers(home, kept, others):
    words = ["keep", str(home / "run"), "--average-with", str(others[0]), "--optimiser"]
    with pytest.raises(UserError, match="there is no mean of optimisers"):
        cli.dispatch([*words, "--out", str(home / "x.safetensors")])


def test_the_mean_of_robots_that_mirror_mirrors(tmp_path, capsys):
    first = tiny_swap.run(tmp_path / "first")
    second, out = tmp_path / "second", tmp_path / "mean.safetensors"
    words = ["--device", "cpu", "--seed", "1", "--iterations", "3", "--no-tensorboard"]
    assert cli.dispatch(["train", "--from", str(first), *words, "--out", str(second)]) == 0
    words = ["keep", str(first), "--average-with", str(second), "--out", str(out)]
    assert cli.dispatch(words) == 0
    capsys.readouterr()
    assert cli.dispatch(["check", "model", str(out), "--family", "flat", "--steps", "5"]) == 0
    assert "latent" in capsys.readouterr().out
