"""Every figure about detection. The data sets are read from --data, never shipped.

python benchmarks/detect.py records      # NSL-KDD and UNSW-NB15: team, boosting, a sensor that lies
python benchmarks/detect.py sessions     # synthetic and ADFA-LD: team against fixed prefixes
python benchmarks/detect.py short        # the same where most sessions are short
python benchmarks/detect.py views        # what an agent sees, and training with sensors that lie
python benchmarks/detect.py gradient     # sampled PPO against the expected gradient
python benchmarks/detect.py rule         # a rule that is broken without a price and kept with one
python benchmarks/detect.py rules        # all default rules, watched and priced; what is foreseen
python benchmarks/detect.py published    # the preset of that name

With --parts FOLDER the figures of each split are kept there, and a split that is there already is
not measured again: so a long measurement can be made in pieces (--only, --first-seed, --seeds).
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import results
from standing_orders.api.settings import preset
from standing_orders.detect.assess.baselines import Baselines
from standing_orders.detect.assess.figures import assess, main_figure
from standing_orders.detect.assess.liars import assess_liars
from standing_orders.detect.assess.report import assess_foresight, assess_rules
from standing_orders.detect.assess.tampering import HIDING, assess_tampering
from standing_orders.detect.compare import seeded, train_team
from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.costs import play
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.team import Judged, Team
from standing_orders.errors import DataError
from standing_orders.learn.ppo import use_one_thread
from standing_orders.stats import seed_interval

What = Literal["records", "sessions", "short", "views", "gradient", "rule", "rules", "published"]
TITLES = {
    "nsl-kdd": "NSL-KDD",
    "nsl-kdd-official": "NSL-KDD, official split",
    "unsw-nb15": "UNSW-NB15",
    "synthetic": "synthetic sessions",
    "short": "synthetic, short sessions",
    "adfa-ld": "ADFA-LD",
}
Figures = dict[str, Any]  # by name
Rows = list[Figures]  # one for each seed
STOPPED = "stopped: always (threat -> restrictive)"
# Data sets that are not shipped, and where they are to be had.
SOURCES = {
    "nsl-kdd": "NSL-KDD, www.unb.ca/cic/datasets/nsl.html",
    "unsw-nb15": "UNSW-NB15, research.unsw.edu.au/projects/unsw-nb15-dataset",
    "adfa-ld": "ADFA-LD, research.unsw.edu.au/projects/adfa-ids-datasets",
}


@dataclass(frozen=True)
class Task:
    """What to measure, on which data."""

    what: tyro.conf.Positional[What]
    data: Path = Path("../shared/data")  # folders nsl-kdd, unsw-nb15 and adfa-ld
    seeds: int = 5
    first_seed: int = 1  # split 0 is the one that the settings were chosen on
    only: tuple[str, ...] = ()  # data sets: nsl-kdd, unsw-nb15, synthetic, adfa-ld; all
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # a few updates, synthetic only
    parts: Path | None = None  # folder that keeps the figures of each split; see above
    results: Path = results.FOLDER  # where the result goes

    @property
    def indices(self) -> range:
        """Seeds of splits, networks and draws."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def split(self, *names: object, measure: Callable[[], Figures]) -> Figures:
        """Figures of one split, measured unless they are kept already."""
        if self.parts is None:
            return measure()
        path = self.parts / f"{'-'.join([self.what, *map(str, names)]).replace(' ', '_')}.json"
        if not path.exists():
            self.parts.mkdir(parents=True, exist_ok=True)
            text = json.dumps(measure(), default=float)
            path.write_text(text, encoding="utf-8")
        found: Figures = json.loads(path.read_text(encoding="utf-8"))
        return found

    def table(self, name: str, note: str = "") -> AbstractContextManager[Callable[..., None]]:
        """The table of a measurement, with the command that makes it and what it rests on."""
        words = ["python benchmarks/detect.py", self.what]
        words += ["--only", *self.only] if self.only else []
        words += ["--seeds", str(self.seeds)] if self.seeds != Task.seeds else []
        source = (
            f"{' '.join(words)}; {self.seeds} splits and seeds ({self.indices[0]} to "
            f"{self.indices[-1]}), test part; halves of 95 % intervals{note}"
        )
        folder = None if self.quick else self.results
        return results.table(f"{name}.csv", source=source, folder=folder)


def config_of(task: Task, name: str, **options: Any) -> DetectConfig:
    """The default team on one data set."""
    files: dict[str, Any] = {"short": 0.6, "session_end": True} if name == "short" else {}
    if name == "nsl-kdd-official":
        train, test = (task.data / "nsl-kdd" / f"KDD{part}+.txt.gz" for part in ("Train", "Test"))
        files = {"data": (train,), "test_data": (test,), "format": "nsl-kdd"}
    elif name not in ("synthetic", "short"):
        files = {"data": (task.data / name,), "format": name}
    if name in ("nsl-kdd", "unsw-nb15"):
        files["prevalence"] = 0.089
    if task.quick:
        learn = options.get("learn", LearnConfig())
        options["learn"] = learn.model_copy(update={"iterations": 3, "steps": 500})
    return DetectConfig(**files, **options)


