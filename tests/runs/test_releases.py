"""Run folders of every format ever written lie in tests/golden/runs: all open, or say why not."""

from pathlib import Path

import pytest

from standing_orders.detect.learn.run import load_team
from standing_orders.errors import CheckpointError
from standing_orders.learn.run import load_network
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import best_of_search, latest_of
from standing_orders.runs.verify import DAMAGED, verify_run

RUNS = Path(__file__).parents[1] / "golden" / "runs"
ALL = sorted(path.name for path in RUNS.iterdir())


def test_there_is_one_of_every_format_and_kind() -> None:
    assert ALL == ["detect-format2", "search-format2", "train-format1", "train-format2"]


@pytest.mark.parametrize("name", ALL)
def test_every_released_run_is_as_written(name: str) -> None:
    folder = RunFolder.open(RUNS / name)
    assert (folder.seal is None) == name.endswith("format1")
    assert folder.journal().read()
    assert [one for one in verify_run(folder.path) if one.state == DAMAGED] == []


def test_the_policy_of_a_released_run_can_be_used() -> None:
    network, config = load_network(RUNS / "train-format2")
    assert (config.ppo.hidden, config.order) == ((4,), "any")
    assert network.layout.certainty == config.certainty
    best, config = load_network(best_of_search(RUNS / "search-format2"))
    assert config.order != "any"
    assert best.layout == network.layout


def test_of_a_team_before_the_trees_the_checkpoint_is_read_and_its_options_are_named() -> None:
    _, checkpoint = latest_of(RUNS / "detect-format2", "detect")
    assert checkpoint.data["progress"]["updates"] == 2
    gone = r"config\.json: not a config of this version: .*: no such option"
    with pytest.raises(CheckpointError, match=gone):
        load_team(RUNS / "detect-format2")


def test_of_the_unsealed_format_the_checkpoint_is_read_and_another_config_is_named() -> None:
    _, checkpoint = latest_of(RUNS / "train-format1", "train")
    assert checkpoint.data["updates"] == 2
    with pytest.raises(CheckpointError, match=r"config\.json: not a config of this version"):
        load_network(RUNS / "train-format1")
