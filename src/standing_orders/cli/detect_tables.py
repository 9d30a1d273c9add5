"""How detection looks on a terminal: before, during and after training."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from standing_orders.cli.tables import wide_console
from standing_orders.detect.assess.report import LiarFigures
from standing_orders.detect.compare import COLUMNS, EQUAL_PREFIX, JUDGED_BY, Contest, Verdict
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.metrics import Figures
from standing_orders.stats import Interval

_WORDS = {
    "f1": "F1",
    "f1_at_threshold": "F1 thr",
    "pr_auc": "PR-AUC",
    "prevalence": "prevalence",
    "recall_at_1_percent_fpr": "TPR@1%",
    "fpr_at_95_percent_recall": "FPR@95%",
    "alarms_per_1000_benign": "alarms/1000",
    "cost": "cost",
    "cost_gap": "gap",
    "unseen_recall": "unseen",
    "mean_cost": "cost",
    "mean_events_seen": "events",
    "detection_rate": "detected",
    "unseen_detection": "unseen detected",
    "mean_delay": "delay",
    "false_alarm_rate": "false alarms",
    "false_alarms_per_1000": "alarms/1000",
    "early_stop_rate": "early",
    "pr_auc_event": "PR-AUC, events",
    "prevalence_event": "prevalence",
}
_SHOWN_ATTACKS = 12  # of those seen in training
_COLUMNS_AT_ONCE = 5  # of a contest: no figure is cut at 120 characters


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def print_data(data: DataSet) -> None:
    """What was read, and what was left out."""
    console = wide_console()
    sizes = ", ".join(
        f"{name} {part.num_events} events in {part.num_sessions} sessions"
        if data.task == "sessions"
        else f"{name} {part.num_events}"
        for name, part in (
            ("training", data.train), ("validation", data.validation), ("test", data.test),
        )
    )  # fmt: skip
    console.print(
        f"{data.name}: {data.task}; {sizes}; {data.train.num_features} inputs; "
        f"{100 * data.train.prevalence:.2f} % of the events are threats"
    )
    for name, reason in data.dropped.items():
        console.print(f"  no input: {name}: {reason}", markup=False)
    for note in data.notes:
        console.print(f"  note: {note}", markup=False)


def print_earnings(rows: Mapping[str, float], unit: str) -> None:
    """What simple policies earn, and the optimal thresholds."""
    console = wide_console()
    console.print(f"what would be earned on average a {unit}, and thresholds:")
    for name, value in rows.items():
        console.print(f"  {name:50} {value:8.3f}")


@contextmanager
def watch_team(folder: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A live view of a run; where there is no terminal, a line for every 25th update."""
    console = Console(stderr=True, highlight=False)
    began: list[float] = []

    def describe(record: dict[str, Any]) -> str:
        now = time.perf_counter()
        began[:] = began or [now, float(record["total_events"])]
        speed = (record["total_events"] - began[1]) / max(now - began[0], 1e-9)
        team, loss = record["team"], record["loss"]
        text = (
            f"update {record['update']}  {record['total_events']} events  {speed:.0f}/s  "
            f"reward {team['reward']:.3f}  F1 {_number(team['f1'])}  no quorum "
            f"{100 * team['no_quorum']:.2f} %\n"
            f"  policy {loss['policy_loss']:.4f}  value {loss['value_loss']:.4f}  entropy "
            f"{loss['entropy']:.3f}  KL {loss['approx_kl']:.4f}"
        )
        for name, rule in record["rules"].items():
            price = f"  price {rule['price']:.2f}" if "price" in rule else ""
            broken = rule["violation_rate"]
            share = "no obligation" if broken is None else f"{100 * broken:.1f} % broken"
            text += f"\n  {name}: {share}{price}  foreseen {_number(record['foresight'].get(name))}"
        return text

    with Live(console=console, transient=True, auto_refresh=False) as live:

        def on_update(record: dict[str, Any]) -> None:
            if console.is_terminal:
                live.update(f"{folder}\n{describe(record)}", refresh=True)
            elif record["update"] % 25 == 1 or record["stopped"]:
                console.print(describe(record).splitlines()[0])

        yield on_update


