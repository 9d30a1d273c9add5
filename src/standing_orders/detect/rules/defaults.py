"""The rules a team is held to unless the user says otherwise."""

from typing import Literal

from standing_orders.detect.config import Mode
from standing_orders.detect.rules.rule import RuleConfig

# An answer to one record says nothing about the next, so each must be answered at once.
_ANSWER_WITHIN = {"records": 0, "sessions": 5}  # events
# A stream of records changes its decision twice for each lone threat; a session should settle.
_MAX_CHANGES = {"records": 10, "sessions": 4}
_CHANGES_WINDOW = 20  # events
_MIN_EVIDENCE = 10  # threats, or benign events: fewer cannot tell 0.95 from 0.85


def default_rules(
    task: Literal["records", "sessions"] = "sessions",
    *,
    mode: Mode = "watch",
    answer_within: int | None = None,
    detection_rate: float = 0.95,
    false_alarm_rate: float = 0.05,
    blocked_share: float = 0.2,
    max_changes: int | None = None,
    window: int = 200,
) -> tuple[RuleConfig, ...]:
    """Threats answered in time, detection and false-alarm rates, blocks rationed, no flapping.

    Args:
        task: what is judged; the defaults of the first and the last rule depend on it.
        mode: of all of them; a rule about the truth cannot be a shield, so those stay watched.
        answer_within: events until a threat must be flagged; 0 or 5.
        detection_rate: least share of the threats in any window, once there are ten, flagged.
        false_alarm_rate: largest share of the benign events in any window, likewise, flagged.
        blocked_share: largest share of events blocked in any window.
        max_changes: most changes of the decision in 20 events; 10 or 4.
        window: events of the windows.

    Example:
        >>> for rule in default_rules():
        ...     print(rule.name, "|", rule.formula)
        answered | always (threat -> eventually[0,5] flagged)
        detection | always (num_threats > 9 -> detection_rate >= 0.95)
        false_alarms | always (num_benign > 9 -> false_alarm_rate <= 0.05)
        blocking | always (blocked_share <= 0.2)
        steadiness | always (num_changes <= 4)
    """
    within = _ANSWER_WITHIN[task] if answer_within is None else answer_within
    changes = _MAX_CHANGES[task] if max_changes is None else max_changes
    about_truth: Mode = "watch" if mode == "shield" else mode
    enough = _MIN_EVIDENCE - 1
    return (
        RuleConfig(
            name="answered",
            formula=f"always (threat -> eventually[0,{within}] flagged)",
            mode=about_truth,
        ),
        RuleConfig(
            name="detection",
            formula=f"always (num_threats > {enough} -> detection_rate >= {detection_rate})",
            mode=about_truth,
            scope="stream",
            window=window,
        ),
        RuleConfig(
            name="false_alarms",
            formula=f"always (num_benign > {enough} -> false_alarm_rate <= {false_alarm_rate})",
            mode=about_truth,
            scope="stream",
            window=window,
        ),
        RuleConfig(
            name="blocking",
            formula=f"always (blocked_share <= {blocked_share})",
            mode=mode,
            scope="stream",
            window=window,
        ),
        RuleConfig(
            name="steadiness",
            formula=f"always (num_changes <= {changes})",
            mode=mode,
            window=_CHANGES_WINDOW,
        ),
    )
