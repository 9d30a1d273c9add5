"""What liars do to the team: before an honest counter, and where nobody is trusted to count."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.assess.figures import LOWER_IS_BETTER, main_figure, vote_figures
from standing_orders.detect.costs import Game
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.metrics import Figures
from standing_orders.detect.team import Judged, Team
from standing_orders.seeding import child_seed
from standing_orders.voting import MISSING, Agreement, Conditions, agree, lie
from standing_orders.voting.liars import KINDS, OMNISCIENT, withhold

MAX_SUBSETS = 20  # of agents that lie, tried for each number of liars
# Liars that know the truth, in a network that keeps from the count the f honest ballots it needs
# most: the worst that an agreement by messages tolerates.
WORST = "omniscient+scheduler"
# A network that is calm, and one that loses, delays and reorders messages for a while first.
NETWORKS = {
    "calm": Conditions(),
    "rough": Conditions(settle_time=30.0, early_delay=20.0, loss_prob=0.3, slow_prob=0.2),
}


@dataclass(frozen=True)
class Spread:
    """A figure over the choices of who lies."""

    mean: float
    worst: float


@dataclass(frozen=True)
class LiarFigures:
    """What a number of liars of one kind does to the team."""

    kind: str
    num_liars: int
    figures: dict[str, Spread]  # the main figure first, the share of events without a quorum last

    @property
    def main(self) -> Spread:
        """The main figure."""
        return next(iter(self.figures.values()))


def assess_liars(team: Team, judged: Judged, data: DataSet) -> list[LiarFigures]:
    """All that is said about a vote on the test part, for each kind of liar and 0 to n liars."""
    told = team.config.team
    game = team.config.game_of(data.test, data.task)
    can_agree = told.agents >= 3 * told.faults + 1 > 1
    trials = [
        (kind, liars)
        for kind, count in itertools.product(
            (*KINDS, *([WORST] if can_agree else [])), range(told.agents + 1)
        )
        for liars in itertools.islice(
            itertools.combinations(range(told.agents), count), MAX_SUBSETS
        )
    ]
    ballots = (_cast(team, judged, game, *trial) for trial in trials)
    outcomes, _ = team.outcomes(ballots, judged.probs, judged.scores, game.sessions)
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for (kind, liars), outcome in zip(trials, outcomes, strict=True):
        figures = vote_figures(outcome.actions, game, data.task)
        figures["no_quorum"] = float((~outcome.has_quorum).mean())
        found.setdefault((kind, len(liars)), []).append(figures)
    return [
        LiarFigures(kind, count, {name: _spread(name, rows) for name in rows[0]})
        for (kind, count), rows in found.items()
    ]


def _cast(
    team: Team, judged: Judged, game: Game, kind: str, liars: Sequence[int]
) -> NDArray[np.int8]:  # (num_events, agents)
    """Ballots as they are counted."""
    child = child_seed(team.config.seed, "detect", "liars", kind, *liars)
    rng = np.random.Generator(np.random.Philox(child))
    is_right = game.has_begun
    lies = OMNISCIENT if kind == WORST else kind
    votes = lie(lies, judged.votes, liars, rng, num_choices=NUM_ACTIONS, is_right=is_right)
    if kind == WORST:
        faults = team.config.team.faults
        absent = withhold(votes, liars, faults, num_choices=NUM_ACTIONS, is_right=is_right)
        votes[absent] = MISSING
    return votes


def _spread(name: str, rows: Sequence[dict[str, float]]) -> Spread:
    values, worst = [row[name] for row in rows], max if name in LOWER_IS_BETTER else min
    return Spread(float(np.mean(values)), worst(values))


def agree_by_messages(
    team: Team, judged: Judged, data: DataSet, *, num_events: int, batch: int = 1
) -> list[Figures]:
    """Let the agents agree without a trusted counter, and judge the team by what they agree on.

    As many of them lie as they tolerate. They agree on events from the beginning of the test part,
    whole sessions, so many together.

    Returns:
        For each network and kind of liar, first without; view changes are means a batch, messages
        an event. Nothing without events.

    Raises:
        VotingError: n < 3f + 1, or f = 0.
    """
    whole = team.config.game_of(data.test, data.task)
    chosen = np.flatnonzero(whole.sessions.starts[:-1] < num_events)
    if not len(chosen):
        return []
    rows, game = whole.sessions.rows(chosen), whole.take(chosen)
    found = list(_agreements(team, judged.votes[rows], game.has_begun, batch))
    ballots = [agreement.ballots for _, _, agreement in found]
    outcomes, _ = team.outcomes(ballots, judged.probs[:, rows], judged.scores[rows], game.sessions)
    name = main_figure(data.task)
    return [
        {
            "network": network,
            "liar": kind,
            "events": len(rows),
            name: vote_figures(outcome.actions, game, data.task)[name],
            "agreed": float(agreement.has_agreement.mean()),
            "in_range": float(agreement.is_valid.mean()),
            "undecided": agreement.num_undecided,
            "fallbacks": agreement.num_fallbacks,
            "view_changes": float(agreement.views.clip(0).max(axis=1).mean()),
            "messages_per_event": agreement.num_messages / len(rows),
        }
        for (network, kind, agreement), outcome in zip(found, outcomes, strict=True)
    ]


def _agreements(
    team: Team,
    votes: NDArray[np.int8],  # (num_events, agents)
    is_right: NDArray[np.bool_],  # (num_events,)
    batch: int,
) -> Iterator[tuple[str, str, Agreement]]:
    faults, seed = team.config.team.faults, team.config.seed
    liars = range(faults)
    rng = np.random.Generator(np.random.Philox(0))  # these lies need no chance
    lies = lie(OMNISCIENT, votes, liars, rng, num_choices=NUM_ACTIONS, is_right=is_right)
    worst = withhold(lies, liars, faults, num_choices=NUM_ACTIONS, is_right=is_right, batch=batch)
    trials = [(network, kind) for network in NETWORKS for kind in ("none", *KINDS)]
    for network, kind in [*trials, ("worst", OMNISCIENT)]:
        yield network, kind, agree(
            votes,
            faults,
            num_choices=NUM_ACTIONS,
            batch=batch,
            liars={} if kind == "none" else dict.fromkeys(liars, kind),
            is_right=is_right,
            withheld=worst if network == "worst" else None,
            conditions=NETWORKS.get(network),
            seed=child_seed(seed, "detect", "agree", kind),
        )  # fmt: skip
