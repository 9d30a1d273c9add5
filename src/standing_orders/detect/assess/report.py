"""Everything about a trained run, for `detect evaluate`."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.assess.assess import (
    Figures,
    LiarFigures,
    Team,
    assess,
    assess_foresight,
    assess_liars,
    assess_rules,
    main_figure,
)
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.decisions import cast_votes
from standing_orders.detect.learn.run import KIND, config_of, load_team
from standing_orders.detect.rules import RuleBook
from standing_orders.runs.loop import latest_of
from standing_orders.seeding import child_seed
from standing_orders.voting import LIARS, Committee, Conditions, agree

# A network that is calm, and one that loses, delays and reorders messages for a while first.
NETWORKS = {
    "calm": Conditions(),
    "rough": Conditions(settle_time=30.0, early_delay=20.0, loss_prob=0.3, slow_prob=0.2),
}
_LATELY = 20  # updates
_TOO_OFTEN = 1.5  # times what is allowed; a price that has settled swings about it


def rules_not_kept(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each rule that its learned price does not make the team keep, then advice.

    Args:
        records: of the updates of a run.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in records[-_LATELY:]:
        for price in record["prices"]:
            found.setdefault(price["rule"], []).append(price)
    lines = []
    for name, prices in found.items():
        rates = [one["violation_rate"] for one in prices if one["violation_rate"] is not None]
        rate, allowed = float(np.mean(rates or [0.0])), prices[-1]["allowed"]
        if rate > _TOO_OFTEN * allowed:
            lines.append(
                f"rule `{name}` is not kept: {100 * rate:.1f} % broken on the validation part in "
                f"the last {len(prices)} updates, {100 * allowed:.1f} % allowed, at a price of "
                f"{prices[-1]['next_price']:.1f}"
            )
    advice = (
        "Perhaps it cannot be kept with these events, or beside the other rules: price fewer "
        "(--rules.enforce), lower --rules.target, or raise --rules.price-rate."
    )
    return [*lines, advice] if lines else []


@dataclass(frozen=True)
class Evaluation:
    """What a team is worth on the test part of its data."""

    data_name: str
    updates: int  # that the team has had
    iterations: int  # that it was to have
    main_figure: str
    faults: int  # liars that the vote bears
    figures: Figures
    liars: list[LiarFigures]  # empty without a vote
    rules: Figures
    foresight: Figures
    shielded: Figures | None
    agreements: list[Figures]  # by kind of liar; empty unless asked for

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def evaluate_run(path: Path, *, num_agreements: int = 0) -> Evaluation:
    """Judge the team of a run folder.

    Args:
        path: the run folder.
        num_agreements: events of the test part that the agents also agree on by messages.

    Raises:
        VotingError: too few agents for an agreement without trust.
        CheckpointError: the folder holds no such run, or its data have changed.
    """
    folder, checkpoint = latest_of(path, KIND)
    if num_agreements:
        told = config_of(folder).team
        Committee(told.agents, told.faults, NUM_ACTIONS)  # refused here, not after minutes of work
    network, config, data = load_team(path)
    team = Team(network, config, RuleBook(config.rules.rules(data.task)))
    figures = assess(team, data, config, with_intervals=True)
    actions, scores = team.actions(data.test), team.scores(data.test)
    liars = assess_liars(team, data, config) if config.team.vote == "quorum" else []
    foresight = assess_foresight(team, data, config) if config.learn.foresight else {}
    return Evaluation(
        data_name=data.name,
        updates=checkpoint.index,
        iterations=config.learn.iterations,
        main_figure=main_figure(data.task),
        faults=config.team.faults,
        figures=figures,
        liars=liars,
        rules=assess_rules(actions, scores, data, config),
        foresight=foresight,
        shielded=team.shielded,
        agreements=agree_by_messages(team, data, config, num_agreements) if num_agreements else [],
    )


def agree_by_messages(
    team: Team, data: DataSet, config: DetectConfig, num_events: int
) -> list[Figures]:
    """Let the agents agree without a trusted counter, as many of them lying as they bear.

    View changes and messages are means an event.

    Raises:
        VotingError: n < 3f + 1, or f = 0.
    """
    enough = int(data.test.starts.searchsorted(num_events, side="left"))
    part = data.test.take_sessions(range(min(enough, data.test.num_sessions)))
    votes = cast_votes(team.probabilities(part))[:num_events]
    liars = range(config.team.faults)
    found = []
    for network, kind in itertools.product(NETWORKS, LIARS):
        outcome = agree(
            votes,
            config.team.faults,
            num_choices=NUM_ACTIONS,
            liars=dict.fromkeys(liars, kind),
            conditions=NETWORKS[network],
            seed=child_seed(config.seed, "detect", "agree", kind),
        )
        found.append(
            {
                "network": network,
                "liar": kind,
                "events": len(votes),
                "agreed": float(outcome.has_agreement.mean()),
                "in_range": float(outcome.is_valid.mean()),
                "undecided": outcome.num_undecided,
                "fallbacks": outcome.num_fallbacks,
                "view_changes": float(outcome.views.clip(0).max(axis=1).mean()),
                "messages_per_event": outcome.num_messages / len(votes),
            }
        )
    return found
