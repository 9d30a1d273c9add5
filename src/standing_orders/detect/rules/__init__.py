"""Rules that a detection team is held to: watched, fined, priced, or enforced by a shield."""

from standing_orders.detect.rules.judge import RuleJudge
from standing_orders.detect.rules.rule import Rule, default_rules
from standing_orders.detect.rules.rulebook import RuleBook
from standing_orders.detect.rules.shield import Shield
from standing_orders.detect.rules.signals import SIGNALS, window_sum
from standing_orders.detect.rules.streams import Streams

__all__ = [
    "SIGNALS",
    "Rule",
    "RuleBook",
    "RuleJudge",
    "Shield",
    "Streams",
    "default_rules",
    "window_sum",
]
