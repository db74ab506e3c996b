"""Cards from strangers: damage and edits are reported, and a bad config gives one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from swap.cli import main as cli
from swap.env import ParkourEnv
from swap.errors import UserError, printable
from swap.robots import load as load_robot
from swap.runs import load_weights, to_json
from swap.runs.saved_model import keep_model, read_model
from swap.runs.trained_robot import load_trained
from swap.runs.weights import NEW
from tampered_files import edit, flips, one_line

MODELS = Path(__file__).parents[2] / "models"


def attempt(kept):
    """The model, or the reason why it is refused."""
    try:
        return read_model(kept), ""
    except UserError as error:
        return None, str(error)


def test_a_flipped_byte_of_a_card_is_told_or_changes_nothing(kept):
    file, model = kept.with_suffix(".json"), read_model(kept)
    _, card = load_weights(kept)
    whole, refused = file.read_bytes(), 0
    for data in flips(whole, 300):
        file.write_bytes(data)
        same, told = attempt(kept)
        if same is None:
            assert told.isprintable()
            assert file.name in told
            refused += 1
            continue
        assert (same.name, same.iteration, same.cfg) == (model.name, model.iteration, model.cfg)
        assert load_weights(kept)[1] == card  # a space was turned into another one
    assert refused > 200


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card["cfg"]["env"].update(action_clip=6.4),
        lambda card: card.update(figures={"title": "better"}),
        lambda card: card.update(seal=card["seal"][::-1]),
        lambda card: card.pop("seal"),
        lambda card: card.pop("format"),
        lambda card: card.update(extra=1),
        lambda card: card.pop("figures"),
        lambda card: card.update(figures=float("nan")),
    ],
)
def test_an_edited_card_is_told(kept, change):
    edit(kept.with_suffix(".json"), change)
    with pytest.raises(UserError, match=r"kept.json' is damaged: .*its seal differs") as error:
        read_model(kept)
    one_line(error)


def test_spaces_and_order_of_a_card_do_not_matter(kept):
    file = kept.with_suffix(".json")
    card = json.loads(file.read_text())
    file.write_text(json.dumps(dict(sorted(card.items())), indent=7))
    assert load_weights(kept)[1] == card


def test_the_card_of_another_model_is_told(home, kept):
    other = home / "other.safetensors"
    model = read_model(kept)
    tensors = {name: x + (x.dtype == torch.float32) for name, x in model.tensors.items()}
    keep_model(replace(model, tensors=tensors), other, {})
    shutil.copy(other.with_suffix(".json"), kept.with_suffix(".json"))
    with pytest.raises(UserError, match=r"not what its card seals \(sha256 differs\)") as error:
        read_model(kept)
    one_line(error)


def test_figures_are_added_through_the_command_alone(kept):
    weights = kept.read_bytes()
    keep_model(read_model(kept), kept, {"title": "measured"})
    assert kept.read_bytes() == weights
    assert load_weights(kept)[1]["figures"] == {"title": "measured"}
    for bad, says in (([1], "no table of names"), ({"x": float("inf")}, "finite numbers only")):
        with pytest.raises(UserError, match=says):
            keep_model(read_model(kept), kept, bad)
    assert load_weights(kept)[1]["figures"] == {"title": "measured"}


def test_a_file_that_is_kept_anew_keeps_its_figures(home, kept, monkeypatch):
    """Unless others are given, or they were measured with another robot."""
    monkeypatch.chdir(home)
    Path("new.json").write_text('{"title": "second"}')

    def figures(source, *words):
        out = ["--out", "anew.safetensors", "--overwrite"]
        assert cli.dispatch(["keep", source, *out, *words]) == 0
        return load_weights(Path("anew.safetensors"))[1]["figures"]

    assert figures(kept.name) == {"title": "first"}
    assert figures(kept.name, "--robot", "go2") == {"title": "first"}
    assert figures(kept.name, "--robot", "apollo") == {}
    assert figures(kept.name, "--figures", "new.json") == {"title": "second"}
    assert figures("run") == {}


def test_what_is_there_is_replaced_only_when_asked(home, kept, monkeypatch):
    monkeypatch.chdir(home)
    card = kept.with_suffix(".json")
    before = kept.read_bytes(), card.read_bytes()
    Path("report.json").write_text("{}")
    Path("learned.jsonl").write_text("{}")
    for words, there in (
        (["--out", kept.name], kept.name),
        (["--out", "report.safetensors"], "report.json"),
        (["--out", "fresh.safetensors", "--metrics", "learned.jsonl"], "learned.jsonl"),
    ):
        with pytest.raises(UserError, match=f"^'{there}' is there; name another file, or add --ov"):
            cli.dispatch(["keep", "run", *words])
    assert (kept.read_bytes(), card.read_bytes()) == before
    assert not Path("report.safetensors").exists()
    assert not Path("fresh.safetensors").exists()
    assert cli.dispatch(["keep", "run", "--out", kept.name, "--overwrite"]) == 0
    assert card.read_bytes() != before[1]


def test_a_card_says_who_wrote_it_and_when(kept):
    import swap

    _, card = load_weights(kept)
    assert (card["format"], card["swap"]) == (2, swap.__version__)
    assert card["time"].endswith("+00:00")
    assert card["git"] is None or (len(card["git"]["commit"]) == 40 and "dirty" in card["git"])


def test_cards_of_before_have_no_seal_and_load(kept):
    model = read_model(kept)

    def before(card):
        for key in NEW:
            del card[key]
        card["cfg"]["env"].pop("robot_data")

    edit(kept.with_suffix(".json"), before)
    old = load_trained(kept)
    assert old.cfg == model.cfg
    assert old.tensors.keys() == model.tensors.keys()


def test_a_card_of_a_newer_format_is_told(kept):
    edit(kept.with_suffix(".json"), lambda card: card.update(format=9), reseal=True)
    with pytest.raises(UserError, match=r"kept.json' is of format 9; upgrade swap to read it$"):
        read_model(kept)


@pytest.mark.parametrize("file", sorted(MODELS.glob("*.safetensors")), ids=lambda file: file.stem)
def test_the_models_of_this_project_are_sealed_and_hold_their_robot(file):
    _, card = load_weights(file)
    assert all(key in card for key in NEW)
    assert card["cfg"]["env"]["robot_data"] == to_json(load_robot("apollo"))
    robot = load_trained(file)
    robot.networks_for(ParkourEnv(replace(robot.cfg.env, levels=1, variants=1), 1))


# --- what is in a card ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "kept.json is not JSON"),
        ("[]", "kept.json holds no table"),
        ("[" * 100_000, "kept.json is not JSON"),
        ("\ud800".encode("utf-8", "surrogatepass"), "kept.json is not JSON"),
        ("{}", "does not say the size and the sha256"),
        ('{"bytes": true, "sha256": "x"}', "does not say the size and the sha256"),
        ('{"bytes": -1, "sha256": "x"}', "does not say the size and the sha256"),
        ('{"bytes": 3, "sha256": 3}', "does not say the size and the sha256"),
        ('{"bytes": 1e999, "sha256": "x"}', "does not say the size and the sha256"),
        ('{"bytes": 3, "sha256": "x"}', "bytes instead of 3"),
    ],
)
def test_a_card_that_is_none(kept, text, says):
    kept.with_suffix(".json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=says) as error:
        read_model(kept)
    one_line(error)


def before_kinds(card, preset):
    """An older card, which only names a preset."""
    card.pop("kind")
    card["preset"] = preset


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda card: before_kinds(card, "t\x1b[2J\u202e\nxy"), "unknown preset 't.x1b"),
        (lambda card: card.update(preset=["tiny"]), "holds no trained robot"),
        (lambda card: card.update(kind="toy"), "holds no trained robot"),
        (lambda card: card.update(kind=["parkour"]), "holds no trained robot"),
        (
            lambda card: before_kinds(card, "os:system"),
            "has a config of a class of its own, by the preset 'os:system', which is not",
        ),
        (lambda card: card.update(iteration="4"), "holds no trained robot"),
        (lambda card: card.update(iteration=-4), "holds no trained robot"),
        (lambda card: card.pop("cfg"), "must be a table of ParkourCfg"),
        (lambda card: card["cfg"].update({"wor\x07lds": 3}), "unknown config key 'wor.x07lds'"),
        (lambda card: card["cfg"].update(worlds="\x1b]0;hi\x07" * 99), "'worlds' must be int"),
        (lambda card: card["cfg"]["env"].update(action_clip=10**30), "must be a finite number"),
        (lambda card: card["cfg"]["env"].update(families=[["\x1b", 1.0]]), "unknown course family"),
    ],
)
def test_a_config_that_is_none(kept, change, says):
    edit(kept.with_suffix(".json"), change, reseal=True)
    with pytest.raises(UserError, match=says) as error:
        load_trained(kept)
    assert len(one_line(error)) < 400


@pytest.mark.parametrize("name", ["my.py:QUICK", "gone", "../../[/x]$a$\x1b[2J" + 200 * "y"])
def test_the_preset_of_a_card_is_a_name_for_people(kept, name, home, monkeypatch, capsys):
    """The config holds all that is needed, and the name is harmless where it is shown."""
    model = read_model(kept)
    edit(kept.with_suffix(".json"), lambda card: card.update(preset=name), reseal=True)
    monkeypatch.chdir(home)
    assert read_model(kept).cfg == model.cfg
    words = ("--family", "flat", "--trials", "1", "--points", "1", "--device", "cpu")
    assert cli.dispatch(["eval", kept.name, *words, "--plot", "x.png"]) == 0
    few = ("--iterations", "1", "--device", "cpu", "--no-tensorboard")
    assert cli.dispatch(["train", "--from", kept.name, *few]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out
    (run,) = Path("out/train").iterdir()
    assert read_model(run).cfg.env == model.cfg.env


# --- text from files -----------------------------------------------------------------------------
def test_printable():
    assert printable("plain – ü") == "plain – ü"
    told = printable("a\x1b[31m\n\u202e\x9b\ud800\x7f\u2028")
    assert told == r"a\x1b[31m\n\u202e\x9b\ud800\x7f\u2028"
    assert told.isprintable()
    assert len(printable("x" * 5000)) == 1000
    assert str(UserError("a\nb")) == r"a\nb"
