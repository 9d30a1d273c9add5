"""What is said about a run."""

from typing import Any

from standing_orders.detect.assess.report import rules_not_kept


def update_of(rate: float | None, price: float = 7.0) -> dict[str, Any]:
    entry = {"rule": "calm", "violation_rate": rate, "allowed": 0.05, "next_price": price}
    return {"prices": [entry]}


def test_a_rule_that_its_price_does_not_make_the_team_keep_is_named() -> None:
    line, advice = rules_not_kept([update_of(0.0)] * 50 + [update_of(0.4)] * 20)
    assert "`calm` is not kept: 40.0 % broken on the validation part" in line
    assert "in the last 20 updates, 5.0 % allowed, at a price of 7.0" in line
    assert "--rules.enforce" in advice


def test_nothing_is_said_of_rules_that_are_kept_or_that_have_no_price() -> None:
    assert rules_not_kept([update_of(1.0)] * 50 + [update_of(0.06)] * 20) == []
    assert rules_not_kept([update_of(None)] * 3) == []
    assert rules_not_kept([{"prices": []}]) == []
    assert rules_not_kept([]) == []
