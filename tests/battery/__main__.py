"""Run the battery: python -m tests.battery short | long, in parts and one by one if wished.

    python -m tests.battery short
    python -m tests.battery long --attack damage-train --seconds 500   # a part; the next goes on
    python -m tests.battery long --attack damage-train --case 17       # one case again

The summary of a long battery is kept in benchmarks/results/battery.csv, a row for each attack:
cases 0 to n - 1 have been played, so the next part begins with case n.
"""

import argparse
import csv
import logging
import os

os.environ["OMP_NUM_THREADS"] = "1"  # a child that was forked beside threads could wait for ever

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.battery.attacks import ATTACKS
from tests.battery.case import Attack, play_case

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "battery.csv"
SHORT_SECONDS = 55.0  # a short battery takes a minute with the imports
SOURCE = "python benchmarks/battery.py; the seed of a case is its number"


@dataclass(frozen=True)
class Row:
    """What came of an attack."""

    attack: str
    what: str
    wanted: int  # cases of the whole battery
    cases: int  # played
    faults: int
    seconds: float  # of the processor, children included


@contextmanager
def silent_log() -> Iterator[None]:
    """Cases provoke hundreds of warnings."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def run_attack(attack: Attack, first: int, last: int, *, seconds: float = float("inf")) -> Row:
    """Play cases, from the first up to the last (exclusive) or until the time is over.

    One case is played in any time. Each fault is printed with the number that repeats it.
    """
    began, before, done, num_faults = time.monotonic(), sum(os.times()[:4]), first, 0
    memory = Path("/dev/shm")  # thousands of writes that wait for a disk would take hours
    place_of_all = memory if os.access(memory, os.W_OK) else None
    with (
        silent_log(),
        tempfile.TemporaryDirectory(prefix="battery-", dir=place_of_all) as folder,
    ):
        (Path(folder) / "shared").mkdir()
        shared = attack.prepare(Path(folder) / "shared")
        while done < last and (done == first or time.monotonic() - began < seconds):
            place = Path(folder) / "place"
            place.mkdir()
            fault = play_case(attack, shared, done, place)
            shutil.rmtree(place)
            if fault is not None:
                num_faults += 1
                print(f"{attack.name} case {done}: {fault!a}", flush=True)
            done += 1
    taken = round(sum(os.times()[:4]) - before, 1)
    return Row(attack.name, attack.what, attack.long, done - first, num_faults, taken)


def read_rows(path: Path) -> dict[str, Row]:
    """The summary so far."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return {
        row["attack"]: Row(row["attack"], row["what"], int(row["wanted"]), int(row["cases"]),
                           int(row["faults"]), float(row["seconds"]))
        for row in csv.DictReader(lines)
    }  # fmt: skip


def write_rows(path: Path, rows: dict[str, Row]) -> None:
    """The summary, in the order of the table."""
    kept = [rows[attack.name] for attack in ATTACKS if attack.name in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {SOURCE}\n")
        writer = csv.DictWriter(file, list(asdict(kept[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, kept))


def _sum(before: Row | None, row: Row) -> Row:
    if before is None:
        return row
    return replace(
        row, cases=before.cases + row.cases, faults=before.faults + row.faults,
        seconds=round(before.seconds + row.seconds, 1),
    )  # fmt: skip


def main() -> int:
    """Run what the command line asks for; the exit code is 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.battery", description=__doc__)
    parser.add_argument("size", choices=("short", "long"))
    parser.add_argument("--attack", nargs="*", choices=[attack.name for attack in ATTACKS])
    parser.add_argument("--case", type=int, help="play this case alone")
    parser.add_argument("--seconds", type=float, help="by the clock, at most; short: a minute")
    parser.add_argument("--quick", action="store_true", help="one case of each; nothing is kept")
    parser.add_argument("--again", action="store_true", help="from case 0, whatever was played")
    wanted = parser.parse_args()
    chosen = [one for one in ATTACKS if not wanted.attack or one.name in wanted.attack]
    is_long = wanted.size == "long"
    deadline = time.monotonic() + (wanted.seconds or (float("inf") if is_long else SHORT_SECONDS))
    print(f"{'attack':14} {'cases':>7} {'faults':>7} {'seconds':>8}   seeds: the cases' numbers")
    num_faults = 0
    for number, attack in enumerate(chosen):
        before = read_rows(RESULTS).get(attack.name) if is_long and not wanted.again else None
        first, last = before.cases if before else 0, attack.long if is_long else attack.short
        if wanted.case is not None or wanted.quick:
            first = wanted.case or 0
            last = first + 1
        if first >= last:  # all of it has been played
            continue
        left = deadline - time.monotonic()
        share = left if is_long else left / (len(chosen) - number)
        row = run_attack(attack, first, last, seconds=share)
        print(f"{row.attack:14} {row.cases:7} {row.faults:7} {row.seconds:8.1f}   {row.what}",
              flush=True)  # fmt: skip
        num_faults += row.faults
        if is_long and wanted.case is None and not wanted.quick:
            write_rows(RESULTS, read_rows(RESULTS) | {attack.name: _sum(before, row)})
    return 1 if num_faults else 0


if __name__ == "__main__":
    sys.exit(main())
