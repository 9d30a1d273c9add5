"""Rows in the order of their sessions, before they are features."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Grouped:
    """Events by session: where each comes from and what it is."""

    rows: NDArray[np.int64]  # (num_events,): row of the columns that describe the event
    rows_in_table: NDArray[np.int64]  # (num_events,): row of the file
    attacks: NDArray[np.int64]  # (num_events,): -1 = benign
    times: NDArray[np.float64] | None  # (num_events,)
    starts: NDArray[np.int64]  # (num_sessions + 1,)

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return len(self.starts) - 1

    @property
    def session_attacks(self) -> NDArray[np.int64]:  # (num_sessions,)
        """Attack of each session, -1 = benign; the highest number of several."""
        return np.maximum.reduceat(self.attacks, self.starts[:-1])

    def take(self, sessions: NDArray[np.int64]) -> "Grouped":
        """Some sessions, in the order given."""
        lengths = np.diff(self.starts)[sessions]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(self.starts[sessions] - starts[:-1], lengths)
        return replace(
            self,
            rows=self.rows[at],
            rows_in_table=self.rows_in_table[at],
            attacks=self.attacks[at],
            times=None if self.times is None else self.times[at],
            starts=starts,
        )


def group_events(
    rows: NDArray[np.int64],  # (num_events,)
    sessions: NDArray[np.int64],  # (num_rows,)
    attacks: NDArray[np.int64],  # (num_rows,)
    times: NDArray[np.float64] | None,  # (num_rows,)
    *,
    max_events: int,
    rows_in_table: NDArray[np.int64] | None = None,  # (num_rows,)
) -> Grouped:
    """Put rows in the order of their sessions.

    Sessions are in the order of their first event, events in the order of time, or of the file
    without it. An attack lasts from the first to the last threat event of its session.

    Args:
        rows: the rows to use.
        sessions: session of each row.
        attacks: attack of each row, -1 = benign.
        times: when each row happened.
        max_events: events of a session that are kept.
        rows_in_table: row of the file, if a row here is a part of one.
    """
    if times is not None:
        rows = rows[np.argsort(times[rows], kind="stable")]
    _, first, inverse = np.unique(sessions[rows], return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    rows = rows[order]
    lengths = np.bincount(np.unique(first[inverse], return_inverse=True)[1])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    place = np.arange(len(rows)) - np.repeat(starts[:-1], lengths)
    rows = rows[place < max_events]
    lengths = np.minimum(lengths, max_events)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Grouped(
        rows=rows,
        rows_in_table=rows if rows_in_table is None else rows_in_table[rows],
        attacks=_fill_attacks(attacks[rows], starts),
        times=None if times is None else times[rows],
        starts=starts,
    )


def _fill_attacks(
    attacks: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:  # (num_events,)
    """Give benign rows inside an attack the attack that goes on around them."""
    filled = attacks.copy()
    for session in np.flatnonzero(np.maximum.reduceat(attacks, starts[:-1]) >= 0):
        threats = np.flatnonzero(attacks[starts[session] : starts[session + 1]] >= 0)
        threats += starts[session]
        inside = np.arange(threats[0], threats[-1] + 1)
        filled[inside] = attacks[threats[np.searchsorted(threats, inside, side="right") - 1]]
    return filled


def lower_prevalence(grouped: Grouped, prevalence: float, rng: np.random.Generator) -> Grouped:
    """Drop threat sessions at random until a share of them is left.

    Args:
        grouped: the sessions.
        prevalence: share of threat sessions wanted.
        rng: source of the draw.

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


def weigh_sessions(events: Events, rng: np.random.Generator) -> Events:
    """As many sessions again, drawn so that a threat is as likely as a benign one.

    Args:
        events: the training part.
        rng: source of the draw.
    """
    is_threat = events.session_is_threat
    weights = np.where(is_threat, 0.5 / is_threat.sum(), 0.5 / (~is_threat).sum())
    return events.take_sessions(rng.choice(events.num_sessions, events.num_sessions, p=weights))
