"""What a report shows of what a search found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from standing_orders.cage2.scenario import NUM_UNIT_TYPES, UNIT_TYPES
from standing_orders.config import SearchConfig
from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import Record, Run
from standing_orders.rules.orders import NUM_ORDERS, RANKS, Order
from standing_orders.search.answer import Answer, answer
from standing_orders.search.records import read_record
from standing_orders.search.state import SearchState
from standing_orders.stats import NORMAL_95

_PLACES = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Found:
    """What a search has found so far."""

    run: Run
    state: SearchState
    board: list[Record]  # rows of the leaderboard, best first
    answer: Answer | None  # None before the first visit


def read_search(run: Run) -> Found:
    """Take a run of kind search apart.

    Raises:
        ConfigError: its config is not one of this version.
        CheckpointError: a record is not one of this version.
    """
    values = {name: value for name, value in run.config.items() if name != "base_run"}
    state = SearchState(SearchConfig(**values), tuple(map(read_record, run.records)))
    board = [standing.to_json() for standing in state.leaderboard()]
    said = answer(state.belief, best=board[0]["order_id"]) if board else None
    return Found(run, state, board, said)


def answer_section(found: Found) -> Block:
    """What was asked, and the answer in a sentence with its interval."""
    run, state, said = found.run, found.state, found.answer
    asked = doc.text(
        f"{run.name}: which of the {NUM_ORDERS} repair orders is best against {state.config.red}"
        f"{_game(state.config)}, with {state.config.budget:,} episodes in all?"
    )
    if said is None:
        return doc.section("The answer", asked, doc.lead("No order has been visited yet."))
    final = state.final
    measured = None if final is None else final.measured
    score = interval = None
    if measured is not None and measured.std_error is not None:
        mean, half = measured.mean_return, NORMAL_95 * measured.std_error
        score = f"{mean:.2f}"
        interval = f"95 %: {mean - half:.2f} to {mean + half:.2f}, n = {measured.kept.episodes:,}"
    passed = sum(bool(record["passed"]) for record in found.board)
    facts = doc.facts(
        ("Fresh score of the best", score, interval),
        ("Cannot be told apart from it", len(said.ties), f"at the {100 * said.level:.0f} % level"),
        ("Orders visited", len(found.board), f"{passed} passed the gate"),
        ("Precedences that matter", sum(p.matters for p in said.precedences), "of ten"),
        ("Episodes", state.used, "all of the search" if final else "so far; it has not ended"),
    )
    best = doc.lead(said.sentence())
    return doc.section("The answer", asked, best, facts, short="Answer")


def _game(config: SearchConfig) -> str:
    parts = []
    if config.head_start:
        parts.append(f"that is {config.head_start} steps ahead")
    if config.red_tempo > 1:
        parts.append(f"that acts {config.red_tempo} times a step")
    return f" {' and '.join(parts)}" if parts else ""


def matters_section(found: Found) -> Block:
    """The worth of each precedence, and of each type in each place."""
    said = found.answer
    if said is None:
        return doc.section("What matters")
    rows = [
        {
            "name": f"{one.first} before {one.second}",
            "mean": one.worth,
            "error": one.error,
            "low": one.worth - NORMAL_95 * one.error,
            "high": one.worth + NORMAL_95 * one.error,
            "tone": "blue" if one.matters else "muted",
            "note": "matters" if one.matters else "not to be told from nothing",
        }
        for one in said.precedences
    ]
    return doc.section(
        "What matters",
        doc.grid(
            doc.intervals(
                "Worth of each precedence",
                rows,
                x="points of return, all else alike",
                level=0.0,
                note="From the surrogate, over all 120 orders, with 95 % intervals. Blue ones "
                "differ from nothing with all ten taken together.",
            ),
            _places_map(found),
        ),
    )


def _places_map(found: Found) -> Block:
    mean = found.state.belief.mean
    values = [
        [float(mean[RANKS[:, unit_type] == place].mean()) for place in range(NUM_UNIT_TYPES)]
        for unit_type in range(NUM_UNIT_TYPES)
    ]
    return doc.heat(
        "Expected return by type and place",
        list(UNIT_TYPES),
        list(_PLACES[:NUM_UNIT_TYPES]),
        values,
        form="one",
        note="Mean of the surrogate over the 24 orders that have the type in that place.",
    )


def board_section(found: Found) -> Block:
    """The leaderboard with its ties, and how places go with results."""
    said = found.answer
    if said is None:
        return doc.section("Orders")
    alike = {said.best, *said.ties}
    rows, keys, marked = [], [], []
    for record in found.board:
        order, kept = record["order_id"], record["compliance"]
        visits = found.state.visits_of(Order(order))
        rows.append(
            [
                record["rank"] if record["passed"] else record["verdict"],
                record["order"],
                record["reward"],
                record["std_error"],
                record["posterior"]["mean"] if record["passed"] else None,
                kept.get("strict"),
                kept.get("contested"),
                kept.get("response"),
                sum(sum(visit.episodes.values()) for visit in visits),
                record["start"],
            ]
        )
        keys.append(str(order))
        marked.append(record["passed"] and order in alike)
    columns = [
        doc.column("place"), doc.column("order"), doc.column("return", "one"),
        doc.column("±", "two"), doc.column("posterior", "one"), doc.column("strict", "percent"),
        doc.column("contested", "percent"), doc.column("response", "percent"),
        doc.column("episodes", "whole"), doc.column("start"),
    ]  # fmt: skip
    board = doc.table(
        columns, rows, keys=keys, marked=marked,
        note=f"Tinted: cannot be told apart from the best at the {100 * said.level:.0f} % level. "
        "Episodes: training, gate and evaluation of that order. Point at a row to find the order "
        "in every chart; click to keep it.",
    )  # fmt: skip
    return doc.section("Orders visited", board, _places_chart(found.board), short="Orders")


def _places_chart(ranking: Sequence[Record]) -> Block | None:
    measured = [record for record in ranking if record["reward"] is not None]
    if len(measured) < 2:
        return None
    rewards = [record["reward"] for record in measured]
    low, high = min(rewards), max(rewards)
    axes: list[dict[str, Any]] = [
        {"name": name, "short": str(place), "values": list(UNIT_TYPES)}
        for place, name in enumerate(_PLACES[:NUM_UNIT_TYPES], start=1)
    ]
    axes += [
        {"name": "return", "format": "one"},
        {"name": "strict", "format": "percent"},
        {"name": "contested", "short": "cont.", "format": "percent"},
    ]
    rows = []
    for record in measured:
        order, kept = record["order_id"], record["compliance"]
        types = [int(t) for t in np.argsort(RANKS[order])]
        rows.append(
            {
                "name": record["order"],
                "key": str(order),
                "values": [*types, record["reward"], kept.get("strict"), kept.get("contested")],
                "share": (record["reward"] - low) / ((high - low) or 1.0),
            }
        )
    return doc.parallel(
        "From places to results",
        axes,
        rows,
        note="One line for each order, blue the best and orange the worst; drag along an axis to "
        "keep the lines that cross it there, click it to let them all back.",
    )
