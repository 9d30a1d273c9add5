"""A rule must be able to fail."""

import pytest

from standing_orders.detect.rules import RuleBook, default_rules
from standing_orders.detect.rules.rulebook import try_out
from standing_orders.errors import ConfigError
from tests.detect.rules.toys import rule_of


@pytest.mark.parametrize(
    "formula",
    [
        "flagged or not flagged",
        "threat -> eventually[0,5] (flagged or allow)",
        "detection_rate >= 0",
        "false_alarm_rate <= 1",
        "blocked_share <= 1",
        "num_changes <= 7",  # of a window of 7
        "severity <= 3",
        "threat and not threat -> flagged",
        "block -> restrictive",
        "not (block and quarantine)",
        "once changed or historically not changed",
    ],
)
def test_a_rule_that_cannot_fail_is_refused(formula: str) -> None:
    """Regression: the published rules were random numbers, or could not be broken."""
    assert try_out(rule_of(formula))[0] == 0
    with pytest.raises(ConfigError, match=r"cannot fail: none of .* streams of .* events tried"):
        RuleBook([rule_of(formula)])


@pytest.mark.parametrize(
    "formula",
    ["flagged and not flagged", "severity > 3.5", "detection_rate > 1.5", "block and alert"],
)
def test_a_rule_that_cannot_be_kept_is_refused(formula: str) -> None:
    num_broken, num_streams, _ = try_out(rule_of(formula))
    assert num_broken == num_streams
    with pytest.raises(ConfigError, match=r"cannot be kept: each of .* breaks it"):
        RuleBook([rule_of(formula)])


@pytest.mark.parametrize(
    "formula",
    [
        "not (quarantine and once[1,1] block and once[2,2] alert and threat)",
        "changed -> always[1,5] not changed",
        "restrictive -> always[1,5] alert",
        "historically[0,20] blocked -> not threat",
        "num_changes <= 6",
        "suspected -> eventually[0,3] restrictive",
        "suspicion > 0.9 and not suspected or flagged",
        "detection_rate > false_alarm_rate",
    ],
)
def test_an_honest_rule_is_accepted(formula: str) -> None:
    num_broken, num_streams, _ = try_out(rule_of(formula))
    assert 0 < num_broken < num_streams
    RuleBook([rule_of(formula)])


def test_every_default_rule_can_fail_and_be_kept() -> None:
    for task in ("records", "sessions"):
        for config in default_rules(task):
            num_broken, num_streams, _ = try_out(config)
            assert 0 < num_broken < num_streams


def test_the_same_streams_are_tried_each_time() -> None:
    rule = rule_of("suspicion < 0.3 or flagged")
    assert try_out(rule) == try_out(rule)


def test_a_long_window_is_tried_to_its_end() -> None:
    num_broken, _, num_events = try_out(rule_of("num_changes <= 1999", window=2_000))
    assert num_broken
    assert num_events > 4_000


def test_the_check_can_be_left_out() -> None:
    unbreakable = [rule_of("blocked_share <= 1")]
    with pytest.raises(ConfigError):
        RuleBook(unbreakable)
    assert len(RuleBook(unbreakable, check=False).rules) == 1
