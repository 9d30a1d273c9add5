"""The policy store: one training run for each order, in the folder of the search."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from standing_orders.config import SearchConfig, TrainConfig
from standing_orders.errors import CheckpointError
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.run import KIND, counters_of, reopen, resume, start_from, train
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.orders import Order
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.loop import save, save_state
from standing_orders.search.records import Choice, Counters
from standing_orders.search.visit import OnUpdate, VisitResult, VisitTask
from standing_orders.seeding import child_seed

POLICIES, BASE, BEST = "policies", "base", "best"
Report = Callable[[str], None]


class PolicyStore:
    """Policies by order; each is a run folder as `standing-orders train` makes it.

    Args:
        folder: of the search; its lock must be held.
        config: of the search.
        report: told what a user should know.
    """

    def __init__(self, folder: RunFolder, config: SearchConfig, report: Report) -> None:
        self._folder = folder
        self._config = config
        self._report = report

    def path(self, name: str) -> Path:
        """Folder of a policy."""
        return self._folder.resolve(Path(POLICIES) / name)

    @property
    def base_path(self) -> Path:
        """Folder of the base policy."""
        return self._folder.resolve(BASE)

    def import_base(self, origin: Path) -> None:
        """Take another run's policy as the base; the search then no longer needs that run."""
        _copy_run(origin, self.base_path)

    def train_base(self, on_update: Callable[[dict[str, Any]], None]) -> int:
        """Train the base policy, or go on with it, and give the episodes that it took."""
        config = base_config(self._config)
        if (self.base_path / "run.json").exists():
            trainer = resume(self.base_path, on_update=on_update, report=self._report)
        else:
            trainer = train(config, self.base_path, on_update=on_update, report=self._report)
        return trainer.progress.episodes

    def begin(self, name: str, order: Order, start: Path | None, *, attempt: int = 1) -> None:
        """Make the folder of a policy that is not trained yet; nothing if it is there.

        Args:
            name: of the policy.
            order: what it follows.
            start: the run that it starts from.
            attempt: number of the policy of this order; another one has other random numbers.
        """
        path = self.path(name)
        if path.exists() and load_latest(path) == (None, []):
            shutil.rmtree(path)  # its beginning was cut short
        if path.exists():
            return
        use_one_thread()
        trainer = Trainer(order_config(self._config, order, attempt))
        origin = None if start is None else start_from(trainer, start)
        values = trainer.config.model_dump(mode="json") | {"start": origin}
        folder = RunFolder.create(path, values, KIND)
        with folder.lock(), folder.journal(self._report) as journal:
            save(trainer, folder, journal)

    def counters(self, name: str) -> Counters:
        """Updates and episodes that a policy has had so far; zero if there is no such policy."""
        checkpoint, _ = load_latest(self.path(name))
        if checkpoint is None:
            return Counters()
        done = counters_of(checkpoint)
        return Counters(done.updates, done.episodes, done.gate_episodes)

    def task(self, choice: Choice, seed: int) -> VisitTask:
        """The visit that a choice asks for, from where its policy is."""
        folder = RunFolder.open(self.path(choice.policy), kind=KIND)
        with folder.lock():
            trainer, _ = reopen(folder, self._report)
        attempt = choice.visit if self._config.begins_anew else 1
        is_start_known = choice.visit > 1 or _start_name(folder) == choice.start_name
        is_own = trainer.config == order_config(self._config, choice.order, attempt)
        if not (is_own and is_start_known):
            raise CheckpointError(
                f"{folder.path}: not the policy of {choice.order} that this search trained"
            )
        return VisitTask(
            config=trainer.config.model_dump(mode="json"),
            arrays=trainer.to_arrays(),
            progress=trainer.to_json(),
            updates_before=choice.before.updates,
            limit=choice.limit,
            evaluation_episodes=choice.evaluation_episodes,
            evaluation_seed=seed,
        )

    @contextmanager
    def keeping(self, name: str) -> Iterator[OnUpdate]:
        """What keeps each update of a visit in this process: journal, then checkpoint."""
        folder = RunFolder.open(self.path(name), kind=KIND)
        with folder.lock(), folder.journal(self._report) as journal:

            def keep(trainer: Trainer, record: dict[str, Any]) -> None:
                journal.append(record)
                save(trainer, folder, journal)

            yield keep

    def keep_result(self, name: str, result: VisitResult) -> None:
        """Keep all updates of a visit that ran elsewhere."""
        folder = RunFolder.open(self.path(name), kind=KIND)
        with folder.lock(), folder.journal(self._report) as journal:
            journal.truncate_after(result.progress["updates"] - len(result.records))
            for record in result.records:
                journal.append(record)
            updates = result.progress["updates"]
            save_state(folder, journal, updates, result.arrays, result.progress)

    def records(self, name: str, first: int, last: int) -> list[dict[str, Any]]:
        """Records of the updates from number `first` (from 0) up to `last` (exclusive)."""
        folder = RunFolder.open(self.path(name), kind=KIND)
        with folder.journal(self._report) as journal:
            return journal.read()[first:last]

    def base_records(self) -> list[dict[str, Any]]:
        """Records of the base policy's updates."""
        return RunFolder.open(self.base_path, kind=KIND).journal(self._report).read()

    def export_best(self, name: str) -> Path:
        """Copy a policy to where the best one is, for `evaluate`, `play` or `train --start`."""
        target = self._folder.resolve(BEST)
        _copy_run(self.path(name), target)
        return target


def _start_name(folder: RunFolder) -> str | None:
    """Name of the run that a policy began with."""
    origin = folder.config.get("start")
    return origin.get("run") if isinstance(origin, dict) else None


def order_config(config: SearchConfig, order: Order, attempt: int = 1) -> TrainConfig:
    """How the policy of one order is trained: the same whoever asks for it, and when."""
    names = ("order", order.index) if attempt == 1 else ("order", order.index, attempt)
    return TrainConfig(
        **_learner(config),
        seed=child_seed(config.seed, *names),
        order=str(order),
        episodes=config.order_episodes,
        checkpoint_every=1,
    )


def base_config(config: SearchConfig) -> TrainConfig:
    """How the base policy is trained."""
    values = _learner(config)
    values["ppo"] |= {
        "learning_rate": config.base.learning_rate,
        "final_learning_rate": config.base.final_learning_rate,
    }
    if config.base.order == "none":  # terms that need an order
        values["schedules"] |= {"soft_mask": False, "compliance_loss": 0.0}
    return TrainConfig(
        **values,
        seed=child_seed(config.seed, "base"),
        order=config.base.order,
        episodes=config.base.episodes,
        opening=0,  # the budget knows of no further episodes
        checkpoint_every=1,
    )


def _learner(config: SearchConfig) -> dict[str, Any]:
    names = set(TrainConfig.model_fields) & set(SearchConfig.model_fields) - {"seed"}
    return config.model_dump(mode="json", include=names)


def _copy_run(origin: Path, target: Path) -> None:
    """Copy a run whole, or not at all."""
    temporary = target.with_name(f".copy-{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(origin, temporary, ignore=shutil.ignore_patterns(".*", "tensorboard"))
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
