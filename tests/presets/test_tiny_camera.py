"""`tiny-camera` is `tiny` with a camera instead of heights, and all that the method has."""

from swap.evaluate.model_audit import ModelAudit
from swap.presets import PRESETS
from swap.runs import to_json
from swap.runs.config import changes
from swap.runs.trained_robot import untrained

CFG, TINY = PRESETS["tiny-camera"], PRESETS["tiny"]


def test_its_task_is_that_of_tiny():
    told = changes(to_json(TINY.env), to_json(CFG.env))
    assert {line.split()[0].split(".")[0] for line in told} == {"camera"}
    assert to_json(CFG.ppo) == to_json(TINY.ppo)
    assert CFG.worlds == TINY.worlds


def test_the_robot_knows_the_ground_by_its_camera_alone():
    """No group that the actor or the world model reads has heights, or anything else that only a
    simulator knows."""
    reads = {*CFG.policy.actor_reads, *CFG.model.net.reads}
    assert reads == {"history", "command", "proprioception", "latent"}
    assert CFG.env.camera is not None


def test_every_part_of_it_mirrors_to_the_last_bit():
    audit = ModelAudit(untrained("tiny-camera"), "cpu", ("tilted_box",))
    audit.run(12)
    parts = {row["part"]: row for row in audit.check_networks()}
    assert {"encoder", "latent", "decoder", "actor", "critic", "discriminator"} <= parts.keys()
    for row in parts.values():
        assert row["error"] == 0
        assert row["pass"] is row["equivariant"] is True


def test_it_trains_every_part():
    trainer = CFG.build("cpu")
    for _ in range(6):  # 96 control steps are 19 ticks, and a sequence takes 17
        told = trainer.iterate()
    for part in ("ppo", "model", "amp"):
        assert told[f"{part}/updates"] > 0, part
