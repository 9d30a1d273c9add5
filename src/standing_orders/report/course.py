"""How a search went: what it believed after each visit, and what each order cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from standing_orders.errors import StandingOrdersError
from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import Run, clock_seconds, curve, read_run
from standing_orders.report.search import Found
from standing_orders.report.train import FIGURES, REWARDS, reward_chart, share_chart
from standing_orders.rules.orders import NUM_ORDERS, Order
from standing_orders.search.state import SearchState

MAX_MOMENTS = 60  # of the surrogate that the page can show
MAX_POINTS = 60  # of the curve of one order
COSTS = ("training", "gate", "evaluation")  # what episodes are used for


def surrogate_section(found: Found) -> Block:
    """What the surrogate believed after each visit, and how the best came about."""
    results = found.state.results
    if not results:
        return doc.section("How it searched")
    stops = np.unique(np.linspace(0, len(results), min(len(results), MAX_MOMENTS) + 1).astype(int))
    last = found.state.belief.mean
    moments, best = [], -np.inf
    regrets: list[tuple[int, float]] = []
    for stop in stops[stops > 0]:
        seen = results[: int(stop)]
        belief = SearchState(found.state.config, tuple(seen)).belief
        visited = [result.order.index for result in seen]
        best = max(best, *(float(last[order]) for order in visited))
        regret = float(last.max()) - best
        regrets.append((int(stop), regret))
        moments.append(
            {
                "mean": [round(float(value), 2) for value in belief.mean],
                "std": [round(float(value), 2) for value in belief.std],
                "visited": visited,
                "regret": regret,
            }
        )
    scrub = {
        "kind": "surrogate",
        "title": "The surrogate after each visit",
        "orders": [str(Order(order)) for order in range(NUM_ORDERS)],
        "moments": moments,
        "note": "Mean and one standard deviation for each of the 120 orders; blue ones have been "
        "visited. Move the slider to see it learn.",
    }
    regret_line = {
        "name": "regret",
        "x": [place for place, _ in regrets],
        "y": [round(value, 3) for _, value in regrets],
    }
    return doc.section(
        "How it searched",
        doc.grid(
            doc.wide(scrub),
            doc.lines(
                "Regret", [regret_line], x="visits", y="points below the best of all",
                note="How far the best order visited so far is below the best of all 120, both by "
                "the last belief.", include=[0.0],
            ),
            _cost_chart(found),
        ),
        _cost_table(found),
        short="Search",
    )  # fmt: skip


def _cost_chart(found: Found) -> Block:
    series = [
        {
            "name": name,
            "x": [result.iteration for result in found.state.results],
            "y": [result.episodes.get(name, 0) for result in found.state.results],
        }
        for name in COSTS
    ]
    return doc.lines("Episodes of each visit", series, x="visit", y="episodes", include=[0.0])


def _cost_table(found: Found) -> Block:
    rows, keys = [], []
    for result in found.state.results:
        used = result.episodes
        policy = found.run.path / "policies" / result.policy
        rows.append(
            [
                result.iteration,
                str(result.order),
                *(used.get(name, 0) for name in COSTS),
                sum(used.values()),
                clock_seconds(policy),
            ]
        )
        keys.append(str(result.order.index))
    return doc.table(
        [doc.column("visit", "whole"), doc.column("order"),
         *(doc.column(name, "whole") for name in (*COSTS, "episodes")),
         doc.column("seconds", "one")],
        rows, keys=keys, title="Episodes and seconds of each visit",
        note="Seconds: from the first to the last file of the order's training, pauses included.",
    )  # fmt: skip


def training_section(found: Found) -> Block:
    """Curves of every policy that the search trained, linked with the leaderboard."""
    policies: list[tuple[Run, dict[str, Any]]] = []
    lost: list[StandingOrdersError] = []
    for record in found.board:
        try:
            policy = read_run(found.run.path / "policies" / str(record["policy"]))
        except StandingOrdersError as err:
            lost.append(err)
            continue
        shown = {"name": record["order"], "key": str(record["order_id"])}
        policies.append((policy, shown))
    problem = None
    if lost:
        problem = doc.warning(f"{len(lost)} of {len(found.board)} policies are left out: {lost[0]}")
    if not any(len(policy.records) > 1 for policy, _ in policies):
        return doc.section("Training of each order", problem)
    rewards = {
        name: reward_chart(_each(policies, f"reward.{key}"), f"Reward of an episode: {name}")
        for key, name in REWARDS.items()
    }
    shares = {
        name: share_chart(
            _each(policies, f"compliance.{key}"), f"Compliance: {name}", policies[0][0]
        )
        for key, name in FIGURES.items()
    }
    return doc.section(
        "Training of each order",
        problem,
        doc.grid(doc.choice("Reward", rewards), doc.choice("Figure", shares)),
        short="Training",
    )


def _each(policies: Sequence[tuple[Run, dict[str, Any]]], key: str) -> list[dict[str, Any]]:
    return [
        curve(policy.records, "total_episodes", key, max_points=MAX_POINTS, **shown)
        for policy, shown in policies
    ]
