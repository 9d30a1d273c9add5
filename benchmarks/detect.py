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

from standing_orders.api.settings import preset
from standing_orders.detect.assess.baselines import Baselines
from standing_orders.detect.assess.probe import probe
from standing_orders.detect.assess.report import (
    assess,
    assess_foresight,
    assess_liars,
    assess_rules,
    main_figure,
)
from standing_orders.detect.compare import seeded, train_team
from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.costs import play
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.team import Judged, Team
from standing_orders.learn.ppo import use_one_thread
from standing_orders.stats import seed_interval

What = Literal["records", "sessions", "views", "gradient", "rule", "rules", "published"]
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


def measure_records(task: Task) -> None:
    """F1 of the team and of gradient boosting, with one liar of four, and the time in all."""
    for name in sets_of(task, "nsl-kdd", "unsw-nb15"):
        teams, boosting = [], []
        for index in task.indices:
            began = time.perf_counter()
            config = seeded(config_of(task, name), index)
            data = read(task, config)
            probe(data, config.seed)
            team, _ = train(config, data)
            seconds = time.perf_counter() - began
            judged = team.judge(data.test)
            found = assess(team, data, config, judged=judged)
            kept = ("f1", "f1_at_threshold", "pr_auc", "cost", "mean_cost", "prevalence")
            teams.append({key: found[key] for key in kept if key in found})
            teams[-1] |= liar_figures(team, data, judged) | {"seconds": seconds}
            if data.task == "records":
                found = assess(Baselines(data, config).fit("gradient boosting"), data, config)
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
            team, _ = train(config, data)
            found, baselines = assess(team, data, config), Baselines(data, config)
            deciders: dict[str, Any] = {
                "team": team,
                "best fixed prefix": baselines.fixed_prefix(),
                "fixed prefix, same events seen": baselines.fixed_prefix(
                    mean_events=found["mean_events_seen"]
                ),
                "fixed prefix that is told the end": baselines.fixed_prefix(is_told_end=True),
                "history boosting": baselines.fit("history boosting"),
            }
            for label, decider in deciders.items():
                figures = assess(decider, data, config)
                rows.setdefault(label, []).append({key: figures[key] for key in kept})
            for label in deciders:
                show(f"{name}, {label}", rows[label])
        for label in [label for label in rows if label != "team"]:
            pairs = zip(rows["team"], rows[label], strict=True)
            gaps = [{"mean_cost": one["mean_cost"] - two["mean_cost"]} for one, two in pairs]
            show(f"{name}, team minus {label}", gaps)


Variants = dict[str, dict[str, Any]]  # options by label
FigureOf = Callable[[Team, DataSet, Judged], dict[str, Any]]


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
                team, seconds = train(config, data)
                main, judged = main_figure(data.task), team.judge(data.test)
                found = assess(team, data, config, judged=judged)
                row = {main: found[main], "seconds": seconds}
                rows.append(row | figures(team, data, judged))
            show(f"{name}, {label}", rows)


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
            published = preset("detect-published")
            options = {name: getattr(published, name) for name in published.model_fields_set}
            measure_variants(task, {"detect-published": options}, ALL_SETS, rule_figures)


if __name__ == "__main__":
    main(tyro.cli(Task))
