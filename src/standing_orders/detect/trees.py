"""Boosted trees as plain arrays: fitted by scikit-learn, saved and evaluated without it.

A histogram gradient boosting of scikit-learn is a list of trees, each a table of nodes. Here the
tables of all agents are buffers of one module, so that they travel with the weights of the network
in the same checksummed file, and a small compiled loop adds up their leaves. The sums are those of
scikit-learn's `decision_function` to the last digits.
"""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from torch import Tensor, nn

from standing_orders.detect.data.labels import check_classes
from standing_orders.detect.kernels import add_leaves, bar_leaves
from standing_orders.seeding import child_seed

MAX_LEAVES = 31  # of a tree
NUM_NODES = 2 * MAX_LEAVES - 1
PLATT_STRENGTH = 100.0  # hardly any regularisation
_LEAF = -1


def one_thread() -> AbstractContextManager[object]:
    """On a busy machine several OpenMP threads wait for each other fifty times as long."""
    limit: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="openmp")
    return limit


def random_state(seed: int) -> int:
    """A seed in scikit-learn's range."""
    return child_seed(seed, "detect", "classifier") % 2**32


def boost(
    features: NDArray[np.float32],  # (n, num_features)
    is_threat: NDArray[np.bool_],  # (n,)
    *,
    rounds: int,
    seed: int,
    learning_rate: float = 0.1,
) -> Any:
    """A fitted gradient boosting of scikit-learn with this number of trees.

    Raises:
        DataError: there is only one class.
    """
    check_classes(is_threat, "the training part")
    model = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=learning_rate, max_leaf_nodes=MAX_LEAVES,
        early_stopping=False, random_state=random_state(seed),
    )  # fmt: skip
    with one_thread():
        return model.fit(features, is_threat)


def log_loss(log_odds: NDArray[np.float64], is_threat: NDArray[np.bool_]) -> float:
    """Mean of -log of the probability given to what was true."""
    return float(np.mean(np.logaddexp(0.0, log_odds) - np.where(is_threat, log_odds, 0.0)))


def best_rounds(
    model: Any, features: NDArray[np.float32], is_threat: NDArray[np.bool_]
) -> tuple[int, NDArray[np.float64]]:  # (n,)
    """Number of first trees with the lowest log loss on other events, and their log-odds there."""
    with one_thread():
        stages = [stage.ravel() for stage in model.staged_decision_function(features)]
    best = int(np.argmin([log_loss(stage, is_threat) for stage in stages]))
    return best + 1, stages[best]


def fit_line(
    log_odds: NDArray[np.float64],  # (n,)
    is_threat: NDArray[np.bool_],  # (n,)
) -> tuple[float, float]:
    """Slope and shift that calibrate log-odds on events that they were not fitted to (Platt)."""
    if is_threat.all() or not is_threat.any():
        return 1.0, 0.0
    model = LogisticRegression(C=PLATT_STRENGTH).fit(log_odds[:, None], is_threat)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


