"""Detection teams: what a trained one is worth."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standing_orders.api.training import Run
from standing_orders.tables import Cell, Column, Table, to_text

if TYPE_CHECKING:  # torch and scikit-learn take seconds
    from standing_orders.detect.assess.report import Evaluation
    from standing_orders.detect.service.judge import Judge


@dataclass(frozen=True)
class TeamCard:
    """Every figure of a detection team.

    Args:
        path: its run folder.
        found: the figures themselves.
    """

    path: Path
    found: "Evaluation"

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of detection and cost, by name."""
        return self.found.figures

    def tables(self) -> list[Table]:
        """Detection and costs, the vote by number of liars, and what the rules say."""
        from standing_orders.detect.tables import evaluation_tables

        return evaluation_tables(self.found, str(self.path))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return self.found.to_json()

    def __str__(self) -> str:
        return to_text(self.tables())


def evaluate_team(
    run: str | Path | Run,
    *,
    data: Sequence[str | Path] = (),
    messages: int = 0,
    batch: int = 1,
    tamper: bool = False,
) -> TeamCard:
    """Every figure of a detection team on the test part of its data.

    Args:
        run: of `train` with a `DetectConfig`, or its folder.
        data: labelled files to judge it by instead; nothing but the run folder is needed then.
        messages: events on which the agents also agree by messages, without a trusted counter;
            the team is judged by what they agree on.
        batch: events that they agree on together.
        tamper: judge the test part also with each sensor compromised, in every way.

    Raises:
        VotingError: too few agents for an agreement without trust.
        CheckpointError: the folder holds no such run, or its data have changed.
    """
    from standing_orders.detect.assess.report import evaluate_run

    path = run.path if isinstance(run, Run) else Path(run)
    found = evaluate_run(
        path,
        files=[*map(Path, data)],
        num_agreements=messages,
        batch=batch,
        with_tampering=tamper,
    )
    return TeamCard(path, found)


def load_team(run: str | Path | Run) -> "Judge":
    """A trained detection team that judges new events, by its run folder alone.

    Args:
        run: of `train` with a `DetectConfig`, or its folder.

    Raises:
        CheckpointError: the folder holds no such run.

    Example:
        `load_team("runs/team").judge(table)`, where the table has the columns of the training
        file but needs no label: a `pyarrow.Table`, or a mapping of names to lists.
    """
    from standing_orders.detect.service.judge import open_team

    return open_team(run.path if isinstance(run, Run) else Path(run))


# Figures of either task that are shown when a team has been trained.
_FIGURES = {
    "records": ("f1", "recall", "precision", "alarms_per_1000_benign", "cost"),
    "sessions": (
        "mean_cost", "detection_rate", "mean_delay", "false_alarm_rate", "mean_events_seen",
    ),
}  # fmt: skip
_COLUMNS = (
    Column("figure", is_text=True), Column("training part", ".3f"), Column("test part", ".3f"),
)  # fmt: skip
_FEW = 20  # updates: fewer are said to be few


@dataclass(frozen=True)
class TeamEnding:
    """A run with what its team is worth on events that it was not trained on.

    Args:
        run: that has ended.
        task: records or sessions.
        trained: figures on the training part.
        tested: the same on the test part.
        threshold: score from which on an event is called a threat, set on the validation part.
    """

    run: Run
    task: str
    trained: dict[str, Any]
    tested: dict[str, Any]
    threshold: float

    @property
    def warnings(self) -> list[str]:
        """What a user must not overlook."""
        if self.run.updates >= _FEW:
            return []
        return [f"barely trained: {self.run.updates} updates; the defaults take 60 at least"]

    @property
    def next_commands(self) -> list[str]:
        """What to type next."""
        folder = shlex.quote(str(self.run.path))
        return [f"standing-orders detect evaluate {folder}"]

    def tables(self) -> list[Table]:
        """Training figures beside test figures, then warnings and what to type next."""
        rows: list[tuple[Cell, ...]] = [
            (name.replace("_", " "), self.trained[name], self.tested[name])
            for name in _FIGURES[self.task]
        ]
        meaning = "best F1" if self.task == "records" else "at most 1 % false alarms"
        notes = (
            f"{self.run.stopped or 'not finished'} after {self.run.updates} updates",
            f"threshold of the score, by the validation part, {meaning}: {self.threshold:.4g}",
            *(f"warning: {warning}" for warning in self.warnings),
            "next:",
            *(f"  {command}" for command in self.next_commands),
        )
        return [Table(f"{self.run.path}: {self.task}", _COLUMNS, tuple(rows), notes=notes)]

    def to_json(self) -> dict[str, Any]:
        """Plain data: the run's, and the figures of both parts."""
        names = _FIGURES[self.task]
        return self.run.to_json() | {
            "trained": {name: self.trained[name] for name in names},
            "tested": {name: self.tested[name] for name in names},
            "threshold": self.threshold,
            "warnings": self.warnings,
            "next": self.next_commands,
        }


def measure_team(run: Run) -> TeamEnding:
    """Judge the training part and the test part with the team of a run.

    Raises:
        CheckpointError: the run folder is damaged, or its data have changed.
    """
    from standing_orders.detect.assess.figures import assess
    from standing_orders.detect.learn.run import load_team
    from standing_orders.detect.metrics import at_false_alarms, delay_curve

    team, data = load_team(run.path)
    tested = assess(team, data, team.config)
    trained = assess(team, replace(data, test=data.train), team.config)
    if data.task == "records":
        threshold = float(tested["f1_threshold"])
    else:
        game = team.config.game_of(data.validation, data.task)
        curve = delay_curve(team.judge(data.validation).scores, game)
        threshold = float(at_false_alarms(curve)[0])
    return TeamEnding(run, data.task, trained, tested, threshold)
