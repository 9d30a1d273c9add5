"""Events in sessions, as every part of the detection team sees them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.errors import DataError, NumericsError

Task = Literal["records", "sessions"]


@dataclass(frozen=True, eq=False)
class Events:
    """Events with their truth, grouped into sessions; a record is a session of one event.

    Raises:
        DataError: the arrays do not fit each other.
        NumericsError: a feature is not finite.
    """

    features: NDArray[np.float32]  # (num_events, num_features): scaled, finite
    columns: tuple[str, ...]  # name of each feature; "service=http" for a value of a column
    sources: tuple[str, ...]  # input column each feature comes from; views are split by it
    is_threat: NDArray[np.bool_]  # (num_events,): in a session, from the onset of the attack on
    attacks: NDArray[np.int64]  # (num_events,): index into attack_names, -1 = benign
    attack_names: tuple[str, ...]
    starts: NDArray[np.int64]  # (num_sessions + 1,): session s is events starts[s]:starts[s + 1]

    def __post_init__(self) -> None:
        num_events, num_features = self.features.shape
        if not (
            len(self.columns) == len(self.sources) == num_features
            and self.is_threat.shape == self.attacks.shape == (num_events,)
            and np.array_equal(self.attacks >= 0, self.is_threat)
            and (not num_events or self.attacks.max() < len(self.attack_names))
        ):
            raise DataError("events: features, columns and labels do not fit each other")
        if not (
            self.starts[0] == 0
            and self.starts[-1] == num_events
            and np.all(np.diff(self.starts) > 0)
        ):
            raise DataError(
                f"events: session starts must grow from 0 to {num_events}, one event a session or "
                "more"
            )
        if not np.isfinite(self.features).all():
            bad = int(np.flatnonzero(~np.isfinite(self.features).all(axis=0))[0])
            raise NumericsError(f"events: column {self.columns[bad]!r} is not finite")

    @property
    def num_events(self) -> int:
        """Number of events."""
        return len(self.is_threat)

    @property
    def num_features(self) -> int:
        """Number of features of an event."""
        return len(self.columns)

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return len(self.starts) - 1

    @cached_property
    def is_piece(self) -> NDArray[np.bool_]:  # (num_features,)
        """Features that only repeat a number in pieces, for networks; trees do without them."""
        named = zip(self.columns, self.sources, strict=True)
        return np.array([column.startswith(f"{source}[") for column, source in named])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # (num_sessions,)
        """Number of events of each session."""
        return np.diff(self.starts)

    @cached_property
    def session_index(self) -> NDArray[np.int64]:  # (num_events,)
        """Session of each event."""
        return np.repeat(np.arange(self.num_sessions), self.lengths)

    @cached_property
    def session_is_threat(self) -> NDArray[np.bool_]:  # (num_sessions,)
        """Whether a session contains an attack."""
        return np.bincount(self.session_index, self.is_threat, minlength=self.num_sessions) > 0

    @property
    def prevalence(self) -> float:
        """Share of events that are threats; NaN without events."""
        return float(self.is_threat.mean()) if self.num_events else float("nan")

    def take_sessions(self, indices: ArrayLike) -> "Events":
        """Whole sessions, in the order given; one may be taken more than once.

        Args:
            indices: session numbers, (n,).
        """
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Position inside the new stream, moved to where each session starts in this one.
        rows = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return replace(
            self,
            features=self.features[rows],
            is_threat=self.is_threat[rows],
            attacks=self.attacks[rows],
            starts=starts,
        )


@dataclass(frozen=True, eq=False)
class DataSet:
    """Training, validation and test events with the same features and attack names.

    Scaling and the values of categorical columns come from the training part alone.
    """

    name: str
    task: Task
    train: Events
    validation: Events
    test: Events
    dropped: dict[str, str]  # column -> why it is not an input
    notes: tuple[str, ...] = ()  # what was done to the data or looks odd about it, one line each
