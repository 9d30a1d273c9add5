"""Where visits run."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from standing_orders.config import SearchConfig
from standing_orders.errors import CheckpointError, ConfigError, WorkerError
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder
from standing_orders.search.engines import open_engine
from standing_orders.search.records import Choice, Counters
from standing_orders.search.store import PolicyStore
from standing_orders.search.visit import VisitTask


def quiet(*_: object) -> None:
    """Tell nobody."""


def begun(config: SearchConfig, path: Path) -> tuple[PolicyStore, VisitTask]:
    """A store with one policy, and a visit of it."""
    folder = RunFolder.create(path, {}, "search")
    store = PolicyStore(folder, config, quiet)
    store.begin("007", Order(7), None)
    choice = Choice(
        iteration=1, round=1, order=Order(7), score=None, decided_by="sweep", mean=0.0, std=1.0,
        chance=0.8, visit=1, policy="007", start="scratch", start_policy=None, before=Counters(),
        limit=10, evaluation_episodes=2,
    )  # fmt: skip
    return store, store.task(choice, seed=1)


def test_an_address_without_ray_is_refused() -> None:
    with (
        pytest.raises(ConfigError, match="only engine = 'ray' has one"),
        open_engine("local", "127.0.0.1:6379", 1),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [("nowhere", ConfigError, "must be HOST:PORT"), ("127.0.0.1:1", WorkerError, "nobody answers")],
)
def test_a_cluster_that_is_not_there_is_named(
    address: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message), open_engine("ray", address, 1):
        pass


def test_without_ray_installed_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="pip install ray"), open_engine("ray", None, 1):
        pass


def test_a_local_visit_keeps_every_update(quick: SearchConfig, tmp_path: Path) -> None:
    store, task = begun(quick, tmp_path / "run")
    with open_engine("local", None, 1) as engine:
        (result,) = engine.run([("007", task)], store, quiet)
    assert result.progress["episodes"] + result.progress["gate_episodes"] == 10
    assert store.records("007", 0, 10) == result.records
    assert store.counters("007").updates == len(result.records) == 2


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_cluster_of_our_own_stays_on_loopback_and_passes_errors_on(
    quick: SearchConfig, tmp_path: Path
) -> None:
    store, task = begun(quick, tmp_path / "run")
    spoiled = {name: np.full_like(array, np.nan) for name, array in task.arrays.items()}
    with open_engine("ray", None, 1) as engine:
        import ray

        assert ray.util.get_node_ip_address() == "127.0.0.1"
        (result,) = engine.run([("007", task)], store, quiet)
        assert store.records("007", 0, 10) == result.records
        with pytest.raises(CheckpointError, match="not finite"):
            list(engine.run([("007", replace(task, arrays=spoiled))], store, quiet))
    assert store.counters("007").updates == 2
