"""Detection teams: what a trained one is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standing_orders.api.training import Run
from standing_orders.tables import Table, to_text

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
    tamper: bool = False,
) -> TeamCard:
    """Every figure of a detection team on the test part of its data.

    Args:
        run: of `train` with a `DetectConfig`, or its folder.
        data: labelled files to judge it by instead; nothing but the run folder is needed then.
        messages: events on which the agents also agree by messages, without a trusted counter.
        tamper: judge the test part also with each sensor compromised, in every way.

    Raises:
        VotingError: too few agents for an agreement without trust.
        CheckpointError: the folder holds no such run, or its data have changed.
    """
    from standing_orders.detect.assess.report import evaluate_run

    path = run.path if isinstance(run, Run) else Path(run)
    found = evaluate_run(
        path, files=[*map(Path, data)], num_agreements=messages, with_tampering=tamper
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