@contextmanager
def watch_steps() -> Iterator[Callable[[str], None]]:
    """What is being worked on, on standard error; a line for each if that is not a terminal."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield console.print
        return
    with console.status("") as status:
        yield status.update


def print_figures(title: str, figures: Figures) -> None:
    """Every figure of one team, one a line."""
    table = _table(title, ("figure", "value"))
    for name, value in figures.items():
        if isinstance(value, int | float) or value is None:
            table.add_row(_words(name), _number(value))
    console = wide_console()
    console.print(table)
    if figures.get("interval"):
        found = figures["interval"]
        console.print(
            f"95 % interval of the main figure over resampled sessions: {found['low']:.4f} to "
            f"{found['high']:.4f}"
        )
    if figures.get("attacks"):
        _print_attacks(figures["attacks"], "events" if "recall" in figures else "sessions")


def _print_attacks(attacks: Sequence[Figures], unit: str) -> None:
    """Attacks unseen in training, all of them, and the most frequent others."""
    known = [one for one in attacks if not one["is_unseen"]]
    left_out = known[_SHOWN_ATTACKS:]
    share = "recall" if unit == "events" else "detection rate"
    table = _table(f"{share} by attack", ("attack", unit, share, "in training"))
    for one in attacks:
        if one not in left_out:
            mark = "unseen" if one["is_unseen"] else ""
            table.add_row(one["attack"], str(one["count"]), _number(one["recall"]), mark)
    console = wide_console()
    console.print(table)
    if left_out:
        console.print(f"... and {len(left_out)} more")


def print_rules(rules: Figures, foresight: Figures, shielded: Figures | None) -> None:
    """What the rules say about decisions."""
    names = ("rule", "obligations", "broken", "rate", "margin mean", "margin min", "foreseen")
    table = _table("rules on the test part", names)
    for name, found in rules.items():
        table.add_row(
            name, str(found["obligations"]), str(found["violations"]),
            _number(found["violation_rate"]), _number(found["margin_mean"]),
            _number(found["margin_min"]), _number(foresight.get(name)),
        )  # fmt: skip
    console = wide_console()
    console.print(table)
    console.print("foreseen: share of the margins' variance that the constraint heads explain")
    if shielded is not None:
        console.print(f"shield: {shielded['replaced']} of {shielded['decisions']} replaced")


def print_liars(rows: Sequence[LiarFigures], faults: int) -> None:
    """Each figure of the vote by kind and number of liars."""
    counts = sorted({row.num_liars for row in rows})
    for name in rows[0].figures:
        title = f"{_words(name)} by number of liars, mean (worst choice of who lies)"
        table = _table(f"{title}; faulty agents tolerated: {faults}", ("liar", *map(str, counts)))
        for kind in dict.fromkeys(row.kind for row in rows):
            own = [row.figures[name] for row in rows if row.kind == kind]
            table.add_row(kind, *(f"{_number(one.mean)} ({_number(one.worst)})" for one in own))
        wide_console().print(table)


def print_agreements(rows: Sequence[Figures]) -> None:
    """What an agreement without a trusted counter came to, by kind of liar."""
    table = _table("agreement by messages, as many liars as are tolerated", tuple(rows[0]))
    for row in rows:
        table.add_row(
            *(value if isinstance(value, str) else _number(value) for value in row.values())
        )
    wide_console().print(table)


def _show(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    if interval.low != interval.low:  # one seed has no interval
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} ± {interval.high - interval.mean:.2g}"


def print_contest(contest: Contest) -> None:
    """Everybody side by side, then what the team is worth beside the baselines."""
    columns = COLUMNS[contest.task]
    console = wide_console()
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        shown = columns[start : start + _COLUMNS_AT_ONCE]
        table = _table("" if start else _title(contest), ("", *(_WORDS[name] for name in shown)))
        for name in contest.figures:
            table.add_row(name, *(_show(contest.interval(name, column)) for column in shown))
        console.print(table)
    for name, seeds in contest.rules.items():
        console.print(f"rules broken, {name}: {_broken(seeds)}")
    if contest.unequal_events:
        prefix, team = contest.unequal_events
        console.print(
            f"note: `{EQUAL_PREFIX}` sees {prefix:.1f} events a session, the team {team:.1f}: no "
            "prefix comes nearer"
        )
    judged = [contest.verdicts(figure) for figure in JUDGED_BY[contest.task]]
    for found in filter(None, judged):
        console.print(_verdict_table(found))
    for found in filter(None, judged):
        console.print(_explain(found[0]), soft_wrap=True)


def _title(contest: Contest) -> str:
    num = contest.num_seeds
    seeds = f"mean over {num} seeds ± half of the 95 % interval" if num > 1 else "one seed"
    title = f"{contest.task}: test part, {seeds}"
    if not contest.is_trial:
        return title
    return (
        f"A TRIAL: teams of {contest.updates} updates have learned next to nothing, and their "
        f"figures mean nothing\n{title}"
    )


def _broken(found: Sequence[Figures]) -> str:
    rates = {rule: [one[rule]["violation_rate"] for one in found] for rule in found[0]}
    return ", ".join(
        f"{rule} {100 * sum(values) / len(values):.1f} %"
        for rule, values in rates.items()
        if None not in values
    )


def _verdict_table(found: Sequence[Verdict]) -> Table:
    title = f"{_WORDS[found[0].figure]}, team minus each baseline, the best of these first"
    table = _table(title, ("", "difference", "team"))
    for one in found:
        table.add_row(one.baseline, _show(one.difference), one.outcome)
    return table


def _explain(best: Verdict) -> str:
    words = {
        "better": "the team is better",
        "worse": "the team is WORSE",
        "no difference": f"no difference that {best.difference.num} seeds show",
        "one seed": "one seed shows nothing",
    }
    return (
        f"{_WORDS[best.figure]}: the best baseline is {best.baseline} with {best.mean:.4g}; team "
        f"minus it {_show(best.difference)}: {words[best.outcome]}"
    )
