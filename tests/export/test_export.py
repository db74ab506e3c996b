"""A bundle computes what torch computes; one that is damaged or does not fit is refused."""

import errno
import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import tiny_swap
from swap.cli.main import dispatch
from swap.deploy.bundle import CARD, file_spec, read_bundle, seal
from swap.deploy.runtime import Runtime, replay_vectors, session
from swap.deploy.vectors import unpack
from swap.errors import UserError
from swap.export.check import check, made_of
from swap.export.recording import mirrored, record
from swap.export.write import export, networks_of
from swap.runs.trained_robot import untrained


@pytest.fixture(scope="module")
def robot():
    return tiny_swap.robot()


@pytest.fixture(scope="module")
def made(bundle):
    """The bundle of that robot."""
    return bundle


@pytest.fixture
def copy(made, tmp_path):
    """A bundle to spoil."""
    return shutil.copytree(made.path, tmp_path / "copy.bundle")


def reseal(path, change):
    card = json.loads((path / CARD).read_text())
    change(card)
    card["seal"] = seal(card)
    (path / CARD).write_text(json.dumps(card))


def refusal(path, **wanted):
    with pytest.raises(UserError) as error:
        read_bundle(path, **wanted)
    assert str(error.value).isprintable()
    return str(error.value)


def test_actions_are_torchs_and_mirror(robot, made):
    rows = check(robot, made, 60)
    assert [row["steps of"] for row in rows] == ["recorded", "mirrored", "in the bundle"]
    for row in rows:
        assert row["fine"], row
        assert row["action error"] < 1e-4
        assert row["h error"] < 1e-4


def test_a_check_can_fail(robot, made):
    """Weights that differ by a hair more than rounding are found."""
    networks = networks_of(robot)
    vectors = record(robot.cfg, networks, 20)
    wrong = replace(vectors, action=vectors.action + np.float32(2e-4))
    actions, _ = replay_vectors(Runtime(made), wrong)
    assert np.abs(actions - wrong.action).max() > 1e-4


def test_a_bundle_knows_its_robot(robot, made):
    assert made_of(made, robot)
    cfg = robot.cfg
    assert not made_of(made, replace(robot, iteration=1))
    assert not made_of(made, replace(robot, name="teacher"))
    assert not made_of(made, replace(robot, cfg=replace(cfg, seed=7)))
    small = replace(cfg.model, net=replace(cfg.model.net, deter=26))
    assert not made_of(made, replace(robot, cfg=replace(cfg, model=small)))
    assert not made_of(made, reading("history", "command"))


@pytest.mark.parametrize("plain", ["sees", "acts"])
def test_plain_twins_are_exported_too(plain, tmp_path):
    robot = tiny_swap.robot(**{plain: False})
    rows = check(robot, export(robot, tmp_path / "plain.bundle"), 30)
    assert all(row["fine"] for row in rows)
    assert "mirrored" not in [row["steps of"] for row in rows]


def test_noise_is_an_argument(robot, made):
    """One tick from a random latent, with Gumbel noise: z is torch's sample."""
    model = networks_of(robot).model
    draw = torch.Generator().manual_seed(3)
    spec, changed = made.spec.world_model, 0
    graph = session(made.world_model)
    for _ in range(20):
        x = {k: torch.randn(*shape, generator=draw) for k, shape in spec.inputs.items()}
        x["depth"] = x["depth"].clamp(-0.5, 0.5)
        x["z"] = model.categoricals.sample(x["z"], model.noise(1, like=x["z"], generator=draw))
        x["noise"] = model.noise(1, like=x["z"], generator=draw)
        latent = type(model.initial(1, "cpu"))(x["h"], x["z"])
        first = torch.zeros(1, dtype=torch.bool)
        with torch.no_grad():
            embedding = model.embed(x["depth"], x["proprioception"])
            want = model.tick(latent, x["actions"], embedding, first, x["noise"])
            mode = model.tick(latent, x["actions"], embedding, first, None)
        h, z = graph.run(["next_h", "next_z"], {k: v.numpy() for k, v in x.items()})
        np.testing.assert_allclose(h, want.h.numpy(), atol=1e-5)
        np.testing.assert_array_equal(z, want.z.numpy())
        changed += int((want.z != mode.z).any())
    assert changed, "noise has never changed a sample"


