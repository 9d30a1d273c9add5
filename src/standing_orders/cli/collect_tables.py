"""How equivalence and the speed of collectors look on a terminal."""

from rich import box
from rich.table import Table

from standing_orders.cli.tables import percent, wide_console
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
