"""Reading a rule: its body, its trigger, and one clear message for each mistake."""

import contextlib

import pytest

from standing_orders.detect.config import RulesConfig
from standing_orders.detect.rules import SIGNALS, Rule, RuleBook, default_rules
from standing_orders.detect.team import make_book
from standing_orders.errors import ConfigError
from standing_orders.rules.stl import parse
from standing_orders.rules.stl.obligation import trigger_of
from tests.detect.rules.toys import rule_of


@pytest.mark.parametrize(
    ("formula", "body", "trigger", "delay"),
    [
        ("always (threat -> eventually[0,5] flagged)", None, "threat", 5),
        ("always[0,100] (threat -> eventually[0,5] flagged)", None, "threat", 5),
        ("always historically[0,9] (threat -> eventually[0,5] flagged)", None, "threat", 5),
        ("threat -> eventually[0,5] flagged", None, "threat", 5),
        ("blocked_share <= 0.2", "blocked_share <= 0.2", None, 0),
        ("always flagged and always[0,3] not block", "flagged and not block", None, 0),
        ("always[2,5] flagged", "always[2,5] (flagged)", None, 5),
        ("historically[1,2] flagged", "historically[1,2] flagged", None, 0),
    ],
)
def test_a_rule_is_asked_at_every_event(
    formula: str, body: str | None, trigger: str | None, delay: int
) -> None:
    rule = rule_of(formula)
    wanted = "threat -> eventually[0,5] flagged" if body is None else body
    assert rule.body == parse(wanted)
    found = trigger_of(rule.body)
    assert (None if found is None else str(found)) == trigger
    assert rule.delay == delay


def test_an_unknown_signal_is_shown_with_the_signals_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        rule_of("always (thret -> eventually[0,5] flagged)", name="mine")
    assert str(caught.value) == (
        "rule `mine`: formula, column 9: no signal is called `thret` (did you mean `threat`?)\n"
        "  always (thret -> eventually[0,5] flagged)\n"
        "          ^\n"
        f"signals: {', '.join(SIGNALS)}"
    )


def test_the_first_unknown_signal_is_shown_in_its_own_line_and_as_a_whole_word() -> None:
    with pytest.raises(ConfigError) as caught:
        rule_of("zap and\n\t(flagge or flagged)")
    assert str(caught.value).split("\n")[:3] == [
        "rule `rule`: formula, line 1, column 1: no signal is called `zap`",
        "  zap and",
        "  ^",
    ]
    with pytest.raises(ConfigError) as caught:
        rule_of("flagged and\n\t(flagged or xyzzy)")
    assert str(caught.value).split("\n")[:3] == [
        "rule `rule`: formula, line 2, column 14: no signal is called `xyzzy`",
        "  \t(flagged or xyzzy)",
        "  \t            ^",
    ]


def test_a_long_formula_is_cut_around_the_caret() -> None:
    with pytest.raises(ConfigError) as caught:
        rule_of(f"{'flagged or ' * 30}wrong {'or flagged ' * 30}")
    shown, caret = str(caught.value).split("\n")[1:3]
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("wrong")


def test_a_bad_formula_shows_its_caret_and_the_rule() -> None:
    with pytest.raises(ConfigError) as caught:
        rule_of("always (flagged or )", name="mine")
    assert str(caught.value) == (
        "rule `mine`: formula, column 20: expected a formula, found `)`\n"
        "  always (flagged or )\n"
        "                     ^"
    )


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("always (threat -> eventually flagged)", "looks ahead without bound"),
        ("once[0,20000] flagged", "reaches 20000 events: must be at most 10000"),
        ("eventually[0,20000] flagged", "reaches 20000 events: must be at most 10000"),
        ("threat or num_threats < 3", "no signal that depends on the team's decisions"),
    ],
)
def test_what_cannot_be_a_rule_is_refused(formula: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rule_of(formula)


@pytest.mark.parametrize("name", ["threat", "num_threats", "num_benign", "detection_rate",
                                  "false_alarm_rate"])  # fmt: skip
def test_a_shield_may_not_see_the_truth(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rule_of(f"{name} > 0.5 -> flagged", mode="shield")
    message = str(caught.value)
    assert f"cannot be a shield: it needs `{name}`, and which events are threats is not known" in (
        message
    )
    usable = message.split("only these signals: ")[1].split(", ")
    assert "suspected" in usable
    assert name not in usable
    for mode in ("watch", "fine", "lagrange"):
        rule_of(f"{name} > 0.5 -> flagged", mode=mode)


def test_signals_of_decisions_and_suspicion_may_be_shielded() -> None:
    accepted = set()
    for name in SIGNALS:
        with contextlib.suppress(ConfigError):
            rule_of(f"{name} > 0.5 -> flagged", mode="shield")
            accepted.add(name)
    assert accepted == {name for name, info in SIGNALS.items() if info.is_observable}
    assert {"blocked", "suspected"} <= accepted
    assert "threat" not in accepted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "pray"}, "mode = 'pray'"),
        ({"window": 0}, "window = 0"),
        ({"window": 10_001}, "window = 10001"),
        ({"price": -1.0}, "price = -1.0"),
        ({"target": 1.0}, "target = 1.0"),
        ({"scope": "all"}, "scope = 'all'"),
        ({"colour": 1}, "colour: no such option"),
    ],
)
def test_bad_options_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RulesConfig(**values)


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rules.own = .*: name = 'a\.b': a name is a letter"):
        make_book(RulesConfig(own=("a.b: flagged",)), "records")


def test_a_price_above_its_limit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"price = 5\.0: must be at most max_price = 2\.0"):
        rule_of("flagged", mode="lagrange", price=5.0, max_price=2.0)


@pytest.mark.parametrize("task", ["records", "sessions"])
@pytest.mark.parametrize("mode", ["watch", "fine", "lagrange", "shield"])
def test_the_default_rules_are_sound_in_every_mode(task: str, mode: str) -> None:
    book = RuleBook(default_rules(task, mode=mode))
    assert len(book.rules) == 5
    about_truth = {"answered", "detection", "false_alarms"}
    for rule in book.rules:
        is_kept_back = mode == "shield" and rule.name in about_truth
        assert rule.mode == ("watch" if is_kept_back else mode)


def test_the_default_rules_depend_on_the_task() -> None:
    rules = default_rules("records", window=50)
    assert [rule.formula for rule in rules] == [
        "always (threat -> eventually[0,0] flagged)",
        "always (num_threats > 9 -> detection_rate >= 0.95)",
        "always (num_benign > 9 -> false_alarm_rate <= 0.05)",
        "always (blocked_share <= 0.2)",
        "always (num_changes <= 10)",
    ]
    assert [rule.window for rule in rules] == [200, 50, 50, 50, 20]
    assert [rule.scope for rule in rules] == ["session", "stream", "stream", "stream", "session"]


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="rule `rule`: there are 2 of this name"):
        RuleBook([rule_of("flagged"), rule_of("not flagged")])


def test_a_rule_is_read_from_plain_values() -> None:
    rule = Rule(name="mine", formula="suspected -> flagged", mode="shield")
    assert rule.names == {"suspected", "flagged"}