def test_mirrored_vectors_are_those_of_a_mirrored_robot(robot):
    networks = networks_of(robot)
    vectors = record(robot.cfg, networks, 20)
    twice = mirrored(mirrored(vectors, networks, robot.cfg), networks, robot.cfg)
    once = mirrored(vectors, networks, robot.cfg)
    np.testing.assert_array_equal(twice.history, vectors.history)
    assert np.abs(once.history - vectors.history).max() > 0


def test_facts_are_the_robots(robot, made):
    body, spec = robot.cfg.env.load_robot(), made.spec
    assert spec.joint_names == body.joint_names
    assert [x.default_rad for x in spec.joints] == list(body.default_pose)
    assert spec.action.scale_rad == body.action_scale
    assert spec.camera.pos_m == body.camera.pos
    assert spec.ticks_every == robot.cfg.env.camera.every
    assert unpack(made.vectors).steps == 100


def test_mjlabs_keys_are_in_the_graphs(made):
    onnx = pytest.importorskip("onnx")
    for graph in (made.policy, made.world_model):
        told = {x.key: x.value for x in onnx.load_model_from_string(graph).metadata_props}
        assert told["joint_names"].split(",") == list(made.spec.joint_names)
        assert len(told) == 12
        lengths = {len(v.split(",")) for k, v in told.items() if k.startswith("observation_terms")}
        assert lengths == {len(told["observation_names"].split(","))}


def test_no_path_of_this_machine_is_in_a_bundle(made):
    for file in made.path.iterdir():
        assert str(made.path.parents[2]).encode() not in file.read_bytes()
        assert b"site-packages" not in file.read_bytes()


def test_a_folder_that_is_no_bundle(tmp_path):
    assert "it has no swap.json; name a folder that swap export wrote" in refusal(tmp_path)


def test_truncated(copy):
    graph = copy / "policy.onnx"
    graph.write_bytes(graph.read_bytes()[:-7])
    assert "policy.onnx has" in refusal(copy)
    (copy / "world_model.onnx").unlink()
    assert "world_model.onnx cannot be read" in refusal(copy)


