"""Records survive the journal, and say what happened."""

from dataclasses import replace
from typing import Any

import pytest

from standing_orders.errors import CheckpointError, StandingOrdersError
from standing_orders.evaluate.measure import Measured
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.rules.gate import GateResult
from standing_orders.rules.orders import Order
from standing_orders.runs.plain import decode, encode
from standing_orders.search.records import (
    Base,
    Choice,
    Counters,
    Final,
    Prior,
    Record,
    Result,
    Round,
    read_record,
)
from standing_orders.stats import Ratio

CHOICE = Choice(
    iteration=3, round=2, order=Order(54), score=1.5, decided_by="ucb", mean=-20.0, std=2.5,
    chance=0.75, visit=1, policy="054", start="nearest: 0", start_policy="000",
    before=Counters(2, 40, 10), limit=150, evaluation_episodes=20,
)  # fmt: skip
PROGRESS = {"updates": 5, "episodes": 100, "gate_episodes": 30, "stopped": "gate passed"}
MEASURED = Measured(
    -18.25, 0.5, OrderCompliance(episodes=20, fixes=8, compliant=7, violations=1),
    Ratio(7 / 8, 0.8, 0.95), Ratio(None, None, None), GateResult("passed", "because"),
)  # fmt: skip
RESULT = Result.of(CHOICE, MEASURED, PROGRESS, used=1_000)
FINAL = Final(Order(54), "054", "base", True, MEASURED, 20, 1_120)
PRIOR = Prior(tuple(-20.0 - i / 3 for i in range(120)), (0.1,) * 120, 240, 280)
RECORDS = [
    Base(40), PRIOR, Round((CHOICE, replace(CHOICE, score=None))), RESULT,
    replace(RESULT, measured=None), FINAL, replace(FINAL, measured=None),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_survives_the_journal(record: Record) -> None:
    stored: Any = decode(encode(record.to_json(), "journal"))
    assert read_record(stored) == record


def test_a_prior_counts_what_it_was_asked_with() -> None:
    assert PRIOR.episodes == {"prior": 240}
    assert PRIOR.to_json()["total_episodes"] == 280


def test_a_result_counts_what_the_visit_added() -> None:
    assert RESULT.episodes == {"training": 60, "gate": 20, "evaluation": 20}
    assert RESULT.total_episodes == 1_100
    assert RESULT.updates == (2, 5)
    assert RESULT.stopped == "gate passed"


def test_the_surrogate_learns_only_from_orders_that_are_followed() -> None:
    assert RESULT.observed == (-18.25, 0.5)
    failed = replace(MEASURED, gate=GateResult("failed", "it does not"))
    unknown = replace(MEASURED, std_error=None)
    for measured in (failed, unknown, None):
        assert replace(RESULT, measured=measured).observed is None
    assert replace(RESULT, measured=None).gate.verdict == "untested"


@pytest.mark.parametrize("data", [{"event": "other"}, {}, {"event": "base", "episodes": 3}])
def test_what_is_no_record_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match="not a record of a search of this version"):
        read_record(data)


@pytest.mark.parametrize(
    "changes",
    [{"policy": ".."}, {"policy": "."}, {"policy": ""}, {"policy": "a/b"}, {"policy": 5},
     {"start_policy": ".."}, {"limit": "x"}, {"limit": True}, {"limit": None}, {"score": "x"},
     {"order_id": -1}, {"order_id": "x"}, {"before": {"updates": "x"}}, {"before": []}],
)  # fmt: skip
def test_a_choice_with_a_value_of_another_kind_is_refused(changes: dict[str, Any]) -> None:
    data = Round((CHOICE,)).to_json()
    data["choices"][0] |= changes
    with pytest.raises(StandingOrdersError):
        read_record(data)


@pytest.mark.parametrize(
    "changes",
    [{"updates": ["x", 5]}, {"updates": [2]}, {"updates": [2, 1e300]}, {"stopped": 3},
     {"episodes": {"gate": 20, "evaluation": 20}},
     {"episodes": {"training": "x", "gate": 20, "evaluation": 20}}],
)  # fmt: skip
def test_a_result_with_a_value_of_another_kind_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match="is amiss"):
        read_record(RESULT.to_json() | changes)


def test_a_prior_of_anything_but_numbers_is_refused() -> None:
    with pytest.raises(CheckpointError, match="is amiss"):
        read_record(PRIOR.to_json() | {"returns": ["x"]})
