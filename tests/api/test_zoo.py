"""The zoo: every policy is what its card says, and nothing is written there."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from standing_orders import evaluate, evaluate_team, load_policy, zoo
from standing_orders.api.zoo import ZooCard
from standing_orders.errors import CheckpointError
from standing_orders.evaluate.obedience import measure_obedience
from standing_orders.learn.run import load_network
from standing_orders.runs.folder import RunFolder, is_run
from standing_orders.runs.shipped import ZOO, locate, shipped_names
from tests.cli.commands import run
from tests.effort import effort

CARDS = zoo().cards
MEASURED = [card for card in CARDS if card.data]
DEFENDERS = [card for card in MEASURED if card.data["kind"] == "defender"]
TEAMS = [card for card in MEASURED if card.data["kind"] == "team"]
EPISODES, TOLERATED = 100, 4.0  # standard errors
SEED = 5  # another one than the card's


def name_of(card: ZooCard) -> str:
    return card.name


@pytest.mark.parametrize("card", CARDS, ids=name_of)
def test_every_policy_has_been_measured(card: ZooCard) -> None:
    if not card.data:
        pytest.skip(f"{card.name} has no card yet: make zoo")
    assert card.figures["n"] >= 100


def dear(card: ZooCard) -> Any:
    """The one whose belief has hundreds of states takes longest."""
    marks = pytest.mark.slow if card.name == "zoo/any-meander-late" else ()
    return pytest.param(card, marks=marks, id=card.name)


@pytest.mark.parametrize("card", [dear(card) for card in DEFENDERS])
def test_a_defender_scores_as_its_card_says(card: ZooCard) -> None:
    red = card.data["red"]
    scores = evaluate(card.name, red=red, episodes=EPISODES, seed=SEED, order_episodes=0)
    score = scores.score("total", None) if red == "all" else scores.score(red, 100)
    error = math.hypot(score.std_error, card.figures["std_error"])
    assert abs(score.mean - card.figures["value"]) <= TOLERATED * error


@pytest.mark.parametrize("card", [dear(card) for card in DEFENDERS if "orders" in card.figures])
def test_a_defender_keeps_orders_as_its_card_says(card: ZooCard) -> None:
    told = card.figures["orders"]
    assert told["passed"] >= 0.95 * told["orders"]
    policy = load_policy(card.name)
    orders = list(policy.orders)[7 :: effort(40, 120)]
    for one in measure_obedience(policy, policy.home(), orders, num_episodes=20, seed=SEED):
        assert one.measured.contested.value is not None
        assert one.measured.contested.value >= 0.95


@pytest.mark.parametrize("card", TEAMS, ids=name_of)
def test_a_team_costs_what_its_card_says(card: ZooCard) -> None:
    found = evaluate_team(card.name).figures["mean_cost"]
    assert found == pytest.approx(card.figures["value"], abs=1e-3)


def test_the_zoo_is_small_and_has_the_policy_that_the_pages_show() -> None:
    files = [path for path in ZOO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 3_000_000
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".safetensors"}
    assert "zoo/any-b_line" in shipped_names()


def test_a_policy_of_the_zoo_says_how_it_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("zoo", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == shipped_names()
    for one in (one for one in listed if "made_by" in one):
        config = RunFolder.open(Path(one["name"])).config
        assert f"--seed {config['seed']}" in one["made_by"]
    assert run("zoo") == 0
    assert "zoo/any-b_line" in capsys.readouterr().out


def test_nothing_is_written_into_the_zoo(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--resume", "--run", "zoo/any-b_line", "--episodes", "30000") == 3
    assert "comes with the package and is never written" in capsys.readouterr().err


def test_a_name_that_is_not_in_the_zoo_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("play", "--policy", "zoo/lion", "--plain") == 3
    assert "zoo/lion: not in the zoo, which has zoo/any-b_line" in capsys.readouterr().err
    with pytest.raises(CheckpointError, match="not in the zoo"):
        locate(Path("zoo/lion"))


def test_a_folder_of_ones_own_called_zoo_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    RunFolder.create(Path("zoo/mine"), {"seed": 1}, "train")
    assert is_run(Path("zoo/mine"))
    assert RunFolder.open(Path("zoo/mine")).path == (tmp_path / "zoo" / "mine").resolve()


def test_the_weights_alone_are_kept() -> None:
    network, config = load_network(Path("zoo/any-b_line"))
    assert config.order == "any"
    files = [path.name for path in (ZOO / "any-b_line").rglob("*") if path.is_file()]
    weights = sum(value.numel() for value in network.parameters())
    size = next((ZOO / "any-b_line").rglob("*.safetensors")).stat().st_size
    assert size < 4 * weights + 10_000
    assert ".lock" not in files