def test_altered(copy):
    graph = copy / "world_model.onnx"
    data = bytearray(graph.read_bytes())
    data[len(data) // 2] ^= 1
    graph.write_bytes(bytes(data))
    assert "world_model.onnx was altered" in refusal(copy)
    card = (copy / CARD).read_text()
    (copy / CARD).write_text(card.replace('"kp": 300.0', '"kp": 30000.0', 1))
    assert "altered" in refusal(copy)
    (copy / CARD).write_text(card[:-40])
    assert "not JSON" in refusal(copy)


def test_other_version(copy):
    reseal(copy, lambda card: card.update(format=99))
    assert "format 99" in refusal(copy)
    reseal(copy, lambda card: card.update(format=1, colour="red"))
    assert "'colour' is unknown" in refusal(copy)


def test_other_robot_and_other_joints(made):
    assert "not of 'go2'" in refusal(made.path, robot="go2")
    names = [name.replace("knee", "calf") for name in made.spec.joint_names]
    assert "FL_calf" in refusal(made.path, joints=names)
    read_bundle(made.path, robot="apollo", joints=made.spec.joint_names[::-1])


def test_values_that_no_robot_has(copy):
    reseal(copy, lambda card: card["joints"][0].update(kp=-1.0))
    assert "kp" in refusal(copy)
    reseal(copy, lambda card: card["joints"][0].update(kp="300"))
    assert "does not fit" in refusal(copy)
    reseal(copy, lambda card: card["joints"][0].update(kp=300.0))
    reseal(copy, lambda card: card.update(joints=card["joints"][:11]))
    assert "graphs do not read" in refusal(copy)
    outside = file_spec("x", b"")
    reseal(copy, lambda card: card["vectors"].update(file="../x", sha256=outside.sha256))
    assert "outside of the bundle" in refusal(copy)


def test_links_are_not_followed(copy, tmp_path):
    card = copy / CARD
    card.rename(tmp_path / CARD)
    card.symlink_to(tmp_path / CARD)
    assert f"{CARD} cannot be read" in refusal(copy)
    card.unlink()
    (tmp_path / CARD).rename(card)
    graph = copy / "policy.onnx"
    graph.rename(tmp_path / "elsewhere")
    graph.symlink_to(tmp_path / "elsewhere")
    assert "cannot be read" in refusal(copy)


def test_a_graph_that_is_none_is_one_line(copy):
    data = b"no graph"
    (copy / "policy.onnx").write_bytes(data)
    facts = file_spec("policy.onnx", data)
    reseal(copy, lambda card: card["policy"]["file"].update(bytes=facts.bytes, sha256=facts.sha256))
    with pytest.raises(UserError, match="cannot read a graph"):
        Runtime(read_bundle(copy))


def reading(*groups, observations=("action", "lin_vel", "joint_pos", "ang_vel")):
    """The small robot, whose actor reads these groups."""
    robot = tiny_swap.robot()
    env = replace(robot.cfg.env, observations=observations)
    policy = replace(robot.cfg.policy, actor_reads=groups)
    return replace(robot, cfg=replace(robot.cfg, env=env, policy=policy))


@pytest.mark.parametrize(
    "groups",
    [
        ("latent", "command", "history"),
        ("proprioception", "action", "latent"),
        ("joint_pos", "ang_vel", "latent"),
        ("history", "latent"),  # no command
        ("command", "latent"),  # no joint
        ("latent",),
    ],
)
def test_an_actor_may_read_any_groups_that_a_robot_measures(groups, tmp_path):
    robot = reading(*groups)
    bundle = export(robot, tmp_path / "x.bundle")
    for row in check(robot, bundle, 20):
        assert row["fine"], row


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (("history", "lin_vel", "latent"), "read lin_vel, which no robot measures; train one"),
        (("history", "command"), "does not read the latent, so it sees nothing"),
    ],
)
def test_an_actor_that_reads_what_no_robot_measures_or_nothing_seen_is_refused(
    groups, says, tmp_path
):
    with pytest.raises(UserError, match=says):
        export(reading(*groups), tmp_path / "x.bundle")
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named_as_a_clone_installs_it(robot, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(UserError, match=r"pip install -c constraints.txt '.\[export\]'$"):
        export(robot, tmp_path / "x.bundle")


def test_a_robot_without_eyes_is_refused(tmp_path):
    with pytest.raises(UserError, match="no world model"):
        export(untrained("tiny"), tmp_path / "x.bundle")


def test_nothing_is_overwritten_unasked(made, robot, tmp_path):
    with pytest.raises(UserError, match="--overwrite"):
        export(robot, made.path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match="is no bundle"):
        export(robot, tmp_path / "mine", overwrite=True)


@pytest.mark.parametrize("step", ["swap.export.write.write_file", "pathlib.Path.mkdir"])
def test_a_disk_that_takes_no_bundle_is_one_line(step, made, robot, tmp_path, monkeypatch):
    """Nothing is left of the new one, and the old one stays."""
    old = shutil.copytree(made.path, tmp_path / "x.bundle")
    there = sorted(tmp_path.rglob("*"))

    def full(path, *_, **__):
        if path.name == "policy.onnx":  # the second
            path.write_bytes(b"part")
        if path.name != "world_model.onnx":
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(step, full)
    with pytest.raises(UserError, match=r"cannot write '.*x.bundle' \(No space.*; name a folder"):
        export(robot, old, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == there
    read_bundle(old)


def test_the_command(tmp_path, capsys, monkeypatch):
    run = tiny_swap.run(tmp_path / "run")
    out = tmp_path / "new" / "run.bundle"
    assert dispatch(["export", str(run), "--out", str(out), "--check", "--steps", "20"]) == 0
    assert "mirrored" in capsys.readouterr().out
    assert read_bundle(out).spec.robot == "apollo"