def read(task: Task, config: DetectConfig) -> DataSet:
    """The events of a config."""
    if task.quick:
        return make_sessions(config.data_seed, num_sessions=400)
    for path in config.data:
        if not path.exists():
            raise DataError(
                f"{path}: no such folder: it should hold {SOURCES[path.name]}: put it there, name "
                "the folder above it with --data, or leave it out with --only synthetic"
            )
    return load(config.data_config())


def sets_of(task: Task, *names: str) -> list[str]:
    """Data sets to measure on."""
    if task.quick:
        return ["synthetic"]
    return [name for name in names if not task.only or name in task.only]


def train(config: DetectConfig, data: DataSet) -> tuple[Team, float]:
    """A team, and the seconds it took."""
    began = time.perf_counter()
    return train_team(config, data), time.perf_counter() - began


def show(label: str, figures: list[dict[str, Any]]) -> None:
    """Mean and half of the 95 % interval over the seeds, figure by figure."""
    cells = []
    for name in figures[0]:
        values = [one[name] for one in figures]
        if any(value is None for value in values):
            continue
        found = seed_interval(values)
        half = "" if found.num == 1 else f" ± {found.high - found.mean:.4f}"
        cells.append(f"{name} {found.mean:.4f}{half}")
    print(f"{label} (n = {len(figures)} seeds): " + ", ".join(cells), flush=True)


def cells(
    column: str, rows: Rows, *, figure: str | None = None, digits: int = 3, scale: float = 1.0
) -> dict[str, str]:
    """Mean and half of the 95 % interval of a figure, by default of that name, as cells."""
    values = [row.get(figure or column) for row in rows]
    known = [scale * value for value in values if value is not None]
    if len(known) < len(values):
        return {column: "-", f"{column}_half": ""}
    found = seed_interval(known)
    half = "" if found.num == 1 else f"{found.high - found.mean:.{digits}f}"
    return {column: f"{found.mean:.{digits}f}", f"{column}_half": half}


RECORDS = ("nsl-kdd", "nsl-kdd-official", "unsw-nb15")
KEPT = ("f1", "pr_auc", "brier", "calibration_error")


def measure_records(task: Task) -> None:
    """The team and boosting, all sensors honest and with one that hides the attacks."""
    measured: dict[str, tuple[Rows, Rows]] = {}
    for name in sets_of(task, *RECORDS):
        teams, boosting = measured.setdefault(name, ([], []))
        for index in task.indices:
            found = task.split(name, index, measure=partial(_records_split, task, name, index))
            teams.append(found["team"])
            boosting.append(found["boosting"])
            show(f"{name}, team", teams)
            show(f"{name}, boosting", boosting)
    with task.table("detect-records") as add:
        for name, (teams, boosting) in measured.items():
            row: dict[str, Any] = {"data": TITLES[name], "splits": len(teams)}
            for figure in KEPT[:2]:
                row |= cells(f"{figure}_team", teams, figure=figure)
                row |= cells(f"{figure}_boosting", boosting, figure=figure)
            row |= cells("calibration_error", teams)
            row |= cells("lost_to_a_liar", teams, figure="lost_to_one_liar")
            add(**row, **cells("seconds", teams, digits=0))
    note = "; worst of four sensors that show benign values at attacks"
    with task.table("detect-sensors", note) as add:
        for name, pair in measured.items():
            for label, rows in zip(("team", "gradient boosting"), pair, strict=True):
                row = {"data": TITLES[name], "decider": label, "splits": len(rows)}
                for figure in ("honest", *SENSOR_FIGURES):
                    row |= cells(figure, rows)
                add(**row)


def _records_split(task: Task, name: str, index: int) -> Figures:
    config = seeded(config_of(task, name), index)
    data = read(task, config)
    team, seconds = train(config, data)
    liars = liar_figures(team, data, team.judge(data.test))
    found = sensor_figures(team, data, team.config) | liars | {"seconds": seconds}
    best = "gradient boosting" if data.task == "records" else "history boosting"
    rule = Baselines(data, team.config).fit(best)
    return {"team": found, "boosting": sensor_figures(rule, data, team.config)}


SENSOR_FIGURES = ("worst_random", "lost_random", "worst_knowing", "lost_knowing")


