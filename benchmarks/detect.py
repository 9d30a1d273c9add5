"""Every figure of the README about detection. The data sets are read from --data, never shipped.

python benchmarks/detect.py records      # NSL-KDD and UNSW-NB15: team, liars, time
python benchmarks/detect.py sessions     # synthetic and ADFA-LD: team against fixed prefixes
python benchmarks/detect.py views        # split views against all views
python benchmarks/detect.py gradient     # sampled PPO against the expected gradient
python benchmarks/detect.py rule         # a rule that is broken without a price and kept with one
python benchmarks/detect.py rules        # all default rules, watched and priced; what is foreseen
python benchmarks/detect.py published    # the preset of that name
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import standing_orders
from standing_orders.config import read_toml
from standing_orders.detect.assess.assess import (
    Team,
    assess,
    assess_foresight,
    assess_liars,
    assess_rules,
    main_figure,
    mean_reward,
)
from standing_orders.detect.assess.classifiers import fit_boosting
from standing_orders.detect.assess.contest import seeded, train_team
from standing_orders.detect.assess.probe import probe
from standing_orders.detect.assess.stopping import fit_fixed_prefix, fit_history_boosting
from standing_orders.detect.assess.uncertainty import seed_interval
from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.learn.run import use_one_thread

What = Literal["records", "sessions", "views", "gradient", "rule", "rules", "published"]
PRESETS = Path(standing_orders.__file__).parent / "presets"
STOPPED = "stopped: always (threat -> restrictive)"


@dataclass(frozen=True)
class Task:
    """What to measure, on which data."""

    what: tyro.conf.Positional[What]
    data: Path = Path("../shared/data")  # folders nsl-kdd, unsw-nb15 and adfa-ld
    seeds: int = 5
    first_seed: int = 1  # split 0 is the one that the settings were chosen on
    only: tuple[str, ...] = ()  # data sets: nsl-kdd, unsw-nb15, synthetic, adfa-ld; all
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # a few updates, synthetic only

    @property
    def indices(self) -> range:
        """Seeds of splits, networks and draws."""
        return range(self.first_seed, self.first_seed + self.seeds)


def config_of(task: Task, name: str, **options: Any) -> DetectConfig:
    """The default team on one data set."""
    files: dict[str, Any] = {}
    if name != "synthetic":
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
    return load(config.data_config())


def sets_of(task: Task, *names: str) -> list[str]:
    """Data sets to measure on."""
    if task.quick:
        return ["synthetic"]
    return [name for name in names if not task.only or name in task.only]


def train(config: DetectConfig, data: DataSet) -> tuple[Team, DetectConfig, float]:
    """A team, its settled config, and the seconds it took."""
    began = time.perf_counter()
    own = config.settled(data.task)
    team = train_team(own, data)
    return team, own, time.perf_counter() - began


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


def measure_records(task: Task) -> None:
    """F1 of the team and of gradient boosting, with one liar of four, and the time in all."""
    for name in sets_of(task, "nsl-kdd", "unsw-nb15"):
        teams, boosting = [], []
        for index in task.indices:
            began = time.perf_counter()
            config = seeded(config_of(task, name), index)
            data = read(task, config)
            probe(data, config.seed)
            team, own, _ = train(config, data)
            seconds = time.perf_counter() - began
            found = assess(team, data, own)
            key = "f1" if data.task == "records" else "mean_cost"
            liars = [row for row in assess_liars(team, data, own) if row.num_liars == 1]
            lost = [abs(found[key] - row.worst) for row in liars]
            kept = ("f1", "f1_at_threshold", "pr_auc", "cost", "mean_cost", "prevalence")
            teams.append({key: found[key] for key in kept if key in found})
            teams[-1] |= {"lost_to_the_worst_liar": max(lost), "seconds": seconds}
            if data.task == "records":
                rule = fit_boosting(data.train, data.validation, own.seed, table=own.costs.table())
                found = assess(rule, data, own)
                boosting.append({key: found[key] for key in kept if key in found})
            show(f"{name}, team", teams)
        if boosting:
            show(f"{name}, gradient boosting at the optimal threshold", boosting)


def measure_sessions(task: Task) -> None:
    """Cost of the team and of fixed prefixes, seed by seed on the same sessions."""
    kept = ("mean_cost", "mean_events_seen", "detection_rate", "mean_delay", "false_alarm_rate")
    for name in sets_of(task, "synthetic", "adfa-ld"):
        rows: dict[str, list[dict[str, Any]]] = {}
        for index in task.indices:
            config = seeded(config_of(task, name), index)
            data = read(task, config)
            team, own, _ = train(config, data)
            parts = (data.train, data.validation, own.seed)
            found = assess(team, data, own)
            costs = own.session_costs
            deciders: dict[str, Any] = {
                "team": team,
                "best fixed prefix": fit_fixed_prefix(*parts, costs=costs),
                "fixed prefix, same events seen": fit_fixed_prefix(
                    *parts, costs=costs, mean_events=found["mean_events_seen"]
                ),
                "fixed prefix that is told the end": fit_fixed_prefix(
                    *parts, costs=costs, is_told_end=True
                ),
                "history boosting": fit_history_boosting(*parts, costs=costs),
            }
            for label, decider in deciders.items():
                figures = assess(decider, data, own)
                rows.setdefault(label, []).append({key: figures[key] for key in kept})
            for label in deciders:
                show(f"{name}, {label}", rows[label])
        for label in [label for label in rows if label != "team"]:
            pairs = zip(rows["team"], rows[label], strict=True)
            gaps = [{"mean_cost": one["mean_cost"] - two["mean_cost"]} for one, two in pairs]
            show(f"{name}, team minus {label}", gaps)


Variants = dict[str, dict[str, Any]]  # options by label
FigureOf = Callable[[Team, DataSet, DetectConfig], dict[str, Any]]


def measure_variants(
    task: Task, variants: Variants, names: Sequence[str], figures: FigureOf
) -> None:
    """The main figure and others of teams that differ in something."""
    for name in sets_of(task, *names):
        for label, options in variants.items():
            rows = []
            for index in task.indices:
                config = seeded(config_of(task, name, **options), index)
                data = read(task, config)
                team, own, seconds = train(config, data)
                main = main_figure(data.task)
                row = {main: assess(team, data, own)[main], "seconds": seconds}
                rows.append(row | figures(team, data, own))
            show(f"{name}, {label}", rows)


def liar_figures(team: Team, data: DataSet, config: DetectConfig) -> dict[str, Any]:
    """What one liar costs in the main figure."""
    rows = assess_liars(team, data, config)
    honest = rows[0].mean  # of no liar
    lost = max(abs(honest - row.worst) for row in rows if row.num_liars == 1)
    return {"lost_to_one_liar": lost}


def rule_figures(team: Team, data: DataSet, config: DetectConfig) -> dict[str, Any]:
    """The reward, and of each rule how often it is broken and how well it is foreseen."""
    actions, scores = team.actions(data.test), team.scores(data.test)
    row = {"reward": mean_reward(actions, data.test, data, config)}
    for rule, found in assess_rules(actions, scores, data, config).items():
        row[f"{rule} broken"] = found["violation_rate"]
    for rule, share in assess_foresight(team, data, config).items():
        row[f"{rule} foreseen"] = share
    return row


VIEWS: Variants = {
    "all views": {"team": TeamConfig()},
    "split views": {"team": TeamConfig(views="split")},
}
GRADIENTS: Variants = {
    "expected gradient": {"learn": LearnConfig()},
    "sampled PPO": {"learn": LearnConfig(gradient="sampled", advantages="agent", entropy=0.15)},
}
MODES: dict[str, Any] = {"watched": "watch", "priced (lagrange)": "lagrange"}
ONE_RULE: Variants = {
    label: {"rules": RulesConfig(defaults=False, own=(STOPPED,), mode=mode)}
    for label, mode in MODES.items()
}
ALL_RULES: Variants = {label: {"rules": RulesConfig(mode=mode)} for label, mode in MODES.items()}
ALL_SETS = ("nsl-kdd", "unsw-nb15", "synthetic")


def main(task: Task) -> None:
    """Measure and print."""
    use_one_thread()
    match task.what:
        case "records":
            measure_records(task)
        case "sessions":
            measure_sessions(task)
        case "views":
            measure_variants(task, VIEWS, ALL_SETS[:2], liar_figures)
        case "gradient":
            measure_variants(task, GRADIENTS, ALL_SETS[:2], liar_figures)
        case "rule":
            measure_variants(task, ONE_RULE, ALL_SETS[:1], rule_figures)
        case "rules":
            measure_variants(task, ALL_RULES, ALL_SETS, rule_figures)
        case "published":
            values = read_toml(PRESETS / "detect-published.toml")
            published = DetectConfig(**values)
            options = {name: getattr(published, name) for name in values}
            measure_variants(task, {"detect-published": options}, ALL_SETS, rule_figures)


if __name__ == "__main__":
    main(tyro.cli(Task))
