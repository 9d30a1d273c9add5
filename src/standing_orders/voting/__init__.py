"""Byzantine-fault-tolerant votes: ballots in, outcome out, though some agents lie.

| | who counts | needs | what it promises |
|---|---|---|---|
| `decide` | an honest counter gets every ballot | n >= 2f + 1 | `quorum`: the claims |
| `agree` | nobody is trusted: agents exchange signed messages | n >= 3f + 1 | `pbft`: the claims |

Below the bound both refuse to start and say which n is needed. `lie` and `LIARS` say what f faulty
agents do; `pbft.Replica` is one agent, messages in and messages out, whatever network is between.
"""

from standing_orders.voting.liars import LIARS, lie
from standing_orders.voting.pbft import Patience
from standing_orders.voting.quorum import MISSING, Committee, Decision, check_quorum_bound, decide
from standing_orders.voting.simulate import Agreement, Conditions, agree

__all__ = [
    "LIARS",
    "MISSING",
    "Agreement",
    "Committee",
    "Conditions",
    "Decision",
    "Patience",
    "agree",
    "check_quorum_bound",
    "decide",
    "lie",
]
