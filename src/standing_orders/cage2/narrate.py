"""What happened in a step, in words."""

import numpy as np

from standing_orders.cage2 import actions
from standing_orders.cage2.info import describe_red
from standing_orders.cage2.scenario import (
    BASE_EXPLOITABLE,
    DECOY_EXPLOITABLE,
    DISCOVER_SERVICES,
    DISCOVER_SYSTEMS,
    ESCALATE,
    EXPLOIT,
    EXPLOITS,
    FAILED,
    IMPACT,
    NO_EXPLOIT,
    SUCCEEDED,
)

_MEANING = {
    DISCOVER_SYSTEMS: "looks for hosts",
    DISCOVER_SERVICES: "scans its ports",
    EXPLOIT: "attacks a service",
    ESCALATE: "wants to be administrator",
    IMPACT: "wants to stop the service",
}
_OUTCOME = {FAILED: "failed", SUCCEEDED: "done"}


def narrate_blue(state: np.void, action: int) -> str:
    """Blue's action and what came of it.

    Args:
        state: one environment after the step.
        action: what blue did.
    """
    text = actions.describe(action)
    if state["blue_success"] == FAILED:
        return f"{text}: not possible there"
    if state["malware_host"] >= 0:
        return f"{text}: malware found"
    return text


def narrate_red(state: np.void, *, red_tempo: int = 1) -> str:
    """Red's (last) action of a step and what came of it.

    Args:
        state: one environment after the step.
        red_tempo: red actions a step.
    """
    kind, target = int(state["red_action"]), int(state["red_target"])
    if state["turn"] == 0:
        return "holds User0 from the start"
    text = describe_red(kind, target)
    if red_tempo > 1:
        text = f"(last of {red_tempo} actions) {text}"
    if kind in _MEANING:
        text = f"{text} ({_MEANING[kind]})"
    outcome = _OUTCOME.get(int(state["red_success"]), "")
    if kind == EXPLOIT and state["exploit"] != NO_EXPLOIT:
        return f"{text} by {EXPLOITS[state['exploit']]}: {_exploited(state, target)}"
    if kind == ESCALATE and outcome == "done":
        outcome = "administrator now"
    elif kind == IMPACT and outcome == "done":
        outcome = "no effect on the service" if state["ot_up"] else "service stopped"
    return f"{text}: {outcome}" if outcome else text


def _exploited(state: np.void, target: int) -> str:
    if state["red_success"] != SUCCEEDED:
        is_decoy = DECOY_EXPLOITABLE[state["decoys"][target]] & ~BASE_EXPLOITABLE[target]
        return "caught by a decoy" if is_decoy >> state["exploit"] & 1 else "failed"
    level = "administrator shell" if state["privileged"] >> target & 1 else "user shell"
    return f"{level}, unseen by blue" if state["detected"] == 0 else level
