"""The loop of a search, with visits that are made up."""

import csv
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.config import SearchConfig, TrainConfig
from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.learn.run import load_network, train
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.journal import HEAD_NAME
from standing_orders.search.acquisition import beta_at, choose, optimistic_score
from standing_orders.search.records import Round
from standing_orders.search.run import resume_search, search
from standing_orders.search.state import SearchState
from standing_orders.seeding import child_seed
from tests.effort import effort
from tests.search.conftest import CrashError, MadeUpEngine

FILES = ("journal.jsonl", "gp_sampling_log.csv", "leaderboard.csv", "training_log.csv")


def quiet(_: str) -> None:
    """Tell nobody."""


def content(path: Path) -> dict[str, bytes]:
    """Everything that must be the same however often the search was interrupted."""
    return {name: (path / name).read_bytes() for name in FILES}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def results_of(path: Path) -> list[dict[str, Any]]:
    journal = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    return [one for one in journal if one["event"] == "result"]


def changed(config: SearchConfig, **values: Any) -> SearchConfig:
    return SearchConfig(**(config.model_dump() | values))


def run(config: SearchConfig, path: Path, engine: MadeUpEngine | None = None) -> SearchState:
    return search(config, path, engine=engine or MadeUpEngine(), report=quiet)


@pytest.fixture(scope="module")
def finished(quick: SearchConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search that has come to its end, to be looked at only."""
    path = tmp_path_factory.mktemp("search") / "run"
    run(quick, path)
    return path


@settings(max_examples=effort(12, 3), deadline=None)
@given(
    budget=st.integers(1, effort(300, 120)),
    limit=st.integers(1, 60),
    evaluation=st.integers(2, 20),
    final=st.integers(2, 60),
    parallel=st.integers(1, 4),
    crashes=st.lists(st.integers(1, 3), max_size=3),
)
def test_episodes_sum_to_the_budget_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory,
    quick: SearchConfig,
    budget: int,
    limit: int,
    evaluation: int,
    final: int,
    parallel: int,
    crashes: list[int],
) -> None:
    config = changed(
        quick, budget=budget, order_episodes=limit, evaluation_episodes=evaluation,
        final_episodes=final, parallel=parallel,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("search") / "run"
    whole = tmp_path_factory.mktemp("search") / "whole"
    run(config, whole)
    try:
        run(config, path, MadeUpEngine(crash_at=crashes[0] if crashes else None))
    except CrashError:
        for crash_at in [*crashes[1:], None]:
            try:
                resume_search(path, engine=MadeUpEngine(crash_at=crash_at), report=quiet)
            except CrashError:
                continue
    journal = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    assert sum(sum(one.get("episodes", {}).values()) for one in journal) == budget
    assert journal[-1]["event"] == "final"
    assert content(path) == content(whole)


def test_a_failing_order_is_not_picked_again_while_others_are_left(
    quick: SearchConfig, tmp_path: Path
) -> None:
    failing = frozenset(range(0, 120, 3))
    config = changed(quick, budget=600)
    state = run(config, tmp_path / "run", MadeUpEngine(failing))
    visited = [record.order.index for record in state.results]
    assert len(visited) == len(set(visited))
    assert any(order in failing for order in visited)
    assert not any(record.observed for record in state.results if not record.has_passed)


def test_a_failing_order_is_never_picked_twice_in_a_row_unless_continued(
    quick: SearchConfig, tmp_path: Path
) -> None:
    config = changed(quick, budget=500, max_visits=None)
    everything = frozenset(range(120))
    state = run(config, tmp_path / "run", MadeUpEngine(everything))
    visited = [record.order.index for record in state.results]
    assert all(a != b for a, b in pairwise(visited))
    assert state.final is not None
    assert not state.final.has_passed


def test_the_best_order_is_found_and_its_policy_exported(
    quick: SearchConfig, tmp_path: Path
) -> None:
    state = run(changed(quick, budget=700), tmp_path / "run")
    assert state.final is not None
    assert state.final.order.index < 12  # return falls by 0.1 an order, the noise is 1
    _, config = load_network(tmp_path / "run" / "best")
    assert config.order == str(state.final.order)
    board = rows(tmp_path / "run" / "leaderboard.csv")
    assert board[0]["Order"] == str(state.final.order)
    means = [float(row["Posterior_Mean"]) for row in board]
    assert means == sorted(means, reverse=True)


def test_the_sampling_log_has_the_agreed_columns(finished: Path) -> None:
    lines = (finished / "gp_sampling_log.csv").read_text().splitlines()
    assert lines[0].startswith(
        "Iteration,Workflow,UCB_Score,Reward,Final_Compliance,Episodes_Trained,GP_Updated,"
        "Mean,Std,Pass_Chance,Start,"
    )
    assert len(lines) == 1 + len(results_of(finished))
    for row in rows(finished / "gp_sampling_log.csv"):
        assert row["Start"] == "scratch"


@pytest.mark.parametrize(("acquisition", "parallel"), [("ucb", 1), ("ei", 3), ("thompson", 1)])
def test_the_score_that_is_logged_is_the_one_that_decided(
    quick: SearchConfig, tmp_path: Path, acquisition: str, parallel: int
) -> None:
    """At the time of each choice no order that could be chosen had a higher one."""
    failing = frozenset(range(0, 120, 2))
    config = changed(quick, acquisition=acquisition, spread=3, contrast_every=5, parallel=parallel)
    state = run(config, tmp_path / "run", MadeUpEngine(failing))
    log = rows(tmp_path / "run" / "gp_sampling_log.csv")
    assert [row["Decided_By"] for row in log] == ["spread"] * 3 + [
        acquisition if number % 5 else "contrast" for number in range(4, len(log) + 1)
    ]
    before = SearchState(config)
    for record in state.records:
        for i, choice in enumerate(record.choices if isinstance(record, Round) else ()):
            known = before.situation([one.order.index for one in record.choices[:i]])
            seed = child_seed(config.seed, "choice", choice.iteration)
            pick = choose(config, known, np.random.default_rng(seed))
            assert (pick.order, pick.score) == (choice.order.index, choice.score)
            assert float(log[choice.iteration - 1]["UCB_Score"]) == pytest.approx(choice.score)
            if choice.decided_by == "ucb":
                belief = known.belief.condition_on(known.pending)
                width = beta_at(choice.iteration, beta=config.beta, schedule=config.schedule)
                score = optimistic_score(belief, known.pass_chance, width)
                score[[*known.visited, *known.pending]] = -np.inf
                assert choice.score == score.max()
                assert choice.order.index == score.argmax() or (score == score.max()).sum() > 1
        before = before.having(record)
    assert before == state


def test_a_journal_of_another_version_is_refused(quick: SearchConfig, tmp_path: Path) -> None:
    with pytest.raises(CrashError):
        run(quick, tmp_path / "run", MadeUpEngine(crash_at=1))
    path = tmp_path / "run" / "journal.jsonl"
    path.write_text(path.read_text().replace('"decided_by"', '"decided"'))
    mark = '{"format": 1, "kind": "search"}'  # before there were seals
    (tmp_path / "run" / "run.json").write_text(mark)
    with pytest.raises(CheckpointError, match="not a record of a search of this version"):
        resume_search(tmp_path / "run", engine=MadeUpEngine(), report=quiet)


def test_the_training_log_counts_the_episodes_of_the_whole_search(finished: Path) -> None:
    log, results = rows(finished / "training_log.csv"), results_of(finished)
    assert len(log) == len(results) > 3
    assert [int(row["Iteration"]) for row in log] == list(range(1, len(log) + 1))
    for row, record in zip(log, results, strict=True):
        expected = record["total_episodes"] - record["episodes"]["evaluation"]
        assert int(row["Total_Episodes_Sampled"]) == expected


def test_orders_chosen_together_are_different(quick: SearchConfig, tmp_path: Path) -> None:
    state = run(changed(quick, parallel=3), tmp_path / "run")
    rounds: dict[int, list[int]] = {}
    for record in state.results:
        rounds.setdefault(record.round, []).append(record.order.index)
    assert max(map(len, rounds.values())) == 3
    assert all(len(set(orders)) == len(orders) for orders in rounds.values())
    assert [record.iteration for record in state.results] == list(range(1, len(state.results) + 1))


def test_a_rechosen_order_goes_on_with_its_own_policy(quick: SearchConfig, tmp_path: Path) -> None:
    config = changed(quick, max_visits=None, spread=1, acquisition="ei", budget=600)
    engine = MadeUpEngine(frozenset(range(1, 120)))
    state = run(config, tmp_path / "run", engine)
    again = [record for record in state.results if record.visit > 1]
    assert again
    for record in again:
        assert record.start == "own"
        assert record.updates == (record.visit - 1, record.visit)


def test_from_scratch_a_rechosen_order_begins_anew(quick: SearchConfig, tmp_path: Path) -> None:
    config = changed(
        quick, start="scratch", max_visits=None, spread=1, acquisition="ei", budget=600
    )
    engine = MadeUpEngine(frozenset(range(1, 120)))
    state = run(config, tmp_path / "run", engine)
    again = [record for record in state.results if record.visit > 1]
    assert again
    for record in again:
        assert record.start == "scratch"
        assert record.updates == (0, 1)
        assert record.policy == f"{record.order.index:03d}-{record.visit}"
    seeds = [task.config["seed"] for task in engine.tasks]
    assert len(set(seeds)) == len(seeds)


def test_nearest_starts_from_the_nearest_trained_order(quick: SearchConfig, tmp_path: Path) -> None:
    state = run(changed(quick, start="nearest"), tmp_path / "run")
    assert state.results[0].start == "scratch"
    for i, record in enumerate(state.results[1:], start=1):
        kind, _, other = record.start.partition(": ")
        distances = [record.order.distance(one.order) for one in state.results[:i]]
        assert kind == "nearest"
        assert record.order.distance(Order.parse(other)) == min(distances)


def test_previous_hands_one_agent_on_from_order_to_order(
    quick: SearchConfig, tmp_path: Path
) -> None:
    config = changed(quick, start="previous", max_visits=None, spread=1, budget=600)
    engine = MadeUpEngine(frozenset(range(1, 120)))
    state = run(config, tmp_path / "run", engine)
    assert state.results[0].start == "scratch"
    for before, record in pairwise(state.results):
        assert record.start == f"previous: {before.order}"
        assert record.updates == (0, 1)
        begun = json.loads((tmp_path / "run/policies" / record.policy / "config.json").read_text())
        assert begun["start"]["run"] == before.policy
    policies = [record.policy for record in state.results]
    assert len(set(policies)) == len(policies)


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_search_stops_after_so_many_orders_and_goes_on_with_more(
    quick: SearchConfig, tmp_path: Path, parallel: int
) -> None:
    config = changed(quick, budget=900, max_orders=4, parallel=parallel)
    state = run(config, tmp_path / "run")
    assert len(state.results) == 4
    assert state.final is not None
    assert state.final.num_episodes == config.final_episodes
    assert state.used < config.budget
    for wrong in (3, 4):
        with pytest.raises(ConfigError, match=f"max_orders = {wrong}: must be larger than 4"):
            resume_search(tmp_path / "run", max_orders=wrong, report=quiet)
    with pytest.raises(ConfigError, match="max_orders = 4: so many orders have been visited"):
        resume_search(tmp_path / "run", budget=1_000, report=quiet)
    state = resume_search(tmp_path / "run", max_orders=6, engine=MadeUpEngine(), report=quiet)
    assert len(state.results) == 6
    assert state.final is not None
    assert state.config.budget == 900


def test_candidates_are_for_strategies_that_compare(quick: SearchConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="candidates = 5: acquisition = 'random' has none"):
        run(changed(quick, candidates=5, acquisition="random"), tmp_path / "run")
    assert len(run(changed(quick, candidates=5, budget=200), tmp_path / "run").results) > 3


def test_all_orders_start_from_one_base_policy(quick: SearchConfig, tmp_path: Path) -> None:
    base = tmp_path / "base"
    train(TrainConfig(episodes=10, update_episodes=10, ppo={"hidden": (2,)}), base, report=quiet)
    engine = MadeUpEngine()
    config = changed(quick, start="base", budget=200)
    state = search(config, tmp_path / "run", base=base, engine=engine, report=quiet)
    assert {record.start for record in state.results} == {"base"}
    assert state.used == config.budget
    first = engine.tasks[0].arrays
    network = {name for name in first if name.startswith("network.")}
    for task in engine.tasks[1:]:
        assert all((task.arrays[name] == first[name]).all() for name in network)


def test_a_base_that_does_not_fit_leaves_no_folder(quick: SearchConfig, tmp_path: Path) -> None:
    base = tmp_path / "base"
    train(TrainConfig(episodes=5, update_episodes=5, ppo={"hidden": (3,)}), base, report=quiet)
    with pytest.raises(CheckpointError):
        search(changed(quick, start="base"), tmp_path / "run", base=base, report=quiet)
    assert not (tmp_path / "run").exists()


def test_a_sweep_visits_all_orders_in_turn(quick: SearchConfig, tmp_path: Path) -> None:
    state = run(changed(quick, acquisition="sweep", budget=240), tmp_path / "run")
    visited = [record.order.index for record in state.results]
    assert visited == list(range(len(visited)))
    assert len(visited) > 5


def test_a_base_run_is_of_no_use_for_other_starts(quick: SearchConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="start = 'own': a base policy is of no use"):
        search(quick, tmp_path / "run", base=tmp_path, engine=MadeUpEngine(), report=quiet)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_a_search_is_not_overwritten(
    quick: SearchConfig, finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "run")
    before = content(tmp_path / "run")
    with pytest.raises(CheckpointError, match="--resume"):
        run(quick, tmp_path / "run")
    assert content(tmp_path / "run") == before


def test_resuming_a_finished_search_changes_nothing(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    before = content(tmp_path / "run")
    state = resume_search(tmp_path / "run", engine=MadeUpEngine(crash_at=1), report=quiet)
    assert state.final is not None
    assert content(tmp_path / "run") == before


def test_a_last_record_that_was_not_noted_is_noted_on_resuming(
    finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "run")
    head = tmp_path / "run" / HEAD_NAME
    before = head.read_bytes()
    lines = RunFolder.open(tmp_path / "run").journal().lines()
    noted = {"records": len(lines) - 1, "seal": lines[-2].seal}
    head.write_text(json.dumps(noted))  # killed between the record and its note
    resume_search(tmp_path / "run", engine=MadeUpEngine(crash_at=1), report=quiet)
    assert head.read_bytes() == before
