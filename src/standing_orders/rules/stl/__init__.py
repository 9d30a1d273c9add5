"""Signal temporal logic over discrete time: conditions on how traces unfold, with a margin.

`parse` reads a formula, `robustness` gives its margin at every step of recorded traces, `Monitor`
the same while they grow, `smooth_robustness` a differentiable version (imports torch when used).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from standing_orders.rules.stl.monitor import Monitor
from standing_orders.rules.stl.parser import parse
from standing_orders.rules.stl.reach import history, horizon, signals
from standing_orders.rules.stl.robustness import robustness
from standing_orders.rules.stl.syntax import Formula

if TYPE_CHECKING:
    from standing_orders.rules.stl.smooth import smooth_robustness, smoothing_error

__all__ = [
    "Formula",
    "Monitor",
    "history",
    "horizon",
    "parse",
    "robustness",
    "signals",
    "smooth_robustness",
    "smoothing_error",
]


def __getattr__(name: str) -> Any:
    if name in ("smooth_robustness", "smoothing_error"):
        return getattr(import_module("standing_orders.rules.stl.smooth"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
