"""Byzantine-fault-tolerant votes: ballots in, outcome out, though some agents lie.

| | who counts | needs | what it promises |
|---|---|---|---|
| `decide` | an honest counter gets every ballot | n >= 2f + 1 | `quorum`: the claims |
| `agree` | nobody is trusted: agents exchange signed messages, simulated | n >= 3f + 1 | `pbft` |
| `actors.RayVote` | the same between processes, with keys of their own | n >= 3f + 1 | `pbft` |

Below the bound all refuse to start and say which n is needed. `lie` and `LIARS` say what f faulty
agents do; `pbft.Replica` is one agent, messages in and messages out, whatever network is between;
`suspects` says who is to be suspected of lying, and why.
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
