"""Rules that a detection team is held to: watched, fined, priced, or enforced by a shield."""

from standing_orders.detect.config import Mode
from standing_orders.detect.rules.defaults import default_rules
from standing_orders.detect.rules.rule import Rule, RuleConfig
from standing_orders.detect.rules.rulebook import Judgement, RuleBook
from standing_orders.detect.rules.shield import Shield, Shielded
from standing_orders.detect.rules.signals import SIGNALS
from standing_orders.detect.rules.soundness import check_can_fail, try_out
from standing_orders.detect.rules.streams import Streams
from standing_orders.detect.rules.verdicts import Verdicts
from standing_orders.detect.rules.watch import Watch

__all__ = [
    "SIGNALS",
    "Judgement",
    "Mode",
    "Rule",
    "RuleBook",
    "RuleConfig",
    "Shield",
    "Shielded",
    "Streams",
    "Verdicts",
    "Watch",
    "check_can_fail",
    "default_rules",
    "try_out",
]
