"""The published grid, run again: what was claimed beside what is measured.

Eight proposals for reaching 95 % compliance were published, with four settings of which figures
were given. Each is trained here for some orders, and judged on fresh episodes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from standing_orders.compare.config import CompareConfig
from standing_orders.compare.contestants import PRESETS
from standing_orders.config import TrainConfig, read_toml
from standing_orders.errors import NumericsError
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder, is_run
from standing_orders.seeding import child_seed

KIND = "published"
Changes = dict[str, dict[str, Any]]
# The proposals in the order in which they were published.
PROPOSALS: dict[str, Changes] = {
    "progressive bonus": {"alignment": {"shape": "progressive"}},
    "lambda in stages": {"schedules": {"weight_stages": True}},
    "smaller updates": {"schedules": {"small_updates": True}},
    "soft mask": {"schedules": {"soft_mask": True}},
    "more epochs": {"schedules": {"more_epochs": True}},
    "compliance loss": {"schedules": {"compliance_loss": 1.0}},
    "learning-rate steps": {"schedules": {"learning_rate_steps": True}},
    "plateau stop": {"schedules": {"plateau_stop": True}},
}


@dataclass(frozen=True)
class Claim:
    """What was said of a setting; None where nothing was."""

    share: float | None = None  # of the orders that reach 95 %
    episodes: int | None = None  # until 95 %
    plateau: float | None = None  # compliance that is reached


@dataclass(frozen=True)
class Setting:
    """One row of the grid."""

    name: str
    changes: Changes
    claim: Claim = Claim()
    preset: str = KIND  # what it changes

    @property
    def is_claimed(self) -> bool:
        """Whether figures were published for it."""
        return self.claim != Claim()


def merged(*parts: Changes) -> Changes:
    """Changes together; a later one wins.

    Example:
        >>> merged({"a": {"x": 1}}, {"a": {"y": 2}})
        {'a': {'x': 1, 'y': 2}}
    """
    whole: Changes = {}
    for part in parts:
        for group, values in part.items():
            whole[group] = whole.get(group, {}) | values
    return whole


def grid() -> list[Setting]:
    """Every setting of the grid, ours last."""
    progressive, epochs = PROPOSALS["progressive bonus"], PROPOSALS["more epochs"]

    def weight(value: float) -> Changes:
        return {"alignment": {"weight": value}}

    rows = [
        Setting("lambda 30, linear", weight(30), Claim(0.20, 4_000, 0.80)),
        Setting("lambda 100, linear", weight(100), Claim(0.50, 3_000, 0.85)),
        Setting(
            "lambda 50, progressive", merged(weight(50), progressive), Claim(0.70, 2_500, 0.90)
        ),
        Setting(
            "lambda 100, progressive, more epochs",
            merged(weight(100), progressive, epochs),
            Claim(0.85, 2_000, 0.92),
        ),
        Setting("proposals 1 to 3", merged(*list(PROPOSALS.values())[:3])),
        Setting("all eight", merged(*PROPOSALS.values())),
    ]
    rows += [Setting(f"only {name}", changes) for name, changes in PROPOSALS.items()]
    rows += [
        Setting(f"all but {name}", merged(*(c for other, c in PROPOSALS.items() if other != name)))
        for name in PROPOSALS
    ]
    return [*rows, Setting("ours: preset fast-order", {}, preset="fast-order")]


@dataclass(frozen=True)
class Outcome:
    """What came of one setting and one order."""

    setting: str
    order: str
    reached: int | None  # episodes until a batch had 95 % strict compliance; None: never
    passed: bool  # the gate, on fresh episodes, at any time
    best: float  # highest strict compliance of a batch
    last: float  # of the last batch
    episodes: int  # played
    budget: int  # that could have been played

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def train_setting(setting: Setting, order: Order, *, episodes: int, seed: int) -> Outcome:
    """Train one order with one setting, in memory, and look at it as the publication did.

    Args:
        setting: a preset, and what differs from it.
        order: to follow.
        episodes: budget.
        seed: root seed.

    Raises:
        NumericsError: a number is not finite.
    """
    from standing_orders.learn.trainer import Trainer  # noqa: PLC0415

    values = read_toml(PRESETS / f"{setting.preset}.toml")
    parts = {name: part for name, part in values.items() if isinstance(part, dict)}
    values |= merged(parts, setting.changes)
    values |= {"order": str(order), "episodes": episodes, "stop_at_gate": True}
    config = TrainConfig(**(values | {"seed": child_seed(seed, "published", order.index)}))
    trainer = Trainer(config)
    shares: list[tuple[int, float]] = []
    while not trainer.is_done:
        record = trainer.step()
        shares.append((record["total_episodes"], record["compliance"]["strict"] or 0.0))
    threshold = config.gate.threshold
    return Outcome(
        setting=setting.name,
        order=str(order),
        reached=next((done for done, share in shares if share >= threshold), None),
        passed=trainer.progress.stopped == "gate passed",
        best=max(share for _, share in shares),
        last=shares[-1][1],
        episodes=shares[-1][0],
        budget=episodes,
    )


def run_grid(
    orders: Sequence[Order],
    *,
    episodes: int,
    seed: int,
    settings: Sequence[Setting] | None = None,
    done: Sequence[dict[str, Any]] = (),
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Outcomes of all settings and orders that are not done yet, one after the other.

    Args:
        orders: which orders each setting is trained for.
        episodes: budget of each.
        seed: root seed.
        settings: which of the grid; all of them if left out.
        done: outcomes that are there already.
        report: told what is going on.
    """
    known = {(one["setting"], one["order"]) for one in done}
    for order in orders:  # a grid that is cut short has every setting of some orders
        for setting in grid() if settings is None else settings:
            if (setting.name, str(order)) in known:
                continue
            report(f"{setting.name}: {order.typed}")
            try:
                outcome = train_setting(setting, order, episodes=episodes, seed=seed).to_json()
            except NumericsError as err:
                outcome = {"setting": setting.name, "order": str(order), "error": str(err)}
            yield {"event": KIND, **outcome}


