"""Every kind of run has a report that says what came of it."""

from pathlib import Path
from typing import Any

import pytest

from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.report.build import build_report, write_report
from tests.report.conftest import made_up_update, make_run, train_config


def texts(document: dict[str, Any]) -> str:
    blocks = [block for section in document["sections"] for block in section["blocks"]]
    return "\n".join(str(block.get("text", "")) for block in blocks)


def titles(document: dict[str, Any]) -> list[str]:
    return [section["short"] for section in document["sections"]]


def test_a_training_report_says_whether_the_gate_was_passed(train_run: Path) -> None:
    document = build_report([train_run], num_episodes=0)
    assert "passed the gate: 97.0 % of 1000 judged fixes" in texts(document)
    assert titles(document) == ["Answer", "Training", "Repeat"]


def test_a_search_report_names_best_ties_and_what_matters(search_run: Path) -> None:
    document = build_report([search_run], num_episodes=0)
    assert "which of the 120 repair orders is best" in texts(document)
    assert titles(document)[:4] == ["Answer", "What matters", "Orders", "Search"]


def test_a_search_without_a_visit_has_a_report_too(tmp_path: Path, search_run: Path) -> None:
    (search_run / "journal.jsonl").write_text("")
    assert "No order has been visited yet" in texts(build_report([search_run], num_episodes=0))


def detect_record(update: int, allowed: float) -> dict[str, Any]:
    return {
        "update": update, "total_events": 100 * update,
        "team": {"reward": -1.0, "f1": 0.5, "recall": 0.4, "false_alarm_rate": 0.1},
        "actions": {"allow": allowed, "alert": 1 - allowed, "block": 0.0, "quarantine": 0.0},
        "loss": {"entropy": 0.5},
        "rules": {"answered": {"margin_mean": 0.1, "violation_rate": 0.2}},
        "prices": [{"rule": "answered", "next_price": 0.1 * update}], "stopped": None,
    }  # fmt: skip


@pytest.mark.parametrize(("allowed", "is_warned"), [(0.5, False), (0.999, True)])
def test_a_detection_report_warns_of_a_collapse(
    tmp_path: Path, allowed: float, is_warned: bool
) -> None:
    records = [detect_record(update, allowed) for update in range(1, 6)]
    run = make_run(tmp_path / "d", "detect", {"seed": 0}, records)
    document = build_report([run], num_episodes=0)
    assert ("has collapsed" in texts(document)) == is_warned
    assert {"Training", "Rules"} <= set(titles(document))


def test_a_run_that_cannot_be_read_is_named_and_the_others_go_on(
    train_run: Path, tmp_path: Path
) -> None:
    broken = make_run(tmp_path / "broken", "train", train_config(), [made_up_update(1)])
    (broken / "journal.jsonl").write_text("nonsense\n{}\n")
    said = texts(build_report([train_run, broken, tmp_path / "missing"], num_episodes=0))
    assert "left out" in said
    assert "broken" in said
    assert "missing" in said


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a run"):
        build_report([tmp_path / "missing"])
    with pytest.raises(ConfigError, match="at least one"):
        build_report([])


def test_runs_of_two_kinds_are_refused(train_run: Path, search_run: Path) -> None:
    with pytest.raises(ConfigError, match="search and train"):
        build_report([train_run, search_run], num_episodes=0)


def test_several_runs_are_overlaid_and_their_settings_compared(
    train_run: Path, tmp_path: Path
) -> None:
    other = make_run(tmp_path / "other", "train", train_config(seed=9), [made_up_update(1)])
    document = build_report([train_run, other], num_episodes=0)
    tables = [
        block for section in document["sections"] for block in section["blocks"]
        if block["kind"] == "table"
    ]  # fmt: skip
    assert any(["seed", "3", "9"] in table["rows"] for table in tables)


def test_a_policy_that_cannot_be_played_is_a_warning(train_run: Path, tmp_path: Path) -> None:
    # The made-up run has no checkpoint.
    write_report([train_run], tmp_path / "r.html", num_episodes=2)
    assert "cannot be played" in texts(build_report([train_run], num_episodes=2))
