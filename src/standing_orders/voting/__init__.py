"""Votes of a team in which some agents lie.

Two ways to hold one, for two degrees of trust:

| | who counts | needs | result |
|---|---|---|---|
| `decide` | an honest counter gets every ballot | n >= 2f + 1 | `quorum`: the claims |
| `agree` | nobody is trusted: agents exchange signed messages | n >= 3f + 1 | `pbft`: the claims |

Below the bound both refuse to start and say which n is needed.
"""

from standing_orders.voting.committee import Committee
from standing_orders.voting.liars import LIARS, lie
from standing_orders.voting.network import Conditions
from standing_orders.voting.pbft import Patience
from standing_orders.voting.quorum import MISSING, Decision, check_quorum_bound, decide
from standing_orders.voting.schedules import ScheduleReport, run_schedules
from standing_orders.voting.simulate import Agreement, agree

__all__ = [
    "LIARS",
    "MISSING",
    "Agreement",
    "Committee",
    "Conditions",
    "Decision",
    "Patience",
    "ScheduleReport",
    "agree",
    "check_quorum_bound",
    "decide",
    "lie",
    "run_schedules",
]
