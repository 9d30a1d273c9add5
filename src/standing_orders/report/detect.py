"""What a report shows of a detection run."""

from collections.abc import Mapping, Sequence
from typing import Any

from standing_orders.detect.metrics import collapse_of
from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import Record, Run, curve

_TEAM = {"f1": "F1", "recall": "recall", "accuracy": "accuracy", "false_alarm_rate": "false alarms"}
_RULES_SHOWN = 8
_FACTS = {
    "mean_cost": "Mean cost",
    "mean_reward": "Mean reward",
    "f1": "F1",
    "detection_rate": "Detection rate",
    "recall": "Recall",
    "mean_delay": "Mean delay, events",
    "false_alarm_rate": "False alarm rate",
    "false_alarms_per_1000": "False alarms per 1,000",
    "detection_at_1_percent_false_alarms": "Detection at 1 % false alarms",
    "pr_auc": "PR AUC",
    "pr_auc_event": "PR AUC, events",
    "unseen_detection": "Detection of unseen attacks",
    "prevalence": "Prevalence",
    "num_sessions": "Sessions",
}


def answer_section(runs: Sequence[Run], evaluations: Mapping[str, Record]) -> Block:
    """What the team is worth on the test part."""
    blocks: list[Block | None] = []
    for run in runs:
        evaluation = evaluations.get(run.name)
        blocks.append(doc.lead(_sentence(run, evaluation)))
        blocks.append(_collapse(run))
        if evaluation and len(runs) == 1:
            blocks.append(_facts(evaluation["figures"]))
    return doc.section("The answer", *blocks, short="Answer")


def _sentence(run: Run, evaluation: Record | None) -> str:
    if not run.records:
        return f"{run.name}: the team has not been trained yet."
    last = run.records[-1]
    trained = f"{run.name}: after {last['update']} updates on {last['total_events']:,} events"
    if evaluation is None:
        team = last["team"]
        return f"{trained} the team earned {team['reward']:.2f} in its last batch."
    figures = evaluation["figures"]
    main = evaluation["main_figure"]
    interval = figures.get("interval") or {}
    spread = (
        f" (95 %: {interval['low']:.3f} to {interval['high']:.3f}, n = {interval['num']})"
        if {"low", "high", "num"} <= set(interval)
        else ""
    )
    return f"{trained}, {main.replace('_', ' ')} on the test part is {figures[main]:.3f}{spread}."


def _collapse(run: Run) -> Block | None:
    """A warning where the team hardly ever does anything else."""
    last = run.records[-1] if run.records else {}
    said = collapse_of(last["actions"], last["team"]["recall"]) if "actions" in last else None
    if said is None:
        return None
    return doc.warning(
        f"{run.name}: {said}. A team that always does the same earns its reward from the mix of "
        "events, not from telling them apart."
    )


def _facts(figures: Record) -> Block:
    shown = [
        (text, figures[name], None)
        for name, text in _FACTS.items()
        if isinstance(figures.get(name), int | float)
    ]
    return doc.facts(*shown)


def training_section(runs: Sequence[Run]) -> Block:
    """Figures of each batch while the team learned."""
    kept = [run for run in runs if run.records]
    many = len(kept) > 1

    def curves(group: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            curve(
                run.records,
                "total_events",
                f"{group}.{key}",
                name=f"{run.name}: {name}" if many else name,
            )
            for run in kept
            for key, name in names.items()
        ]

    if not kept:
        return doc.section("Training")
    return doc.section(
        "Training",
        doc.grid(
            doc.lines(
                "Reward of the team", curves("team", {"reward": "team"}), x="events", y="reward"
            ),
            doc.lines(
                "Detection", curves("team", {"f1": "F1"} if many else _TEAM), x="events",
                y="share", form="percent", value_range=(0, 1),
            ),
            _action_chart(kept[0]) if not many else None,
            doc.lines("Entropy", curves("loss", {"entropy": "entropy"}), x="events", y="nats",
                      include=[0.0]),
        ),
    )  # fmt: skip


def _action_chart(run: Run) -> Block | None:
    """How often each action was taken, where the journal says so."""
    shares = run.records[-1].get("actions")
    if not isinstance(shares, dict):
        return None
    lines = [curve(run.records, "total_events", f"actions.{name}", name=name) for name in shares]
    return doc.lines("Actions taken", lines, x="events", y="share", form="percent",
                     value_range=(0, 1))  # fmt: skip


def rules_section(runs: Sequence[Run]) -> Block:
    """Margins, violations and prices of the rules over training."""
    run = runs[0]
    names = list(run.records[-1].get("rules", {}))[:_RULES_SHOWN] if run.records else []
    if not names:
        return doc.section("Rules")

    def curves(figure: str) -> list[dict[str, Any]]:
        return [
            curve(run.records, "total_events", f"rules.{name}.{figure}", name=name)
            for name in names
        ]

    prices = _price_curves(run.records)
    return doc.section(
        "Rules",
        doc.grid(
            doc.lines(
                "Mean margin", curves("margin_mean"), x="events", y="margin",
                levels=[("kept above", 0.0)], include=[0.0],
            ),
            doc.lines(
                "Broken", curves("violation_rate"), x="events", y="share of obligations",
                form="percent", value_range=(0, 1),
            ),
            doc.lines("Prices", prices, x="events", y="price of a violation") if prices else None,
        ),
    )  # fmt: skip