def sensor_figures(decider: Any, data: DataSet, config: DetectConfig) -> dict[str, Any]:
    """Clean figures, and the main one with the worst sensor compromised, by attacker."""
    found = assess(decider, data, config)
    row = {name: found[name] for name in KEPT if name in found}
    for one in assess_tampering(decider, data, config, attacks=HIDING):
        row["honest"] = one.honest
        row[f"worst_{one.attacker}"], row[f"lost_{one.attacker}"] = one.worst, one.lost
    return row


def measure_sessions(
    task: Task, names: Sequence[str] = ("synthetic", "adfa-ld"), table: str = "detect-sessions"
) -> None:
    """Cost of the team and of fixed prefixes, seed by seed on the same sessions."""
    measured: dict[str, dict[str, Rows]] = {}
    for name in sets_of(task, *names):
        rows = measured.setdefault(name, {})
        for index in task.indices:
            found = task.split(name, index, measure=partial(_sessions_split, task, name, index))
            for label, figures in found.items():
                rows.setdefault(label, []).append(figures)
                show(f"{name}, {label}", rows[label])
    note = "; gap: the team's cost minus this one's, on the same sessions"
    with task.table(table, note) as add:
        for name, rows in measured.items():
            for label, own in rows.items():
                pairs = zip(rows["team"], own, strict=True)
                gaps = [{"gap": one["mean_cost"] - two["mean_cost"]} for one, two in pairs]
                gap = cells("gap", gaps if label != "team" else [{}], digits=2)
                add(
                    data=TITLES[name],
                    decider=label,
                    splits=len(own),
                    **cells("cost", own, figure="mean_cost"),
                    events_seen=cells("seen", own, figure="mean_events_seen", digits=1)["seen"],
                    attacks_detected=cells("hits", own, figure="detection_rate", digits=2)["hits"],
                    false_alarms=cells("alarms", own, figure="false_alarm_rate")["alarms"],
                    **gap,
                )


def _sessions_split(task: Task, name: str, index: int) -> dict[str, Figures]:
    kept = ("mean_cost", "mean_events_seen", "detection_rate", "mean_delay", "false_alarm_rate")
    config = seeded(config_of(task, name), index)
    data = read(task, config)
    team, _ = train(config, data)
    found = assess(team, data, config)
    # A prefix that is told the end answers at the last event itself, an event earlier.
    plain = read(task, config.model_copy(update={"session_end": False}))
    baselines = Baselines(plain, config)
    deciders: dict[str, Any] = {
        "best fixed prefix": baselines.fixed_prefix(),
        "fixed prefix with as many events seen": baselines.fixed_prefix(
            mean_events=found["mean_events_seen"]
        ),
        "fixed prefix that is told where a session ends": baselines.fixed_prefix(is_told_end=True),
        "boosting on the session's history, at a threshold": baselines.fit("history boosting"),
    }
    told = {label: assess(decider, plain, config) for label, decider in deciders.items()}
    return {
        label: {key: figures[key] for key in kept}
        for label, figures in {"team": found, **told}.items()
    }


Variants = dict[str, dict[str, Any]]  # options by label
FigureOf = Callable[[Team, DataSet, Judged], dict[str, Any]]


def measure_variants(
    task: Task, variants: Variants, names: Sequence[str], figures: FigureOf
) -> dict[tuple[str, str], Rows]:
    """The main figure and others of teams that differ in something, by data set and label."""
    measured: dict[tuple[str, str], Rows] = {}
    for name in sets_of(task, *names):
        for label, options in variants.items():
            rows = measured.setdefault((name, label), [])
            for index in task.indices:
                config = seeded(config_of(task, name, **options), index)
                one = partial(_variant_split, task, config, figures)
                rows.append(task.split(name, label, index, measure=one))
            show(f"{name}, {label}", rows)
    return measured


def _variant_split(task: Task, config: DetectConfig, figures: FigureOf) -> Figures:
    data = read(task, config)
    team, seconds = train(config, data)
    main, judged = main_figure(data.task), team.judge(data.test)
    found = assess(team, data, config, judged=judged)
    return {main: found[main], "seconds": seconds} | figures(team, data, judged)


def liar_figures(team: Team, data: DataSet, judged: Judged) -> dict[str, Any]:
    """What one liar, of the worst kind and in the worst place, costs in the main figure."""
    rows = assess_liars(team, judged, data)
    honest = rows[0].main.mean  # of no liar
    lost = max(abs(honest - row.main.worst) for row in rows if row.num_liars == 1)
    return {"lost_to_one_liar": lost}


def rule_figures(team: Team, data: DataSet, judged: Judged) -> dict[str, Any]:
    """The reward, and of each rule how often it is broken and how well it is foreseen."""
    played = play(team.config.game_of(data.test, data.task), judged.actions)
    row = {"reward": float(played.rewards.sum() / data.test.num_sessions)}
    for rule, found in assess_rules(judged, data, team.config).items():
        row[f"{rule} broken"] = found["violation_rate"]
    for rule, share in assess_foresight(team, judged, data).items():
        row[f"{rule} foreseen"] = share
    return row


