"""A synthetic stream of sessions with intrusions of several steps, for use without any file.

A session is a row of activities of one account on one machine; an event shows each activity through
noisy columns about account, process, network and files. Nine sessions in a hundred contain an
intrusion (91 % of *sessions* are benign): some ordinary work, then a chain of steps in order, with
ordinary work between them. Its events are threats from the first step to the end of the session.

Benign sessions contain the same activities: administrators scan and take higher rights, backups
collect and upload, developers install and rewrite many files. So no single event tells; which
activities came before in the session does. One kind of attack occurs in the test part only.
"""

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.columns import parse_columns
from standing_orders.detect.data.drift import fit_histograms
from standing_orders.detect.data.encoding import fit_encoder
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.data.schema import Schema
from standing_orders.seeding import child_seed

ACTIVITIES = (
    *("browse", "read", "write", "run"),  # ordinary
    *("scan", "credential", "escalate", "persist", "collect", "upload", "rewrite"),
)
NUM_ORDINARY = 4
_INDEX = {name: number for number, name in enumerate(ACTIVITIES)}

# Who works in a benign session: share, mean number of special activities, which ones.
ROLES = {
    "office": (0.50, 0.6, ("credential", "upload", "collect")),
    "administrator": (0.2, 3.0, ("scan", "credential", "escalate")),
    "backup": (0.12, 3.0, ("collect", "collect", "upload")),
    "developer": (0.15, 3.0, ("persist", "rewrite", "escalate")),
    "anything": (0.03, 3.0, ACTIVITIES[NUM_ORDINARY:]),
}
CHAINS = {
    "exfiltration": ("scan", "credential", "escalate", "collect", "upload"),
    "ransomware": ("credential", "escalate", "persist", "collect", "rewrite", "rewrite"),
    "lateral movement": ("scan", "credential", "persist", "scan", "escalate", "collect"),
    "insider": ("escalate", "collect", "persist", "collect", "upload"),
    "wiper": ("escalate", "scan", "persist", "rewrite", "rewrite"),
}
UNSEEN = "wiper"  # in the test part only
_SKIP_PROB, _REPEAT_PROB, _PAUSE_PROB = 0.1, 0.3, 0.5

# Numeric columns: log-mean of ordinary work, and what activities add to it.
_NUMBERS: dict[str, tuple[float, dict[str, float]]] = {
    "failed_logins": (-1.0, {"credential": 2.2, "scan": 0.5, "browse": 0.2}),
    "session_age": (3.0, {}),
    "child_processes": (0.0, {"persist": 1.8, "run": 0.8, "escalate": 0.7}),
    "cpu_seconds": (0.5, {"rewrite": 1.2, "collect": 0.8, "run": 1.0, "upload": 0.5}),
    "destinations": (0.3, {"scan": 2.5, "browse": 0.6, "credential": 0.4}),
    "bytes_out": (6.0, {"upload": 3.0, "browse": 0.8, "scan": 0.5, "collect": -0.5}),
    "files_read": (1.0, {"collect": 2.2, "read": 0.8, "rewrite": 0.8, "upload": 0.5}),
    "files_written": (0.5, {"rewrite": 2.4, "write": 0.9, "persist": 0.7, "collect": 0.4}),
}
# Categorical columns: values, weights of ordinary work, and the value an activity favours.
_WORDS: dict[str, tuple[tuple[str, ...], tuple[float, ...], dict[str, str]]] = {
    "privilege": (
        ("user", "admin", "system"),
        (0.8, 0.15, 0.05),
        {"escalate": "system", "scan": "admin", "persist": "system"},
    ),
    "process": (
        ("office", "browser", "shell", "script", "archiver"),
        (0.4, 0.3, 0.15, 0.1, 0.05),
        {
            "browse": "browser",
            "run": "shell",
            "scan": "script",
            "persist": "script",
            "upload": "archiver",
            "collect": "archiver",
        },
    ),
    "port": (
        ("none", "web", "ssh", "smb", "mail"),
        (0.5, 0.3, 0.06, 0.07, 0.07),
        {"browse": "web", "scan": "smb", "credential": "ssh", "upload": "web"},
    ),
    "file_kind": (
        ("none", "document", "code", "secret"),
        (0.4, 0.4, 0.15, 0.05),
        {"collect": "secret", "rewrite": "document", "persist": "code", "read": "document"},
    ),
}
_Part = tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]  # rows, attacks, starts
_FAVOUR = 0.75  # how often an activity shows the value it favours
_SPREAD = 0.6  # standard deviation of the logarithm of a number


def make_sessions(
    seed: int,
    *,
    num_sessions: int = 5_000,
    threat_share: float = 0.09,
    pieces: int = 8,
    short: float = 0.0,
) -> DataSet:
    """Make the synthetic stream: 60 % training, 20 % validation, 20 % test.

    Args:
        seed: the same seed gives the same events.
        num_sessions: sessions of all parts.
        threat_share: share of sessions with an intrusion, in each part.
        pieces: see `DataConfig.pieces`.
        short: share of sessions that end after one, two or three events.
    """
    parts = {}
    for part, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        rng = np.random.Generator(np.random.Philox(child_seed(seed, "synthetic", part)))
        kinds = [kind for kind in CHAINS if part == "test" or kind != UNSEEN]
        number = max(round(num_sessions * share), 2)
        parts[part] = _make_part(rng, number, min(max(threat_share, 1 / number), 1), kinds, short)
    events, schema, dropped = _encode(parts, pieces)
    return DataSet(
        name="synthetic",
        task="sessions",
        train=events["train"],
        validation=events["validation"],
        test=events["test"],
        dropped=dropped,
        schema=schema,
        notes=(f"synthetic: {UNSEEN} occurs in the test part only",),
    )


