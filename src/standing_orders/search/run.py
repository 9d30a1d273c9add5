"""A search in its folder: choose, train, evaluate, record, repeat, until the budget is used.

Everything that is known is in the journal and in the policies' own folders; a search that was
stopped or killed goes on from there, and ends in the same bits as without that.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.config import SearchConfig
from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.evaluate.measure import fresh_seeds
from standing_orders.learn.build import ask_network, check_memory, measure_network
from standing_orders.learn.run import load_network, start_from
from standing_orders.learn.trainer import Trainer
from standing_orders.memory import EPISODE_BYTES, require_memory
from standing_orders.rules.orders import NUM_ORDERS, Order
from standing_orders.runs.folder import RunFolder
from standing_orders.search import budget
from standing_orders.search.acquisition import choose
from standing_orders.search.engines import Engine, LocalEngine
from standing_orders.search.mirrors import Mirrors
from standing_orders.search.records import (
    Base,
    Choice,
    Final,
    Prior,
    Record,
    Result,
    Round,
    read_record,
)
from standing_orders.search.state import SearchState
from standing_orders.search.store import PolicyStore, order_config
from standing_orders.seeding import child_seed

KIND = "search"
Report = Callable[[str], None]
# Told the state, and the record of an update while a visit runs.
Watch = Callable[[SearchState, dict[str, Any] | None], None]


def search(
    config: SearchConfig,
    path: Path,
    *,
    base: Path | None = None,
    engine: Engine | None = None,
    watch: Watch = lambda *_: None,
    report: Report = print,
) -> SearchState:
    """Begin a search in a new folder and go on until its budget is used.

    Args:
        config: everything about the search.
        path: the run folder, new or empty.
        base: a training run whose policy every order starts from, instead of one trained here;
            its episodes are not counted.
        engine: where visits run; in this process if left out.
        watch: told of every update and every record.
        report: told what a user should know.

    Raises:
        ConfigError: the budget does not suffice for the base policy.
        CheckpointError: the folder or the base cannot be used.
        NumericsError: a number is not finite.
        WorkerError: the engine lost its workers.
    """
    if base is not None and config.start != "base":
        raise ConfigError(f"start = {config.start!r}: a base policy is of no use then")
    if config.candidates is not None and config.acquisition in ("random", "sweep"):
        raise ConfigError(
            f"candidates = {config.candidates}: acquisition = {config.acquisition!r} has none"
        )
    budget.for_orders(config, is_base_given=base is not None)
    _check_memory(config, is_base_given=base is not None)
    # Tried out before anything is written: a base with other inputs or layers is of no use.
    given = None if base is None else start_from(Trainer(order_config(config, Order(0))), base)
    folder = RunFolder.create(path, config.model_dump(mode="json") | {"base_run": given}, KIND)
    with folder.lock():
        if base is not None:
            PolicyStore(folder, config, report).import_base(base)
        return _Search(folder, config, engine or LocalEngine(), watch, report).go_on()


def _check_memory(config: SearchConfig, *, is_base_given: bool) -> None:
    """Refuse measurements that do not fit into memory, before hours of work lead to them."""
    check_memory(order_config(config, Order(0)))
    largest = max(
        config.evaluation_episodes,
        budget.final_reserve(config, is_base_given=is_base_given),
        budget.for_prior(config, is_base_given=is_base_given),
    )
    require_memory(EPISODE_BYTES * float(largest), f"a measurement of {largest} episodes")


def resume_search(
    path: Path,
    *,
    budget: int | None = None,
    max_orders: int | None = None,
    engine: Engine | None = None,
    watch: Watch = lambda *_: None,
    report: Report = print,
) -> SearchState:
    """Go on with a search that was stopped or killed; its own config holds.

    Args:
        path: the run folder.
        budget: a larger one, also for a search that has ended.
        max_orders: a larger number of visits, likewise.
        engine: where visits run; in this process if left out.
        watch: told of every update and every record.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder holds no such search, or another process writes it.
        ConfigError: the budget or the number of visits is not larger.
        NumericsError, WorkerError: as in `search`.
    """
    folder = RunFolder.open(path, kind=KIND)
    with folder.lock():
        limits = {"budget": budget, "max_orders": max_orders}
        if any(value is not None for value in limits.values()):
            folder = folder.extend(**_raised(_read_state(folder), limits, report))
        search = _Search(folder, stored_config(path), engine or LocalEngine(), watch, report)
        return search.go_on()


def _raised(
    state: SearchState, limits: dict[str, int | None], report: Report
) -> dict[str, int | float | None]:
    """The limits of a search, those that are given being larger than before.

    Raises:
        ConfigError: one is not, or another one ends the search all the same.
    """
    config = state.config
    raised = {name: value for name, value in limits.items() if value is not None}
    for name, value in raised.items():
        had = getattr(config, name)
        if had is None or value <= had:
            has = "none" if had is None else had
            raise ConfigError(f"{name} = {value}: must be larger than {has}, which it has")
    if state.visits_left == 0 and "max_orders" not in raised:
        raise ConfigError(
            f"max_orders = {config.max_orders}: so many orders have been visited: raise it as well"
        )
    before = {name: getattr(config, name) for name in limits}
    if not state.is_settled:
        return before | raised | {"stop_chance": config.stop_chance}
    report("the search had ended before its budget: with a larger one it uses all of it")
    return before | raised | {"stop_chance": 0.0}


def _read_state(folder: RunFolder) -> SearchState:
    records = tuple(read_record(data) for data in folder.journal().read())
    return SearchState(stored_config(folder.path), records)


def stored_config(path: Path) -> SearchConfig:
    """The config of the search in a folder.

    Raises:
        CheckpointError: the folder holds no search.
    """
    return RunFolder.open(path, kind=KIND).parse_config(SearchConfig, without="base_run")


class _Search:
    """A search whose folder is locked."""

    def __init__(
        self,
        folder: RunFolder,
        config: SearchConfig,
        engine: Engine,
        watch: Watch,
        report: Report,
    ) -> None:
        self._folder = folder
        self._config = config
        self._engine = engine
        self._watch = watch
        self._report = report
        self._store = PolicyStore(folder, config, report)
        self._is_base_given = folder.config["base_run"] is not None
        if config.start == "base" and self._is_base_given and not self._store.base_path.exists():
            raise CheckpointError(f"{folder.path}: its base policy is missing: begin it again")

    def go_on(self) -> SearchState:
        """Do what is left to do."""
        with ExitStack() as stack:
            self._journal = stack.enter_context(self._folder.journal(self._report))
            self._journal.check_head()
            records = tuple(read_record(data) for data in self._journal.read())
            if records:  # a kill may have come between the last of them and its note
                self._journal.note_head()
            self._state = SearchState(self._config, records)
            mirrors = Mirrors(self._folder, self._store, self._state, self._report)
            self._mirrors = stack.enter_context(closing(mirrors))
            self._watch(self._state, None)
            self._train_base()
            self._ask_base()
            while self._state.final is None:
                if not self._state.pending and not self._choose_round():
                    self._finish()
                    break
                self._run_pending()
        return self._state

    def _record(self, record: Record) -> None:
        self._journal.append(record.to_json())
        self._journal.note_head()
        self._state = self._state.having(record)
        self._mirrors.append(self._state, record)
        self._watch(self._state, None)

    def _update(self, record: dict[str, Any]) -> None:
        self._watch(self._state, record)

    def _train_base(self) -> None:
        if self._config.start != "base" or self._is_base_given or self._state.has_base:
            return
        self._record(Base(self._store.train_base(self._update)))

    def _ask_base(self) -> None:
        """See what the base policy earns with each order: the same attacks for all."""
        each = budget.for_prior(self._config, is_base_given=self._is_base_given)
        if not each or self._state.prior is not None:
            return
        network, config = load_network(self._store.base_path)
        seeds = fresh_seeds(child_seed(self._config.seed, "prior"), each)
        asked = [ask_network(network, config, order, seeds) for order in range(NUM_ORDERS)]
        returns, errors = zip(*asked, strict=True)
        played = NUM_ORDERS * each
        self._record(Prior(returns, errors, played, self._state.used + played))

    def _choose_round(self) -> bool:
        """Choose the orders to visit together; False if no visit is worth it or affordable."""
        if self._state.is_settled:
            self._report(
                "no order that is left is likely to be better: the search ends before its budget"
            )
            return False
        reserve = budget.final_reserve(self._config, is_base_given=self._is_base_given)
        free = self._config.budget - self._state.used - reserve
        choices: list[Choice] = []
        left, parallel = self._state.visits_left, self._config.parallel
        for _ in range(parallel if left is None else min(parallel, left)):
            is_first = not self._state.results and not choices
            allowance = budget.next_allowance(self._config, free, is_first=is_first)
            if allowance is None:
                break
            choices.append(self._choose(choices, allowance))
            free -= allowance.total
        if choices:
            self._record(Round(tuple(choices)))
        return bool(choices)

    def _choose(self, earlier: list[Choice], allowance: budget.Allowance) -> Choice:
        """The next order; `earlier` are those chosen in this round."""
        state, config = self._state, self._config
        iteration = len(state.results) + len(earlier) + 1
        known = state.situation([choice.order.index for choice in earlier])
        rng = np.random.default_rng(child_seed(config.seed, "choice", iteration))
        pick = choose(config, known, rng)
        order = Order(pick.order)
        believed = known.belief.condition_on(known.pending)
        visit = len(state.visits_of(order)) + 1
        is_anew = config.begins_anew and visit > 1
        policy = f"{order.index:03d}-{visit}" if is_anew else f"{order.index:03d}"
        start, start_policy = self._start(order, visit)
        before = self._store.counters(policy)
        return Choice(
            iteration=iteration,
            round=earlier[0].iteration if earlier else iteration,
            order=order,
            score=pick.score,
            decided_by=pick.decided_by,
            mean=float(believed.mean[order.index]),
            std=float(believed.std[order.index]),
            chance=float(known.pass_chance[order.index]),
            visit=visit,
            policy=policy,
            start=start,
            start_policy=start_policy,
            before=before,
            limit=before.played + allowance.training,
            evaluation_episodes=allowance.evaluation,
        )

    def _start(self, order: Order, visit: int) -> tuple[str, str | None]:
        """Where the policy begins: the kind, and the other order's policy if it is one's."""
        kind, results = self._config.start, self._state.results
        if visit > 1 and not self._config.begins_anew:
            return "own", None
        if kind in ("nearest", "previous") and results:
            other = results[-1] if kind == "previous" else self._state.nearest(order)
            assert other is not None
            return f"{kind}: {other.order}", other.policy
        return "base" if kind == "base" else "scratch", None

    def _run_pending(self) -> None:
        choices = self._state.pending
        for choice in choices:  # all of them before any is trained: one may start from another
            attempt = choice.visit if self._config.begins_anew else 1
            self._store.begin(
                choice.policy, choice.order, self._start_path(choice), attempt=attempt
            )
        jobs = [
            (choice.policy, self._store.task(choice, self._evaluation_seed(choice)))
            for choice in choices
        ]
        results = self._engine.run(jobs, self._store, self._update)
        for choice, result in zip(choices, results, strict=True):
            used = self._state.used
            self._record(Result.of(choice, result.measured, result.progress, used=used))

    def _evaluation_seed(self, choice: Choice) -> int:
        """First visits all meet the same attacks, which makes orders easier to compare."""
        return child_seed(self._config.seed, "evaluation", choice.visit)

    def _start_path(self, choice: Choice) -> Path | None:
        if choice.start == "base":
            return self._store.base_path
        return None if choice.start_policy is None else self._store.path(choice.start_policy)

    def _finish(self) -> None:
        """Score the best policy on fresh episodes, and export it."""
        best = self._state.ranking()[0]
        path = self._store.export_best(best.policy)
        num_episodes = self._config.budget - self._state.used
        if self._state.is_over:
            reserve = budget.final_reserve(self._config, is_base_given=self._is_base_given)
            num_episodes = min(num_episodes, reserve)
        measured = None
        if num_episodes > 0:
            seeds = fresh_seeds(child_seed(self._config.seed, "final"), num_episodes)
            config = order_config(self._config, best.order)
            measured = measure_network(load_network(path)[0], config, seeds)
        self._record(
            Final(
                best.order, best.policy, best.start, best.has_passed, measured, num_episodes,
                total_episodes=self._state.used + num_episodes,
            )
        )  # fmt: skip
