"""How equivalence and the speed of collectors look on a terminal."""

from collections.abc import Iterable

from rich import box
from rich.table import Table

from standing_orders.cli.tables import percent, wide_console
from standing_orders.evaluate.bench_collect import Cell
from standing_orders.evaluate.claims import Claim
from standing_orders.evaluate.equivalence import Equivalence


def print_equivalence(result: Equivalence) -> None:
    """One row for each red agent and horizon, then compliance in both simulators."""
    console = wide_console()
    table = Table(
        title=f"{result.policy}, seed {result.seed}: our simulator and CybORG",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("red", "steps", "n ours", "n CybORG", "ours", "CybORG", "difference"):
        table.add_column(name, justify="left" if name == "red" else "right")
    for name in ("90 % interval", "margin", "TOST p", "verdict", "KS", "KS p"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for cell in result.cells:
        table.add_row(
            cell.red, str(cell.horizon), str(cell.own_episodes), str(cell.other_episodes),
            f"{cell.own_mean:.2f}", f"{cell.other_mean:.2f}", f"{cell.difference:+.2f}",
            f"[{cell.low:+.2f}, {cell.high:+.2f}]".replace("[", r"\["), f"{cell.margin:.2f}",
            f"{cell.p_value:.4f}", cell.verdict, f"{cell.ks_distance:.3f}",
            f"{cell.ks_p_value:.3f}",
        )  # fmt: skip
    console.print(table)
    if result.obeying:
        console.print(_obeying_table(result))
    verdicts = [cell.verdict for cell in result.cells]
    console.print(f"{verdicts.count('equivalent')} of {len(verdicts)} cells equivalent")


def _obeying_table(result: Equivalence) -> Table:
    table = Table(title="compliance, %", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("red", "figure", "ours", "95 % interval", "CybORG", "95 % interval", "difference"):
        table.add_column(name, justify="left" if name in ("red", "figure") else "right")
    for one in result.obeying:
        cells = []
        for ratio in (one.own, one.other):
            cells += [percent(ratio.value), f"{percent(ratio.low)} to {percent(ratio.high)}"]
        table.add_row(one.red, one.figure, *cells, percent(one.difference))
    return table


def print_cells(cells: Iterable[Cell]) -> list[Cell]:
    """One line a cell as soon as it is measured; gives them all."""
    console = wide_console()
    head = f"{'simulator':9}  {'collector':10}  {'workers':>7}  {'episodes/s':>10}  {'start s':>7}"
    console.print(f"{head}  environment  inference  waiting  transport  memory MB")
    shown = []
    for cell in cells:
        shown.append(cell)
        start = f"{cell.simulator:9}  {cell.collector:10}  {cell.workers:7d}  "
        if cell.rate is None:
            console.print(f"{start}{'-':>10}  {cell.note}", markup=False)
            continue
        memory = "-" if cell.memory_mb is None else f"{cell.memory_mb:.0f}"
        console.print(
            f"{start}{cell.rate:10.2f}  {cell.start_seconds:7.1f}  {cell.environment:11.0%}  "
            f"{cell.inference:9.0%}  {cell.waiting:7.0%}  {cell.transport:9.0%}  {memory:>9}"
        )
    return shown


def print_claims(claims: Iterable[Claim]) -> None:
    """Claimed, measured, why."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("claim", "claimed", "measured here", "why"):
        table.add_column(name)
    for claim in claims:
        table.add_row(claim.what, claim.claimed, claim.measured, claim.why)
    wide_console().print(table)