VIEWS: Variants = {
    "every column": {},
    "every column, honest training": {"learn": LearnConfig(tamper=0.0)},
    "all sensors but one": {"team": TeamConfig(views="overlap")},
    "one sensor": {"team": TeamConfig(views="split")},
    "one sensor, honest training": {
        "team": TeamConfig(views="split"), "learn": LearnConfig(tamper=0.0),
    },
}  # fmt: skip
GRADIENTS: Variants = {
    "expected gradient": {"learn": LearnConfig()},
    "sampled PPO": {"learn": LearnConfig(gradient="sampled", advantages="agent", entropy=0.15)},
}
MODES: dict[str, Any] = {"watched": "watch", "priced": "lagrange"}
ONE_RULE: Variants = {
    label: {"rules": RulesConfig(defaults=False, own=(STOPPED,), mode=mode)}
    for label, mode in MODES.items()
}
ALL_RULES: Variants = {label: {"rules": RulesConfig(mode=mode)} for label, mode in MODES.items()}
ALL_SETS = ("nsl-kdd", "unsw-nb15", "synthetic")
RULES = ("answered", "detection", "false_alarms", "blocking", "steadiness")


def measure_views(task: Task) -> None:
    """What one liar and one sensor take, by what an agent sees and how it was trained."""

    def figures(team: Team, data: DataSet, judged: Judged) -> dict[str, Any]:
        return liar_figures(team, data, judged) | sensor_figures(team, data, team.config)

    measured = measure_variants(task, VIEWS, ALL_SETS[:2], figures)
    with task.table("detect-views") as add:
        for (name, label), rows in measured.items():
            lost = cells("lost_to_a_liar", rows, figure="lost_to_one_liar")
            sensor: dict[str, str] = {}
            for figure in SENSOR_FIGURES[1::2]:
                sensor |= cells(figure, rows)
            add(data=TITLES[name], sees=label, **cells("f1", rows), **lost, **sensor)


def measure_gradients(task: Task) -> None:
    """The exact policy gradient and plain PPO."""
    measured = measure_variants(task, GRADIENTS, ALL_SETS[:2], liar_figures)
    with task.table("detect-gradient") as add:
        for (name, label), rows in measured.items():
            add(data=TITLES[name], gradient=label, **cells("f1", rows))


def measure_rule(task: Task) -> None:
    """How often one rule is broken, watched and priced, and what keeping it costs."""
    measured = measure_variants(task, ONE_RULE, ALL_SETS[:1], rule_figures)
    with task.table("detect-rule") as add:
        for (name, label), rows in measured.items():
            broken = cells("broken_percent", rows, figure="stopped broken", digits=1, scale=100)
            reward, f1 = cells("reward", rows), cells("f1", rows)
            add(data=TITLES[name], rule=label, **broken, **reward, **f1)


def measure_rules(task: Task) -> None:
    """How often each default rule is broken, and how well it is foreseen."""
    measured = measure_variants(task, ALL_RULES, ALL_SETS, rule_figures)
    with task.table("detect-rules", "; share of obligations broken in %") as add:
        for (name, label), rows in measured.items():
            main = "mean_cost" if name == "synthetic" else "f1"
            row = cells("main", rows, figure=main) | cells("reward", rows)
            for rule in RULES:
                row |= cells(rule, rows, figure=f"{rule} broken", digits=1, scale=100)
            add(data=TITLES[name], rules=label, **row)
    note = "; rules watched; 1: all of a margin's variance is foreseen"
    with task.table("detect-foresight", note) as add:
        for (name, label), rows in measured.items():
            if label == "watched":
                row = {"data": TITLES[name]}
                for rule in RULES:
                    row |= cells(rule, rows, figure=f"{rule} foreseen", digits=2)
                add(**row)


def measure_published(task: Task) -> None:
    """The preset of that name, in which all rules are priced."""
    published = preset("detect-published")
    options = {name: getattr(published, name) for name in published.model_fields_set}
    measured = measure_variants(task, {"detect-published": options}, ALL_SETS, rule_figures)
    with task.table("detect-published") as add:
        for (name, _), rows in measured.items():
            figure, title = (
                ("mean_cost", "cost of a session") if "f1" not in rows[0] else ("f1", "F1")
            )
            add(data=TITLES[name], figure=title, **cells("value", rows, figure=figure))


COMMANDS: dict[What, Callable[[Task], None]] = {
    "records": measure_records,
    "sessions": measure_sessions,
    "short": partial(measure_sessions, names=("short",), table="detect-short"),
    "views": measure_views,
    "gradient": measure_gradients,
    "rule": measure_rule,
    "rules": measure_rules,
    "published": measure_published,
}


def main(task: Task) -> None:
    """Measure, print and write."""
    use_one_thread()
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
