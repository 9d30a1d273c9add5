"""What each action would be worth to the rules: the gradient of what broken rules cost.

With the agents' probabilities in the place of decisions, every signal becomes what is expected of
it and every margin m a smooth function of the probabilities. An obligation costs price * softplus(
-m / 0.5) * 0.5: nearly linear between a 0/1 signal's two values, so that what is drawn less often
costs less, growing with how far the rule is broken, fading where it is kept with ease. The
derivative of the sum by the probability of an action says how much more of it would cost, at every
event in the window of a rule and not only where it breaks; and since the gradient of any F(pi) is
sum_a pi(a) (dF / dpi(a)) grad log pi(a), it stands beside the advantages of the rewards in the
all-actions gradient, or for the action drawn in a sampled one.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.rules.margins import smooth_trace_robustness
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.signals import SIGNALS, signals_of
from standing_orders.detect.rules.streams import Streams, Traces, lay_out
from standing_orders.rules.stl import Formula, syntax
from standing_orders.rules.stl import signals as names_of

_WIDTH = 0.5  # margin over which a cost fades away
_TEMPERATURE = 0.02  # of the smooth margins


def action_worths(
    rule: Rule,
    price: float,
    streams: Streams,
    probs: NDArray[np.float64],  # (steps, num_streams, NUM_ACTIONS)
) -> NDArray[np.float64]:  # (steps, num_streams, NUM_ACTIONS)
    """What more of each action would save, in reward; 0 where no event is.

    Args:
        rule: the rule.
        price: of a violation.
        streams: the events that happened, whether they are threats, and the suspicion.
        probs: of the actions of whoever decides in each stream.
    """
    traces = lay_out(streams, rule.config.scope)
    worths = np.zeros(probs.shape)
    if not traces.num_events:
        return worths
    shares = torch.from_numpy(traces.take(probs)).requires_grad_()
    threat = torch.from_numpy(traces.take(streams.is_threat).astype(np.float64))
    given = streams.suspicion
    suspicion = None if given is None else torch.from_numpy(traces.take(given).astype(np.float64))
    signals = signals_of(shares, threat, suspicion, traces, window=rule.config.window)
    cost = price * _softplus(-_obliged_margins(rule, signals, traces))
    if cost.requires_grad:
        (gradient,) = torch.autograd.grad(cost, shares)
        worths[traces.rows, traces.columns] = -gradient.numpy()
    return worths


def _softplus(values: Tensor) -> Tensor:  # (n,) -> ()
    return (_WIDTH * torch.nn.functional.softplus(values / _WIDTH)).sum()


def _obliged_margins(rule: Rule, signals: dict[str, Tensor], traces: Traces) -> Tensor:  # (n,)
    """Smooth margins of the obligations, as far as they are finite."""
    goal, condition = _goal_of(rule)
    margins = smooth_trace_robustness(goal, signals, traces, temperature=_TEMPERATURE)
    is_obliged = torch.isfinite(margins)
    if condition is not None:
        with torch.no_grad():
            holds = smooth_trace_robustness(condition, signals, traces, temperature=_TEMPERATURE)
        is_obliged &= holds > 0
    return margins[is_obliged]


def _goal_of(rule: Rule) -> tuple[Formula, Formula | None]:
    """What must hold, and where: of `a -> b` it is b where a holds, if a is out of our hands."""
    body = rule.body
    if isinstance(body, syntax.Implies) and not any(
        SIGNALS[name].is_decision for name in names_of(body.left)
    ):
        return body.right, body.left
    return body, None
