"""Tables of a search for other tools, made from its journal and its policies' journals."""

from collections.abc import Callable, Iterator
from typing import Any

from standing_orders.learn.run import CSV_COLUMNS, TENSORBOARD_TAGS
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import CSV_NAME
from standing_orders.runs.sinks import CsvSink, TensorBoardSink, write_csv
from standing_orders.search.records import Base, Record, Result
from standing_orders.search.state import SearchState
from standing_orders.search.store import PolicyStore

Row = dict[str, Any]
SAMPLING_LOG, LEADERBOARD = "gp_sampling_log.csv", "leaderboard.csv"
SAMPLING_COLUMNS = {
    "Iteration": "iteration",
    "Workflow": "order",
    "UCB_Score": "score",
    "Reward": "reward",
    "Final_Compliance": "compliance.strict",
    "Episodes_Trained": "episodes.training",
    "GP_Updated": "gp_updated",
    "Mean": "mean",
    "Std": "std",
    "Pass_Chance": "chance",
    "Start": "start",
    "Std_Error": "std_error",
    "Passed": "passed",
    "Stopped": "stopped",
    "Contested_Compliance": "compliance.contested",
    "Gate_Episodes": "episodes.gate",
    "Evaluation_Episodes": "episodes.evaluation",
    "Total_Episodes": "total_episodes",
    "Decided_By": "decided_by",
    "Verdict": "verdict",
    "Strict_Compliance_Std": "compliance.strict_spread",
}
LEADERBOARD_COLUMNS = {
    "Rank": "rank",
    "Order": "order",
    "Passed": "passed",
    "Return": "reward",
    "Std_Error": "std_error",
    "Posterior_Mean": "posterior.mean",
    "Posterior_Std": "posterior.std",
    "Strict_Compliance": "compliance.strict",
    "Strict_Interval95": "compliance.strict_interval95",
    "Contested_Compliance": "compliance.contested",
    "Response_Rate": "compliance.response",
    "Aim": "compliance.aim",
    "Evaluation_Episodes": "compliance.episodes",
    "Visits": "visit",
    "Episodes_Trained": "trained",
    "Start": "start",
}
SEARCH_TAGS = {
    "search/reward": "reward",
    "search/compliance": "compliance.strict",
    "search/score": "score",
    "search/chance_to_pass": "chance",
}
_UPDATE_COLUMNS = {"Iteration": "iteration", **CSV_COLUMNS}
_UPDATE_COLUMNS["Total_Episodes_Sampled"] = "search_episodes"


def _with_step(result: Result) -> Row:
    return result.to_json() | {"search_episodes": result.total_episodes}


class Mirrors:
    """gp_sampling_log.csv, leaderboard.csv, training_log.csv and TensorBoard, kept up to date.

    Args:
        folder: of the search.
        store: its policies.
        state: what there is to mirror already; the tables are made anew from it.
        report: told that TensorBoard is not installed.
    """

    def __init__(
        self,
        folder: RunFolder,
        store: PolicyStore,
        state: SearchState,
        report: Callable[[str], None],
    ) -> None:
        self._store = store
        self._leaderboard = folder.resolve(LEADERBOARD)
        updates = [row for record in state.records for row in self._updates(record)]
        self._sampling = CsvSink.rebuild(
            folder.resolve(SAMPLING_LOG), SAMPLING_COLUMNS, [one.to_json() for one in state.results]
        )
        self._training = CsvSink.rebuild(folder.resolve(CSV_NAME), _UPDATE_COLUMNS, updates)
        self._board = TensorBoardSink.rebuild(
            folder.tensorboard_path, TENSORBOARD_TAGS | SEARCH_TAGS,
            [*updates, *map(_with_step, state.results)], step_key="search_episodes", report=report,
        )  # fmt: skip
        if state.results:
            self._rank(state)

    def append(self, state: SearchState, record: Record) -> None:
        """Mirror a record of the search."""
        for row in self._updates(record):
            self._training.append(row)
            self._board.append(row)
        if isinstance(record, Result):
            self._sampling.append(record.to_json())
            self._board.append(_with_step(record))
            self._rank(state)

    def _rank(self, state: SearchState) -> None:
        rows = [standing.to_json() for standing in state.leaderboard()]
        write_csv(self._leaderboard, rows, LEADERBOARD_COLUMNS)

    def _updates(self, record: Record) -> Iterator[Row]:
        """Updates that belong to a record, with the episodes of the whole search."""
        if isinstance(record, Base):
            updates, before, iteration = (
                self._store.base_records(),
                0,
                0,
            )
        elif isinstance(record, Result):
            updates = self._store.records(record.policy, *record.updates)
            before = record.total_episodes - sum(record.episodes.values())
            iteration = record.iteration
        else:
            return
        if not updates:
            return
        gate_before = updates[-1]["gate_episodes"] - record.episodes.get("gate", 0)
        played = 0
        for update in updates:
            played += update["episodes"]
            yield update | {
                "iteration": iteration,
                "search_episodes": before + played + update["gate_episodes"] - gate_before,
            }

    def close(self) -> None:
        """Write out what is left."""
        for sink in (self._sampling, self._training, self._board):
            sink.close()
