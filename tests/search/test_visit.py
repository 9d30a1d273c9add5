"""One visit of an order."""

from dataclasses import asdict, replace

from standing_orders.config import TrainConfig
from standing_orders.learn.trainer import Trainer
from standing_orders.search.visit import VisitTask, play_visit

CONFIG = TrainConfig(
    order="7", episodes=20, update_episodes=4, ppo={"hidden": (2,), "epochs": 1},
    gate={"kind": "strict", "episodes": 2, "threshold": 0.0, "min_judged": 1}, stop_at_gate=True,
)  # fmt: skip


def task(limit: int) -> VisitTask:
    trainer = Trainer(CONFIG)
    return VisitTask(
        CONFIG.model_dump(mode="json"), trainer.to_arrays(), asdict(trainer.progress),
        updates_before=0, limit=limit, evaluation_episodes=2, evaluation_seed=1,
    )  # fmt: skip


def test_a_visit_ends_at_the_gate_or_at_its_limit() -> None:
    result = play_visit(task(20))
    assert result.progress["stopped"] == "gate passed"
    assert result.progress["episodes"] + result.progress["gate_episodes"] == 6
    short = play_visit(task(5))
    assert short.progress["stopped"] == "budget used"
    assert short.progress["episodes"] + short.progress["gate_episodes"] == 5


def test_a_second_visit_trains_although_its_limit_is_that_of_the_first() -> None:
    """The first one ended early, and the second may use exactly what it had left."""
    first = play_visit(task(20))
    again = replace(
        task(20), arrays=first.arrays, progress=first.progress, updates_before=len(first.records)
    )
    assert play_visit(again).records


def test_a_visit_that_was_over_when_it_was_interrupted_is_only_measured() -> None:
    first = play_visit(task(20))
    rest = play_visit(replace(task(20), arrays=first.arrays, progress=first.progress))
    assert rest.records == []
    assert rest.measured == first.measured