def _encode(
    parts: dict[str, _Part], pieces: int
) -> tuple[dict[str, Events], Schema, dict[str, str]]:
    """Events of each part, how they are read, and columns that are no inputs."""
    table = pa.concat_tables([table for table, _, _ in parts.values()])
    parsed, train = parse_columns(table), np.arange(parts["train"][0].num_rows)
    columns = parsed.columns
    encoder, dropped = fit_encoder(columns, train, DataConfig(pieces=pieces))
    schema = Schema(
        name="synthetic",
        task="sessions",
        names=tuple(table.column_names),
        plan=parsed.plan,
        encoder=encoder,
        histograms=fit_histograms(columns, train),
        attack_names=tuple(CHAINS),
    )
    events, at = {}, 0
    for part, (rows, attacks, starts) in parts.items():
        features = encoder.encode(columns, np.arange(at, at + rows.num_rows))
        at += rows.num_rows
        events[part] = Events(
            features=features,
            columns=encoder.columns,
            sources=encoder.sources,
            attacks=attacks,
            attack_names=tuple(CHAINS),
            starts=starts,
        )
    return events, schema, dropped


def _make_part(
    rng: np.random.Generator,
    num_sessions: int,
    threat_share: float,
    kinds: list[str],
    short: float,
) -> _Part:
    """Rows, attack of each row, and where sessions start."""
    is_threat = np.zeros(num_sessions, dtype=np.bool_)
    is_threat[rng.permutation(num_sessions)[: round(num_sessions * threat_share)]] = True
    names = list(CHAINS)
    activities, attacks = [], []
    for threat in is_threat:
        session = _benign_activities(rng)
        onset = len(session)
        kind = -1
        if threat:
            kind = names.index(str(rng.choice(kinds)))
            # Ordinary work first, cut short so that attacks do not make sessions longer.
            session = session[: rng.integers(0, onset + 1)]
            onset = len(session)
            session = session + _chain(rng, CHAINS[names[kind]])
        if short and rng.random() < short:
            # The last events, so that an attack that is cut short is still one.
            kept = min(int(rng.integers(1, 4)), len(session))
            onset = max(0, onset - (len(session) - kept))
            session = session[-kept:]
        activities.append(session)
        attacks.append([-1] * onset + [kind] * (len(session) - onset))
    lengths = np.array([len(session) for session in activities])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    table = _emit(rng, np.concatenate([np.array(session) for session in activities]))
    return table, np.concatenate([np.array(a, dtype=np.int64) for a in attacks]), starts


def _benign_activities(rng: np.random.Generator) -> list[int]:
    shares = [share for share, _, _ in ROLES.values()]
    _, mean_special, special = list(ROLES.values())[rng.choice(len(ROLES), p=shares)]
    session: list[int] = rng.integers(0, NUM_ORDINARY, size=4 + rng.geometric(0.12)).tolist()
    for _ in range(rng.poisson(mean_special)):
        place = int(rng.integers(0, len(session) + 1))
        session.insert(place, _INDEX[special[rng.integers(len(special))]])
    return session[:60]


def _chain(rng: np.random.Generator, steps: tuple[str, ...]) -> list[int]:
    """Steps of an attack in order: some left out, some repeated, ordinary work between them."""
    session: list[int] = []
    for step in steps:
        if session and rng.random() < _SKIP_PROB:
            continue
        session.append(_INDEX[step])
        while rng.random() < _REPEAT_PROB:
            session.append(_INDEX[step])
        while rng.random() < _PAUSE_PROB:
            session.append(int(rng.integers(0, NUM_ORDINARY)))
    return session


def _emit(rng: np.random.Generator, activities: NDArray[np.int64]) -> pa.Table:
    """What the sensors show of each activity."""
    num_events = len(activities)
    columns: dict[str, pa.Array] = {}
    for name, (base, shifts) in _NUMBERS.items():
        added = np.array([shifts.get(activity, 0.0) for activity in ACTIVITIES])
        values = np.exp(base + added[activities] + _SPREAD * rng.standard_normal(num_events))
        columns[name] = pa.array(np.floor(values) if base < 2 else values)
    for name, (words, weights, favours) in _WORDS.items():
        table = np.tile(np.array(weights), (len(ACTIVITIES), 1))
        for activity, word in favours.items():
            table[_INDEX[activity]] *= 1 - _FAVOUR
            table[_INDEX[activity], words.index(word)] += _FAVOUR
        cumulative = np.cumsum(table, axis=1)[activities]
        chosen = (rng.random(num_events)[:, None] > cumulative[:, :-1]).sum(axis=1)
        columns[name] = pa.DictionaryArray.from_arrays(chosen.astype(np.int8), list(words)).cast(
            pa.string()
        )
    return pa.table(columns)
