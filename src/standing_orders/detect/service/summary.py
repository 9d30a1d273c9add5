"""What a stream came to: verdicts, alerts an hour, what did not fit, and drift."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ACTION_NAMES, ALLOW
from standing_orders.detect.data.drift import DRIFTED, MIN_EVENTS
from standing_orders.detect.service.verdicts import Verdicts
from standing_orders.detect.standard import Standard
from standing_orders.tables import Column as TableColumn
from standing_orders.tables import Table

SCORE = "score"  # of the team, among the inputs whose drift is measured
_HOUR = 3_600.0


@dataclass
class Tally:
    """Counts while events arrive."""

    verdicts: Counter[str] = field(default_factory=Counter)
    misfits: Counter[str] = field(default_factory=Counter)
    events: int = 0  # that were judged
    ends: int = 0  # of sessions, judged
    unreadable: int = 0
    unfit: int = 0  # events with one misfit or more
    first_time: float | None = None  # seconds, of the events
    last_time: float | None = None
    bins: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # by column

    def add(self, verdicts: Verdicts, times: NDArray[np.float64]) -> None:
        """Count verdicts; `times` (num_rows,) of the events in seconds."""
        for action, count in enumerate(np.bincount(verdicts.actions, minlength=4).tolist()):
            if count:
                self.verdicts[ACTION_NAMES[action]] += count
        num_ends = int((verdicts.rows < 0).sum())
        self.ends += num_ends
        self.events += len(verdicts.rows) - num_ends
        for what in verdicts.unfit.values():
            is_unreadable = what[0].startswith("unreadable")
            self.unreadable += is_unreadable
            self.unfit += not is_unreadable
            self.misfits.update(["unreadable"] if is_unreadable else what)
        if known := times[np.isfinite(times)].tolist():
            self.first_time = min(known if self.first_time is None else [self.first_time, *known])
            self.last_time = max(known if self.last_time is None else [self.last_time, *known])

    def add_bins(self, counts: dict[str, NDArray[np.int64]]) -> None:
        """Count values by the bins of training, and scores by those of the validation part."""
        for name, own in counts.items():
            self.bins[name] = self.bins[name] + own if name in self.bins else own

    def to_json(self) -> dict[str, Any]:
        """Plain data for a snapshot."""
        return {
            **vars(self),
            "verdicts": dict(self.verdicts),
            "misfits": dict(self.misfits),
            "bins": {name: counts.tolist() for name, counts in self.bins.items()},
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Tally":
        """Read what `to_json` gave."""
        counters = {name: Counter(data[name]) for name in ("verdicts", "misfits")}
        bins = {name: np.array(counts, dtype=np.int64) for name, counts in data["bins"].items()}
        return cls(**{**data, **counters, "bins": bins})


@dataclass(frozen=True)
class Summary:
    """What came of a stream, or of a file."""

    name: str
    tally: Tally
    open_sessions: int | None  # None for records
    closed_sessions: int | None
    seconds: float  # spent judging
    drift: dict[str, float]  # PSI by column, the highest first; the score among them

    @property
    def alerts_an_hour(self) -> float | None:
        """Flags by the events' own clock; None without one."""
        hours = ((self.tally.last_time or 0.0) - (self.tally.first_time or 0.0)) / _HOUR
        flags = sum(self.tally.verdicts.values()) - self.tally.verdicts[ACTION_NAMES[ALLOW]]
        return flags / hours if hours > 0 else None

    @property
    def warnings(self) -> list[str]:
        """What should worry whoever reads it."""
        found = []
        drifted = {name: psi for name, psi in self.drift.items() if psi >= DRIFTED}
        if drifted and self.tally.events >= MIN_EVENTS:
            some = ", ".join(f"{name} {psi:.2f}" for name, psi in list(drifted.items())[:5])
            found.append(
                f"drift: these events are not like those of training (PSI {DRIFTED} or more): "
                f"{some}{' and more' if len(drifted) > 5 else ''}; verdicts may mean little: train "
                "again on newer events"
            )
        bad = self.tally.unfit + self.tally.unreadable
        if bad:
            share = 100 * bad / max(self.tally.events, 1)
            worst = ", ".join(f"{what} ({n})" for what, n in self.tally.misfits.most_common(3))
            found.append(f"{bad} events ({share:.2g} %) do not fit: {worst}")
        return found

    def tables(self) -> list[Table]:
        """Verdicts, and the columns that drifted most."""
        total = max(sum(self.tally.verdicts.values()), 1)
        rows = tuple(
            (name, self.tally.verdicts[name], self.tally.verdicts[name] / total)
            for name in ACTION_NAMES
        )
        columns = (TableColumn("verdict", is_text=True), TableColumn("events"),
                   TableColumn("share", ".2%"))  # fmt: skip
        rate = "-" if self.alerts_an_hour is None else f"{self.alerts_an_hour:,.1f}"
        notes = [f"{self.tally.events} events, {rate} flags an hour by their own clock"]
        if self.open_sessions is not None:
            notes.append(f"{self.closed_sessions} sessions closed, {self.open_sessions} open")
        drift = tuple(list(self.drift.items())[:8])
        head = (TableColumn("column", is_text=True), TableColumn("PSI", ".3f"))
        few = f"; fewer than {MIN_EVENTS} events say little" * (self.tally.events < MIN_EVENTS)
        return [
            Table(f"verdicts: {self.name}", columns, rows, notes=(*notes, *self.warnings)),
            Table(f"drift against training{few}", head, drift),
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        tally = {k: v for k, v in self.tally.to_json().items() if k != "bins"}
        return {
            "name": self.name,
            **tally,
            "alerts_an_hour": self.alerts_an_hour,
            "open_sessions": self.open_sessions,
            "closed_sessions": self.closed_sessions,
            "seconds": self.seconds,
            "drift": self.drift,
            "warnings": self.warnings,
        }


def drift_of(tally: Tally, standard: Standard) -> dict[str, float]:
    """PSI of each input column and of the score, the highest first."""
    histograms = {**standard.schema.histograms, SCORE: standard.scores}
    found = {name: histograms[name].psi(counts) for name, counts in tally.bins.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
