"""Training, validation and test: whole sessions, stratified, by time or by group."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError

TRAIN, VALIDATION, TEST = range(3)
PART_NAMES = ("training", "validation", "test")


def split_stratified(
    kinds: NDArray[np.int64],  # (num_sessions,)
    shares: tuple[float, float, float],
    rng: np.random.Generator,
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session, at random, with the same shares of every kind up to one session.

    Args:
        kinds: what to balance: the attack of a session, or -1.
        shares: of training, validation and test; they sum to 1.
        rng: source of the draw.
    """
    edges = np.cumsum(shares)[:-1]
    parts = np.zeros(len(kinds), dtype=np.int8)
    for kind in np.unique(kinds):
        members = rng.permutation(np.flatnonzero(kinds == kind))
        # Evenly spaced points with a random offset, so that one session of a kind can go anywhere.
        points = (np.arange(len(members)) + rng.random()) / len(members)
        parts[members] = np.searchsorted(edges, points, side="right")
    return parts


def split_by_group(
    groups: NDArray[np.int64],  # (num_sessions,)
    kinds: NDArray[np.int64],  # (num_sessions,)
    shares: tuple[float, float, float],
    rng: np.random.Generator,
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session, sessions of a group always together.

    Groups are balanced by their most frequent attack. A session with group -1 is a group of its
    own.

    Args:
        groups: number of each session's group.
        kinds: the attack of a session, or -1.
        shares: of the groups in training, validation and test.
        rng: source of the draw.
    """
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
    times: NDArray[np.float64],  # (num_sessions,)
    shares: tuple[float, float, float],
) -> NDArray[np.int8]:  # (num_sessions,)
    """Part of each session: the earliest train, the latest test; equal times stay together.

    Args:
        times: when each session starts.
        shares: of the sessions in training, validation and test.

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
