"""`standing-orders runs`: list, show and diff run folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import tyro
from pydantic import Field

from standing_orders.cli.command import Reporting, Shown, tell
from standing_orders.errors import ConfigError
from standing_orders.tables import Cell, Column, Table

SortKey = Literal["path", "kind", "state", "bytes", "done"]


class Runs(Reporting):
    """List run folders: what each is, how far it is, and whether it can go on.

    Exit code 1 if one is damaged.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "runs",
        "runs experiments --kind search --sort bytes",
        "runs --state damaged --json",
        "runs show runs/one",
        "runs diff runs/one runs/two",
    )

    folders: tyro.conf.Positional[tuple[Path, ...]] = Field(
        (Path("runs"),), description="Where to look."
    )
    kind: Literal["train", "search", "detect", "compare", "published"] | None = Field(
        None, description="Only runs of this kind."
    )
    state: Literal["finished", "running", "resumable", "damaged"] | None = Field(
        None, description="Only runs in this state."
    )
    sort: SortKey = Field("path", description="What to sort by; sizes and counts largest first.")
    deep: bool = Field(False, description="Runs inside runs too, such as a search's policies.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.runs.listing import DAMAGED, find_runs, look_at

        for folder in self.folders:
            if not folder.is_dir():
                raise ConfigError(f"{folder}: no such folder")
        found = find_runs(self.folders, is_deep=self.deep, report=tell)
        infos = [look_at(path) for path in found]
        infos = [info for info in infos if self.kind in (None, info.kind)]
        infos = [info for info in infos if self.state in (None, info.state)]
        is_number = self.sort in ("bytes", "done")
        infos.sort(key=lambda info: getattr(info, self.sort) or 0 if is_number
                   else getattr(info, self.sort), reverse=is_number)  # fmt: skip
        self.report(Shown((_list_table(infos),), [info.to_json() for info in infos]))
        return 1 if any(info.state == DAMAGED for info in infos) else 0


def _list_table(infos: Sequence[Any]) -> Table:
    columns = (
        Column("run", is_text=True), Column("kind", is_text=True), Column("state", is_text=True),
        Column("done", ","), Column("MB", ".1f"), Column("red", is_text=True, drop=2),
        Column("order", is_text=True, drop=1), Column("seed", drop=3),
    )  # fmt: skip
    rows = tuple(
        (info.path, info.kind, info.state, info.done, info.bytes / 1e6,
         info.red, info.order, info.seed)
        for info in infos
    )  # fmt: skip
    problems = tuple(f"{i.path}: {i.problem}" for i in infos if i.problem)
    count = "1 run" if len(infos) == 1 else f"{len(infos)} runs"
    return Table(f"{count}; done: episodes or events", columns, rows, notes=problems)


class ShowRun(Reporting):
    """Show one run folder: what it is, its settings beside the nearest preset, how to repeat it."""

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "runs show runs/one",
        "runs show runs/search/best",
        "runs show runs/one --json",
    )

    run_folder: tyro.conf.Positional[Path] = Field(description="Run folder.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.report.reading import (
            flatten,
            read_run,
            repeat_command,
            setting_text,
            settings_of,
        )
        from standing_orders.runs.listing import look_at

        info, run = look_at(self.run_folder), read_run(self.run_folder)
        settings = settings_of(run)
        base = settings.preset or "defaults"
        data = info.to_json() | {
            "config": run.config,
            "versions": run.versions,
            "nearest_preset": settings.preset,
            "changed": {name: own for name, (own, _) in settings.changed.items()},
            "repeat": repeat_command(run, settings),
        }
        facts = _two_columns(
            str(self.run_folder), "what", "value",
            [(name, setting_text(value)) for name, value in info.to_json().items()],
            notes=(data["repeat"],),
        )  # fmt: skip
        rows = [
            (name, setting_text(value), setting_text(settings.changed[name][1]))
            if name in settings.changed
            else (name, setting_text(value), "")
            for name, value in flatten(run.config).items()
        ]
        columns = (Column("setting", is_text=True), Column("this run", is_text=True),
                   Column(f"{base}, where it differs", is_text=True))  # fmt: skip
        self.report(Shown((facts, Table("settings", columns, tuple(rows))), data))
        return 0


class DiffRuns(Reporting):
    """Show in which settings and versions two run folders differ. Exit code 1 if they do."""

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "runs diff runs/one runs/two",
        "runs diff runs/one runs/two --json",
        "runs diff runs/one runs/search/best --out changed.csv",
    )

    first: tyro.conf.Positional[Path] = Field(description="Run folder.")
    second: tyro.conf.Positional[Path] = Field(description="Another one.")

    def run(self) -> int:
        """Run the command."""
        from standing_orders.report.reading import flatten, read_run, setting_text

        runs = [read_run(path) for path in (self.first, self.second)]
        sides = [
            flatten({"kind": run.kind, **run.config, "versions": run.versions}) for run in runs
        ]
        names = [n for n in dict.fromkeys([*sides[0], *sides[1]]) if
                 sides[0].get(n) != sides[1].get(n)]  # fmt: skip
        rows: list[tuple[Cell, ...]] = [
            (name, *(setting_text(side.get(name)) for side in sides)) for name in names
        ]
        heads = ["setting", *(str(path) for path in (self.first, self.second))]
        columns = tuple(Column(head, is_text=True) for head in heads)
        data = {name: [side.get(name) for side in sides] for name in names}
        title = f"{len(names)} differences" if names else "no difference"
        self.report(Shown((Table(title, columns, tuple(rows)),), data))
        return 1 if names else 0


class VerifyRuns(Reporting):
    """Tell for every file of a run folder whether it is as it was written.

    With --repair a damaged run is cut back to its last good state. Exit code 1 if something is
    damaged and not repaired.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "runs verify runs/one",
        "runs verify runs/search --repair",
        "runs verify runs/one --json",
    )

    run_folder: tyro.conf.Positional[Path] = Field(description="Run folder.")
    repair: bool = Field(
        False, description="Cut back to the last good state, and say what was lost."
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.runs.verify import DAMAGED, repair_run, verify_run

        lost = repair_run(self.run_folder) if self.repair else []
        states = verify_run(self.run_folder)
        num_bad = sum(one.state == DAMAGED for one in states)
        columns = tuple(Column(name, is_text=True) for name in ("file", "state", "note"))
        rows = tuple((one.name, one.state, one.note) for one in states)
        title = f"{self.run_folder}: {len(states)} files, {num_bad} damaged"
        notes = tuple(f"lost: {line}" for line in lost)
        if self.repair and not lost:
            notes = ("nothing to repair",)
        data = {"files": [one.to_json() for one in states], "lost": lost}
        self.report(Shown((Table(title, columns, rows, notes=notes),), data))
        return 1 if num_bad else 0


def _two_columns(
    title: str, left: str, right: str, rows: Sequence[tuple[str, str]], notes: tuple[str, ...]
) -> Table:
    columns = (Column(left, is_text=True), Column(right, is_text=True))
    return Table(title, columns, tuple(rows), notes=notes)
