"""Rows in the order of their sessions, before they are features; and which part each goes to."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import Sessions
from standing_orders.errors import ConfigError

TRAIN, VALIDATION, TEST = range(3)
GAP = "seconds since the event before"  # a column that is made of sessions with times
PART_NAMES = ("training", "validation", "test")
Shares = tuple[float, float, float]  # of training, validation and test; they sum to 1


@dataclass(frozen=True, eq=False)
class Grouped:
    """Events by session: where each comes from and what it is."""

    rows: NDArray[np.int64]  # (num_events,): row of the columns that describe the event
    rows_in_table: NDArray[np.int64]  # (num_events,): row of the file
    attacks: NDArray[np.int64]  # (num_events,): -1 = benign
    times: NDArray[np.float64] | None  # (num_events,)
    sessions: Sessions

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return self.sessions.num_sessions

    @property
    def firsts(self) -> NDArray[np.int64]:  # (num_sessions,)
        """First event of each session."""
        return self.sessions.starts[:-1]

    @property
    def session_attacks(self) -> NDArray[np.int64]:  # (num_sessions,)
        """Attack of each session, -1 = benign; the highest number of several."""
        return self.sessions.fold(np.maximum, self.attacks)

    def gaps(self, num_rows: int) -> NDArray[np.float64]:  # (num_rows,)
        """Seconds since the event before in its session, NaN for the first, by row of the file."""
        found = np.full(num_rows, np.nan)
        if self.times is not None:
            gaps = np.diff(self.times, prepend=np.nan)
            gaps[self.firsts] = np.nan
            found[self.rows] = gaps
        return found

    def take(self, chosen: NDArray[np.int64]) -> "Grouped":
        """Some sessions, in the order given."""
        at = self.sessions.rows(chosen)
        return replace(
            self,
            rows=self.rows[at],
            rows_in_table=self.rows_in_table[at],
            attacks=self.attacks[at],
            times=None if self.times is None else self.times[at],
            sessions=self.sessions.take(chosen),
        )


def group_events(
    rows: NDArray[np.int64],  # (num_events,): those to use
    sessions: NDArray[np.int64],  # (num_rows,)
    attacks: NDArray[np.int64],  # (num_rows,): -1 = benign
    times: NDArray[np.float64] | None,  # (num_rows,)
    *,
    max_events: int,  # of a session that are kept
    rows_in_table: NDArray[np.int64] | None = None,  # (num_rows,): if a row is a part of one
) -> Grouped:
    """Put rows in the order of their sessions.

    Sessions are in the order of their first event, events in the order of time, or of the file
    without it. An attack lasts from the first to the last threat event of its session.
    """
    if times is not None:
        rows = rows[np.argsort(times[rows], kind="stable")]
    _, first, inverse = np.unique(sessions[rows], return_index=True, return_inverse=True)
    rows = rows[np.argsort(first[inverse], kind="stable")]
    whole = Sessions.of_lengths(np.bincount(inverse)[np.argsort(first)])
    rows = rows[whole.place < max_events]
    kept = Sessions.of_lengths(np.minimum(whole.lengths, max_events))
    return Grouped(
        rows=rows,
        rows_in_table=rows if rows_in_table is None else rows_in_table[rows],
        attacks=_fill_attacks(attacks[rows], kept),
        times=None if times is None else times[rows],
        sessions=kept,
    )


def _fill_attacks(
    attacks: NDArray[np.int64], sessions: Sessions
) -> NDArray[np.int64]:  # (num_events,)
    """Give benign rows inside an attack the attack that goes on around them."""
    filled = attacks.copy()
    for session in np.flatnonzero(sessions.fold(np.maximum, attacks) >= 0):
        start, end = sessions.starts[session : session + 2]
        threats = np.flatnonzero(attacks[start:end] >= 0) + start
        inside = np.arange(threats[0], threats[-1] + 1)
        filled[inside] = attacks[threats[np.searchsorted(threats, inside, side="right") - 1]]
    return filled


def lower_prevalence(grouped: Grouped, prevalence: float, rng: np.random.Generator) -> Grouped:
    """Drop threat sessions at random until a share of them is left.

    Raises:
        ConfigError: the share is lower than wanted already.
    """
    is_threat = grouped.session_attacks >= 0
    num_threats, num_benign = int(is_threat.sum()), int((~is_threat).sum())
    wanted = round(num_benign * prevalence / (1 - prevalence))
    if wanted > num_threats:
        raise ConfigError(
            f"prevalence = {prevalence}: only {is_threat.mean():.3g} of the sessions are threats, "
            "and dropping threats cannot raise that"
        )
    kept = rng.permutation(np.flatnonzero(is_threat))[: max(wanted, 1)]
    return grouped.take(np.sort(np.concatenate([np.flatnonzero(~is_threat), kept])))


def split_stratified(
    kinds: NDArray[np.int64],  # (num_sessions,): the attack of a session, or -1
    shares: Shares,
    rng: np.random.Generator,
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session, at random, with the same shares of every kind up to one session."""
    edges = np.cumsum(shares)[:-1]
    parts = np.zeros(len(kinds), dtype=np.int8)
    for kind in np.unique(kinds):
        members = rng.permutation(np.flatnonzero(kinds == kind))
        # Evenly spaced points with a random offset, so that one session of a kind can go anywhere.
        points = (np.arange(len(members)) + rng.random()) / len(members)
        parts[members] = np.searchsorted(edges, points, side="right")
    return parts


def split_by_group(
    groups: NDArray[np.int64],  # (num_sessions,): number of each session's group, -1 = alone
    kinds: NDArray[np.int64],  # (num_sessions,): the attack of a session, or -1
    shares: Shares,
    rng: np.random.Generator,
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session, whole groups together, balanced by their most frequent attack."""
    alone = np.flatnonzero(groups < 0)
    groups = groups.copy()
    groups[alone] = groups.max(initial=-1) + 1 + np.arange(len(alone))
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    group_kinds = kinds[first].copy()
    for group in np.unique(inverse[kinds >= 0]):
        attacks = kinds[(inverse == group) & (kinds >= 0)]
        group_kinds[group] = np.bincount(attacks).argmax()
    return split_stratified(group_kinds, shares, rng)[inverse]


def split_by_time(
    times: NDArray[np.float64],  # (num_sessions,): when each session starts
    shares: Shares,
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session: the earliest train, the latest test; equal times stay together.

    Raises:
        ConfigError: a session has no time.
    """
    if not np.isfinite(times).all():
        missing = int((~np.isfinite(times)).sum())
        raise ConfigError(
            f"split by time: {missing} of {len(times)} sessions begin without a time (missing, NaT "
            "or infinite): add it, drop them, or choose another --split"
        )
    ordered = np.sort(times)
    cuts = [ordered[min(int(share * len(times)), len(times) - 1)] for share in np.cumsum(shares)]
    return np.searchsorted(np.array(cuts[:2]), times, side="right").astype(np.int8)
