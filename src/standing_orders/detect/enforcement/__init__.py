"""Rules that a detection team is held to: watched, fined, priced, or enforced by a shield."""

from standing_orders.detect.enforcement.defaults import default_rules
from standing_orders.detect.enforcement.rule import Rule, RuleConfig
from standing_orders.detect.enforcement.rulebook import Judgement, RuleBook
from standing_orders.detect.enforcement.shield import Shield, Shielded
from standing_orders.detect.enforcement.signals import SIGNALS
from standing_orders.detect.enforcement.soundness import check_can_fail, try_out
from standing_orders.detect.enforcement.streams import Streams
from standing_orders.detect.enforcement.verdicts import Verdicts
from standing_orders.detect.enforcement.watch import Watch
from standing_orders.detect.settings import Mode

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
