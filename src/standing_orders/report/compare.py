"""What a report shows of a comparison."""

from collections.abc import Sequence
from typing import Any

from standing_orders.compare.aggregate import Estimate
from standing_orders.compare.published import claimed_beside_measured
from standing_orders.compare.summary import FIGURES, Row, Summary, summarise
from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.reading import Run

ORACLE = "oracle@"  # a yardstick, never a score


def sections(run: Run) -> list[Block]:
    """All sections of one comparison."""
    found = summarise(run.records, seed=int(run.config.get("seed", 0)))
    return [_answer(found), _scores(found), _table(found)]


def overlay(runs: Sequence[Run]) -> Block:
    """Everybody of several comparisons in one chart, a colour for each."""
    bars = [
        _bar(row.name, row.iqm, paint=place, note=run.name) | {"name": f"{row.name}, {run.name}"}
        for place, run in enumerate(runs)
        for row in summarise(run.records, seed=int(run.config.get("seed", 0))).rows
    ]
    return doc.section(
        "Runs side by side",
        doc.intervals(
            "Interquartile mean", sorted(bars, key=lambda bar: -bar["mean"]),
            x="share of the sleeper's loss that is saved", form="percent",
            note="Each comparison by its own measure: 0 is a defender that sleeps in its game.",
        ),
        short="Side by side",
    )  # fmt: skip


def _answer(found: Summary) -> Block:
    blocks: list[Block | None] = [
        doc.warning(f"{name} failed and is left out: {why}") for name, why in found.failed.items()
    ]
    ranked = sorted(
        (row for row in found.rows if not row.name.startswith(ORACLE)),
        key=lambda row: -row.iqm.value,
    )
    if not ranked:
        return doc.section("The answer", *blocks, doc.lead("No run has been measured yet."))
    best = ranked[0]
    blocks.append(
        doc.lead(
            f"Of {len(ranked)} defenders {best.name} is best: interquartile mean "
            f"{_text(best.iqm)} of what a defender that sleeps loses is saved, over "
            f"{best.num_runs} runs against each of {', '.join(best.returns)}."
        )
    )
    alike = [row.name for row in ranked[1:] if _overlap(row.iqm, best.iqm)]
    if alike:
        blocks.append(doc.text(f"Intervals that overlap with it: {', '.join(alike)}."))
    return doc.section("The answer", *blocks, short="Answer")


def _overlap(one: Estimate, other: Estimate) -> bool:
    return (one.high if one.high is not None else one.value) >= (
        other.low if other.low is not None else other.value
    )


def _text(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return f"{100 * one.value:.1f} %"
    return f"{100 * one.value:.1f} % (95 %: {100 * one.low:.1f} to {100 * one.high:.1f} %)"


def _bar(name: str, one: Estimate, **more: Any) -> dict[str, Any]:
    return {"name": name, "key": name, "mean": one.value, "low": one.low, "high": one.high, **more}


def _scores(found: Summary) -> Block:
    ranked = sorted(found.rows, key=lambda row: -row.iqm.value)
    first = found.rows[0].name if found.rows else ""
    return doc.section(
        "Scores",
        doc.grid(
            doc.intervals(
                "Interquartile mean", [_bar(row.name, row.iqm) for row in ranked],
                x="share of the sleeper's loss that is saved", form="percent",
                note="Mean of the middle half of all runs and tasks; 95 % stratified bootstrap.",
            ),
            doc.intervals(
                f"Chance to beat {first}",
                [_bar(row.name, row.improvement) for row in ranked if row.improvement],
                x="of a run against one of the same task", form="percent", level=0.5,
            ),
            doc.lines(
                "Performance profile", [_profile(row, found.thresholds) for row in ranked],
                x="share saved", y="runs above it", form="percent", value_range=(0, 1),
                note="How large a share of all runs is above each score; higher is better.",
            ),
        ),
    )  # fmt: skip


def _profile(row: Row, thresholds: Sequence[float]) -> dict[str, Any]:
    return {"name": row.name, "key": row.name, "x": list(thresholds), "y": list(row.profile)}


def _table(found: Summary) -> Block:
    reds: Sequence[str] = list(dict.fromkeys(red for row in found.rows for red in row.returns))
    columns = [doc.column("defender")]
    for red in reds:
        columns += [doc.column(red, "two"), doc.column("95 %")]
    columns += [doc.column(name, "percent") for name in FIGURES]
    columns += [doc.column("judged by"), doc.column("episodes", "whole")]
    columns += [doc.column("seconds", "one")]
    rows = []
    for row in found.rows:
        cells: list[Any] = [row.name]
        for red in reds:
            one = row.returns.get(red)
            cells += ["", ""] if one is None else [one.value, f"{one.low:.2f} to {one.high:.2f}"]
        cells += [row.figures[name] for name in FIGURES]
        rows.append([*cells, row.judged_by, row.training_episodes, row.seconds])
    return doc.section(
        "Figures",
        doc.table(
            columns, rows, keys=[row.name for row in found.rows],
            note="Mean return of each task; episodes: those of training, all runs together. An "
            "oracle sees the true state: a yardstick, never a score.",
        ),
    )  # fmt: skip


def published_sections(run: Run) -> list[Block]:
    """All sections of a run of the published grid."""
    records = [record for record in run.records if record["event"] == "published"]
    rows = claimed_beside_measured(records)
    failed = [
        doc.warning(f"{one['setting']}, {one['order']}: {one['error']}")
        for one in records
        if "error" in one
    ]
    if not rows:
        return [doc.section("The answer", *failed, doc.lead("Nothing has been trained yet."))]
    return [_claims(rows, failed), _grid(rows)]


def _claims(rows: Sequence[dict[str, Any]], failed: Sequence[Block]) -> Block:
    claimed = [row for row in rows if row["claimed share"] is not None and row["orders"]]
    met = [row for row in claimed if row["share that passes"] >= row["claimed share"]]
    orders = max(row["orders"] for row in rows)
    said = (
        f"Of {len(claimed)} published claims about the share of orders that reach 95 % compliance, "
        f"{len(met)} are met on fresh episodes, with up to {orders} orders for each setting."
    )
    bars = []
    for row in rows:
        if row["claimed share"] is not None:
            bars.append({"name": f"{row['setting']}: claimed", "mean": row["claimed share"],
                         "tone": "amber"})  # fmt: skip
        bars.append({"name": row["setting"], "mean": row["share that passes"],
                     "note": f"{row['orders']} orders"})  # fmt: skip
    return doc.section(
        "The answer",
        *failed,
        doc.lead(said),
        doc.intervals(
            "Share of orders that pass the gate", bars, x="share of orders", form="percent",
            note="Blue: measured, on fresh episodes. Amber: what was claimed.", level=0.0,
        ),
        short="Answer",
    )  # fmt: skip


def _grid(rows: Sequence[dict[str, Any]]) -> Block:
    forms = {"setting": None, "orders": "whole", "budget": "whole",
             "claimed episodes": "whole", "median episodes of those": "whole"}  # fmt: skip
    return doc.section(
        "Claimed beside measured",
        doc.table(
            [doc.column(name, forms.get(name, "percent")) for name in rows[0]],
            [list(row.values()) for row in rows],
            note="A batch at 95 % is one training batch that touches the line, as the publication "
            "counted; to pass is to keep the order on fresh episodes. Budget: episodes that "
            "each order may take. Ours is the last.",
        ),
        short="Grid",
    )