def published(
    config: CompareConfig,
    path: Path,
    *,
    settings: Sequence[Setting] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Run the grid in a new folder, or go on with the one that is there, whose own config holds.

    Args:
        config: its orders, training episodes and seed count.
        path: the run folder.
        settings: which of the grid; all of them if left out.
        report: told what is going on.

    Returns:
        All outcomes.

    Raises:
        ConfigError: an order is none.
        CheckpointError: the folder cannot be used.
    """
    is_there = is_run(path)
    if is_there:
        folder = RunFolder.open(path, kind=KIND)
        config = CompareConfig(**folder.config)
    orders = [Order.parse(name) for name in config.orders]
    if not is_there:
        folder = RunFolder.create(path, config.model_dump(mode="json"), KIND)
    with folder.lock(), folder.journal(report) as journal:
        written = journal.read()
        records = [record for record in written if record["event"] == KIND]
        for record in run_grid(
            orders, episodes=config.train_episodes, seed=config.seed, settings=settings,
            done=records, report=report,
        ):  # fmt: skip
            journal.append(record)
            records.append(record)
        if not any(record["event"] == "final" for record in written):
            journal.append({"event": "final"})
    return records


def outcomes(path: Path) -> list[dict[str, Any]]:
    """What a grid has come to so far; nothing if there is none.

    Raises:
        CheckpointError: the folder holds something else.
    """
    if not is_run(path):
        return []
    records = RunFolder.open(path, kind=KIND).journal().read()
    return [record for record in records if record["event"] == KIND]


def claimed_beside_measured(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each setting: the claim, and what was measured."""
    claims = {setting.name: setting.claim for setting in grid()}
    found = {record["setting"] for record in records}
    rows = []
    for name in filter(found.__contains__, claims):
        own = [r for r in records if r["setting"] == name and "error" not in r]
        claim = claims[name]
        reached = [one["reached"] for one in own if one["reached"] is not None]
        rows.append(
            {
                "setting": name,
                "orders": len(own),
                "budget": max((one.get("budget", 0) for one in own), default=0) or None,
                "claimed share": claim.share,
                "share that passes": _mean([float(one["passed"]) for one in own]),
                "share with a batch at 95 %": _mean(
                    [float(one["reached"] is not None) for one in own]
                ),
                "claimed episodes": claim.episodes,
                "median episodes of those": round(median(reached)) if reached else None,
                "claimed plateau": claim.plateau,
                "mean of the last batch": _mean([one["last"] for one in own]),
                "best batch": max((one["best"] for one in own), default=None),
            }
        )
    return rows


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
