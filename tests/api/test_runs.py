"""Train, search, load and score from Python: what comes back, and how it prints."""

import json
from pathlib import Path

import numpy as np
import pytest

from standing_orders import (
    DetectConfig,
    Run,
    SearchResult,
    evaluate,
    evaluate_team,
    load_policy,
    load_run,
    preset,
    resume,
    resume_search,
    search,
    train,
)
from standing_orders.errors import CheckpointError, ConfigError


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = preset("fast", episodes=40, update_episodes=20, seed=3)
    return train(config, tmp_path_factory.mktemp("runs") / "any")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    config = preset(
        "search",
        budget=100,
        update_episodes=10,
        order_episodes=20,
        evaluation_episodes=4,
        base={"episodes": 20},
        gate={"episodes": 4},
    )
    return search(config, tmp_path_factory.mktemp("runs") / "search")


def test_a_run_says_what_came_of_it(trained: Run) -> None:
    assert (trained.updates, trained.played, trained.stopped) == (2, 40, "budget used")
    assert trained.is_finished
    assert [record["update"] for record in trained.records] == [1, 2]
    assert "budget used after 40 episodes" in str(trained)
    assert json.loads(json.dumps(trained.to_json()))["config"]["seed"] == 3


def test_a_run_is_loaded_and_resumed_as_it_was(trained: Run) -> None:
    assert load_run(trained.path) == trained
    assert resume(trained.path) == trained


def test_a_search_says_what_is_best(searched: SearchResult) -> None:
    assert searched.best == searched.leaderboard[0].result.order
    assert "orders visited" in str(searched)
    assert "100 of 100" in str(searched)
    assert searched.best not in searched.ties
    assert json.loads(json.dumps(searched.to_json()))["best"] == str(searched.best)


def test_a_search_is_loaded_and_resumed_as_it_was(searched: SearchResult) -> None:
    for again in (load_run(searched.path), resume_search(searched.path)):
        assert isinstance(again, SearchResult)
        assert again.to_json() == searched.to_json()


def test_a_policy_is_found_by_name_folder_run_and_search(
    trained: Run, searched: SearchResult
) -> None:
    sources = ("heuristic", str(trained.path), trained.path, trained, searched, searched.path)
    seeds = np.arange(3, dtype=np.uint64)
    for source in sources:
        policy = load_policy(source)
        policy.reset(seeds)
        actions = policy.act(np.zeros((3, 52), np.int8))
        assert actions.shape == (3,)


def test_a_score_card_is_repeated_and_prints_as_the_command_prints_it(
    trained: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.cli.commands import run

    policy = load_policy(trained, order="critical_first")
    card = evaluate(policy, red="b_line", episodes=4, order_episodes=2)
    again = evaluate(policy, red="b_line", episodes=4, order_episodes=2, threads=2)
    assert card.to_json() == again.to_json()
    words = ("evaluate", "--policy", str(trained.path), "--order", "critical_first")
    words += ("--red", "b_line", "--episodes", "4", "--order-episodes", "2")
    assert run(*words) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(card)


def test_a_policy_of_ones_own_is_scored() -> None:
    class Sleeper:
        name = "sleeper"

        def reset(self, seeds: np.ndarray) -> None:
            self.count = len(seeds)

        def act(self, observations: np.ndarray) -> np.ndarray:
            return np.zeros(self.count, dtype=np.int64)

    mine = evaluate(Sleeper(), red="b_line", episodes=5)
    assert mine.scores == evaluate("sleep", red="b_line", episodes=5).scores


@pytest.mark.usefixtures("brief_detection")
def test_a_team_is_trained_and_assessed(tmp_path: Path) -> None:
    config = DetectConfig(learn={"iterations": 2, "steps": 200}, team={"hidden": (8,)})
    team = train(config, tmp_path / "team")
    assert (team.updates, team.stopped) == (2, "budget used")
    assert load_run(tmp_path / "team") == team
    assert evaluate_team(team).figures["mean_cost"] > 0


def test_what_is_no_policy_or_run_is_refused(tmp_path: Path, trained: Run) -> None:
    with pytest.raises(ConfigError, match=r"'nobody': must be one of sleep.*a run folder"):
        load_policy("nobody")
    with pytest.raises(CheckpointError, match="not a run"):
        load_run(tmp_path)
    with pytest.raises(ConfigError, match="'first' is neither a unit type"):
        load_policy("sleep", order="first>last")
    with pytest.raises(ConfigError, match="a detection team begins from nothing"):
        train(DetectConfig(), tmp_path / "run", start=trained.path)
