"""A compromised sensor: what it delivers instead of what happened.

| kind | the sensor's columns of a tampered event |
|---|---|
| benign | those of a benign event, drawn for each event |
| replayed | a recording of benign events, in its order |
| frozen | stuck: those of the first event of the session; of records, those of one benign event |
| shifted | every number moved by about one standard deviation, up or down by column |

All features of an input column change together, so that no value is impossible in itself. What is
delivered instead comes from benign events that the attacker has seen: those of the training part.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import Events

Kind = Literal["benign", "replayed", "frozen", "shifted"]
When = Literal["threats", "always"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WHENS: tuple[When, ...] = get_args(When)
SHIFT = 1.0  # of the scaled numbers
TAUGHT_KINDS: tuple[Kind, ...] = ("benign", "shifted")  # what a team sees in training
BENIGN_SHARE = 0.04  # benign sessions copied for each attack copied, in proportion to their number


def tampered_rows(events: Events, when: When) -> NDArray[np.bool_]:  # (num_events,)
    """Events that a sensor lies about: those of attacks, or all."""
    return events.is_threat if when == "threats" else np.ones(events.num_events, dtype=np.bool_)


def tamper(
    events: Events,
    features: NDArray[np.int64],  # (n,): that the sensor delivers
    kind: Kind,
    rows: NDArray[np.bool_],  # (num_events,): events that it lies about
    *,
    benign: NDArray[np.float32],  # (m, num_features): benign events that the attacker has seen
    rng: np.random.Generator,
) -> Events:
    """The events as they look with one sensor compromised."""
    lies, changed = np.flatnonzero(rows), events.features.copy()
    if kind == "shifted":
        changed[np.ix_(lies, features)] = _shifted(events, features, lies, benign, rng)
        return replace(events, features=changed)
    if kind == "frozen" and events.num_sessions < events.num_events:
        source, taken = events.features, events.starts[events.sessions.index[lies]]
    else:
        source, taken = benign, _donors(len(lies), len(benign), kind, rng)
    changed[np.ix_(lies, features)] = source[np.ix_(taken, features)]
    return replace(events, features=changed)


def _donors(num: int, num_benign: int, kind: Kind, rng: np.random.Generator) -> NDArray[np.int64]:
    """Benign events that stand in for others."""
    if kind == "benign":
        return rng.integers(0, num_benign, num)
    start = int(rng.integers(num_benign))
    return (start + np.arange(num) * (kind == "replayed")) % num_benign


def _shifted(
    events: Events,
    features: NDArray[np.int64],
    lies: NDArray[np.int64],
    benign: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.float32]:  # (num_lies, n)
    """Each number as a benign event shows it that is one step away; words stay as they are.

    A number may be encoded by several features; they are taken from the benign event whose number
    is nearest to the one wanted.
    """
    changed = events.features[np.ix_(lies, features)].copy()
    sources = np.array(events.sources)[features]
    for name in dict.fromkeys(sources.tolist()):
        own = np.flatnonzero(sources == name)
        if events.columns[features[own[0]]] != name:  # a word: one feature for each value
            continue
        order = np.argsort(benign[:, features[own[0]]], kind="stable")
        known = benign[order, features[own[0]]]
        wanted = changed[:, own[0]] + SHIFT * (1 if rng.random() < 0.5 else -1)
        nearest = np.clip(np.searchsorted(known, wanted), 0, len(known) - 1)
        changed[:, own] = benign[np.ix_(order[nearest], features[own])]
    return changed


def with_tampered_copies(
    events: Events, sensors: list[NDArray[np.int64]], *, share: float, seed: int
) -> tuple[Events, NDArray[np.int64]]:
    """The events, then copies of sessions in which one sensor lies; and what each is a copy of.

    An attack is copied `share` times on average and has a lie about every event of it: who tampers
    hides something. In proportion a few benign sessions are copied too, so that a sensor that
    contradicts the others counts for much, and not for everything.

    Returns:
        The events, and for each session the number of the one that it is, or is a copy of.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    benign = events.features[~events.is_threat]
    chances = share / len(sensors) * np.where(events.session_is_threat, 1.0, BENIGN_SHARE)
    copies, origins = [], [np.arange(events.num_sessions)]
    for features in sensors:
        for kind in TAUGHT_KINDS:
            is_chosen = rng.random(events.num_sessions) < chances / len(TAUGHT_KINDS)
            origins.append(np.flatnonzero(is_chosen))
            copied = events.take_sessions(origins[-1])
            rows = copied.is_threat | ~copied.session_is_threat[copied.sessions.index]
            copies.append(tamper(copied, features, kind, rows, benign=benign, rng=rng))
    return events.followed_by(*copies), np.concatenate(origins)