def _price_curves(records: Sequence[Record]) -> list[dict[str, Any]]:
    names = dict.fromkeys(one["rule"] for record in records for one in record.get("prices", []))
    flat = [
        {
            "total_events": record["total_events"],
            "prices": {one["rule"]: one.get("next_price") for one in record.get("prices", [])},
        }
        for record in records
    ]
    return [
        {
            "name": name,
            "x": [r["total_events"] for r in flat if r["prices"].get(name) is not None],
            "y": [r["prices"][name] for r in flat if r["prices"].get(name) is not None],
        }
        for name in names
    ]


def test_section(evaluation: Record | None) -> Block:
    """Decisions, delay, attacks and liars on the test part."""
    if evaluation is None:
        return doc.section("Test part")
    figures = evaluation["figures"]
    return doc.section(
        "Test part",
        doc.grid(
            _confusion(figures), _precision_recall(figures), _delay(figures), _actions(figures),
            _attacks(figures),
        ),
        _tampering(evaluation.get("tampering") or [], evaluation["main_figure"]),
        _liars(evaluation.get("liars") or [], evaluation["main_figure"], evaluation["faults"]),
        short="Test",
    )  # fmt: skip


def _confusion(figures: Record) -> Block | None:
    counts = figures.get("confusion")
    if counts is None and {"num_sessions", "prevalence", "detection_rate"} <= set(figures):
        threats = round(figures["num_sessions"] * figures["prevalence"])
        benign = figures["num_sessions"] - threats
        found = round(threats * figures["detection_rate"])
        false = round(benign * figures["false_alarm_rate"])
        counts = {
            "true_positives": found, "false_negatives": threats - found,
            "false_positives": false, "true_negatives": benign - false,
        }  # fmt: skip
    if counts is None:
        return None
    right = counts["true_positives"] + counts["true_negatives"]
    total = right + counts["false_positives"] + counts["false_negatives"]
    return doc.heat(
        "Decisions",
        ["threat", "benign"],
        ["flagged", "allowed"],
        [
            [counts["true_positives"], counts["false_negatives"]],
            [counts["false_positives"], counts["true_negatives"]],
        ],
        form="whole",
        note=f"Accuracy {100 * right / max(total, 1):.1f} %; what allowing everything would have: "
        f"{100 * (counts['false_positives'] + counts['true_negatives']) / max(total, 1):.1f} %.",
    )


def _precision_recall(figures: Record) -> Block | None:
    points = figures.get("pr_curve")
    if not isinstance(points, dict):
        return None
    line = {"name": "team", "x": points["recall"], "y": points["precision"]}
    return doc.lines("Precision and recall", [line], x="recall", y="precision", value_range=(0, 1))


def _actions(figures: Record) -> Block | None:
    """How often each action is taken."""
    shares = figures.get("actions")
    if not isinstance(shares, dict):
        return None
    said = collapse_of(shares, figures.get("recall", figures.get("detection_rate")))
    rows = [{"name": name, "mean": share} for name, share in shares.items()]
    chart = doc.intervals("Actions taken", rows, x="share of events", form="percent",
                          note=f"Warning: {said}." if said else "")  # fmt: skip
    return chart | {"include": [0.0, 1.0]}


def _tampering(attacks: Sequence[Record], main: str) -> Block | None:
    """The main figure with each sensor compromised in turn."""
    if not attacks:
        return None
    return doc.heat(
        f"{main.replace('_', ' ')} with one sensor compromised",
        [f"{one['kind']}, {one['when']}, {one['attacker']}" for one in attacks],
        list(attacks[0]["by_sensor"]),
        [list(one["by_sensor"].values()) for one in attacks],
        form="two",
        note=f"With honest sensors: {attacks[0]['honest']:.3f}.",
    )


def _delay(figures: Record) -> Block | None:
    points = figures.get("delay_curve")
    if not isinstance(points, dict):
        return None
    line = {"name": "delay", "x": points["false_alarm_rate"], "y": points["mean_delay"]}
    return doc.lines(
        "Delay against false alarms", [line], x="false alarm rate", y="events until detection",
        include=[0.0], note="Each point is a threshold; down and to the left is better.",
    )  # fmt: skip


def _attacks(figures: Record) -> Block | None:
    attacks = figures.get("attacks") or []
    if not attacks:
        return None
    return doc.intervals(
        "Detected, by attack",
        [
            {
                "name": one["attack"] + (" (never trained on)" if one.get("is_unseen") else ""),
                "mean": one["recall"],
                "tone": "amber" if one.get("is_unseen") else "blue",
                "note": f"n = {one['count']}",
            }
            for one in attacks
        ],
        x="share detected",
        form="percent",
    ) | {"include": [0.0, 1.0]}


def _liars(liars: Sequence[Record], main: str, faults: int) -> Block | None:
    kinds = list(dict.fromkeys(one["kind"] for one in liars))
    counts = sorted({one["num_liars"] for one in liars})
    if not kinds:
        return None
    found = {(one["kind"], one["num_liars"]): one["figures"].get(main) for one in liars}

    def worst(kind: str, count: int) -> float | None:
        value = found.get((kind, count))
        return value.get("worst") if isinstance(value, dict) else value

    return doc.heat(
        f"Worst {main.replace('_', ' ')} under liars",
        kinds,
        [f"{count} lie" for count in counts],
        [[worst(kind, count) for count in counts] for kind in kinds],
        form="two",
        note=f"Rows: what the lying agents do. The vote is made to bear {faults}.",
    )