class Forest(nn.Module):
    """Boosted trees of every agent; one that is not fitted says log-odds 0."""

    column: Tensor  # (agents, rounds, NUM_NODES): the input that a node asks about; -1 for a leaf
    threshold: Tensor  # the same shape: inputs up to this go left
    left: Tensor  # the same shape: number of the left child, the right one is the next
    value: Tensor  # the same shape: what a leaf adds
    base: Tensor  # (agents,): log-odds before any tree
    line: Tensor  # (agents, 2): slope and shift from the sum to calibrated log-odds (Platt)

    def __init__(self, num_agents: int, rounds: int) -> None:
        super().__init__()
        shape = (num_agents, rounds, NUM_NODES)
        self.register_buffer("column", torch.full(shape, _LEAF, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("left", torch.zeros(shape, dtype=torch.int32))
        self.register_buffer("value", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("base", torch.zeros(num_agents, dtype=torch.float64))
        line = torch.tensor([1.0, 0.0], dtype=torch.float64)
        self.register_buffer("line", line.repeat(num_agents, 1))

    def put(
        self,
        agent: int,
        model: Any,
        *,
        columns: NDArray[np.int64],  # input of the agent that each feature of the model is
        rounds: int,
        line: tuple[float, float] = (1.0, 0.0),
    ) -> None:
        """Take over the first trees of a model of `boost`."""
        self.line[agent] = torch.tensor(line, dtype=torch.float64)
        self.base[agent] = float(np.ravel(model._baseline_prediction)[0])
        # Private to scikit-learn, and the only way to its trees; a test compares the sums.
        for index, (tree,) in enumerate(model._predictors[:rounds]):
            table = _renumbered(tree.nodes, columns)
            for name, values in table.items():
                getattr(self, name)[agent, index, : len(values)] = torch.from_numpy(values)

    def trees_of(self, agent: int) -> "Trees":
        """An agent's trees as they are now."""
        tables = (self.column, self.threshold, self.left, self.value)
        column, threshold, left, value = (one[agent].numpy() for one in tables)
        # An empty tree stands behind the last one.
        num_trees = int(np.append((column[:, 0] < 0) & (value[:, 0] == 0.0), True).argmax())
        column, left, value = column[:num_trees], left[:num_trees], value[:num_trees]
        barred = np.zeros(column.shape, dtype=np.uint32)
        leaves = np.zeros((num_trees, MAX_LEAVES))
        bar_leaves(column, left, value, barred, leaves)
        is_node = column >= 0
        columns, asked = np.unique(column[is_node], return_inverse=True)
        return Trees(
            columns.astype(np.int64),
            asked.astype(np.int32),
            _rounded_down(threshold[:num_trees][is_node]),
            barred[is_node],
            np.concatenate([[0], np.cumsum(is_node.sum(axis=1))]).astype(np.int64),
            leaves,
            base=float(self.base[agent]),
            line=(float(self.line[agent, 0]), float(self.line[agent, 1])),
        )


class Trees:
    """The trees of one agent, laid out for `kernels.add_leaves`."""

    def __init__(self, *tables: NDArray[Any], base: float, line: tuple[float, float]) -> None:
        self._tables, self._base, self._line = tables, base, line

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Trees)
            and (self._base, self._line) == (other._base, other._line)
            and all(map(np.array_equal, self._tables, other._tables))
        )

    __hash__ = None  # type: ignore[assignment]

    def log_odds(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:  # (rows,)
        """What they say about inputs, (rows, size)."""
        sums = np.full(len(inputs), self._base)
        columns, asked, threshold, barred, starts, leaves = self._tables
        inputs = np.ascontiguousarray(inputs)
        add_leaves(inputs, columns, asked, threshold, barred, starts, leaves, sums)
        slope, shift = self._line
        return (slope * sums + shift).astype(np.float32)


def _rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest single-precision number up to each: a single one is above both or neither."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _renumbered(nodes: NDArray[Any], columns: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The tables of a tree whose brothers stand side by side."""
    order = [0]
    left = np.zeros(len(nodes), dtype=np.int32)
    for place, node in enumerate(order):  # grows while it is read
        if not nodes["is_leaf"][node]:
            left[place] = len(order)
            order += [int(nodes["left"][node]), int(nodes["right"][node])]
    told = nodes[np.array(order)]
    is_leaf = told["is_leaf"].astype(np.bool_)
    asked = columns[np.where(is_leaf, 0, told["feature_idx"])]
    return {
        "column": np.where(is_leaf, _LEAF, asked).astype(np.int32),
        "threshold": np.where(is_leaf, 0.0, told["num_threshold"]),
        "left": left,
        "value": np.where(is_leaf, told["value"], 0.0),
    }


def draw_folds(
    is_threat: NDArray[np.bool_], num_folds: int, seed: int
) -> NDArray[np.int64]:  # both (num_sessions,)
    """Fold of each session, as many of each class in every fold up to one."""
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "detect", "folds")))
    folds = np.empty(len(is_threat), dtype=np.int64)
    for kind in (is_threat, ~is_threat):
        folds[kind] = rng.permutation(np.arange(int(kind.sum())) % num_folds)
    return folds


def held_out(
    features: NDArray[np.float32],  # (n, num_features)
    is_threat: NDArray[np.bool_],  # (n,)
    folds: NDArray[np.int64],  # (n,)
    kept: NDArray[np.bool_],  # (n,): events that may be fitted to
    *,
    rounds: int,
    seed: int,
    learning_rate: float,
) -> NDArray[np.float32]:  # (n,)
    """Log-odds of every event by trees that were fitted to the other folds."""
    told = np.empty(len(features), dtype=np.float32)
    for fold in np.unique(folds):
        own, rest = folds == fold, (folds != fold) & kept
        model = boost(
            features[rest], is_threat[rest], rounds=rounds, seed=seed, learning_rate=learning_rate
        )
        with one_thread():
            told[own] = model.decision_function(features[own])
    return told
