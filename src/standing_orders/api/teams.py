"""Detection teams: what a trained one is worth."""

from pathlib import Path
from typing import TYPE_CHECKING

from standing_orders.api.training import Run

if TYPE_CHECKING:  # torch and scikit-learn take seconds
    from standing_orders.detect.assess.report import Evaluation


def evaluate_team(run: str | Path | Run, *, messages: int = 0) -> "Evaluation":
    """Every figure of a detection team on the test part of its data.

    Args:
        run: of `train` with a `DetectConfig`, or its folder.
        messages: events on which the agents also agree by messages, without a trusted counter.

    Raises:
        VotingError: too few agents for an agreement without trust.
        CheckpointError: the folder holds no such run, or its data have changed.
    """
    from standing_orders.detect.assess.report import evaluate_run

    return evaluate_run(run.path if isinstance(run, Run) else Path(run), num_agreements=messages)
