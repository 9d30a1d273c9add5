"""Mutated settings, command lines, data files, formulas and names: an answer or one message."""

import gzip
import io
import random
import string
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pa_parquet  # type: ignore[import-untyped]
import pytest

from standing_orders.cli.app import COMMANDS
from standing_orders.cli.app import load as load_command
from standing_orders.cli.flags import parse
from standing_orders.detect.data.load import DataConfig, load
from standing_orders.errors import StandingOrdersError
from standing_orders.presets import list_presets
from standing_orders.rules.stl import Monitor, robustness
from standing_orders.rules.stl import parse as parse_formula
from standing_orders.voting import LIARS, Conditions, agree
from tests.battery.case import call

ODD_NUMBERS = ("0", "-1", "1e309", "nan", "inf", "-0.0", "1e-320", "9" * 30, "9" * 5_000,
               "0x" + "f" * 5_000, "1_0", "+5", "1e5", "true")  # fmt: skip
ODD_TEXTS = ('""', '"\\u0000"', '"x"', '"\\u001b[2J"', '"[/bold]"', '"' + "a" * 9_999 + '"',
             "[]", "{}", "[[[]]]", "1979-05-27", '"../../x"', '"none"', '"any"')  # fmt: skip
ODD_WORDS = ("", "-", "--", "=", "\x1b]0;x\x07", "[/bold]", "\udcff", "a" * 9_999, "nan", "-1",
             "1e400", "9" * 5_000, "none", "None", "\u202e", "0x10", "../..", "--run", "--seed",
             "--help", "--resume", "--ppo", "--ppo.hidden", "--config")  # fmt: skip
SIGNS = [*string.printable, "\x1b", "\u202e", "\udcff", "[", "]", "(", ")", "\u00e9", "\u2264"]
QUICK = ("runs", "runs show", "runs verify", "runs diff", "presets", "zoo")


def nothing(_: Path) -> None:
    """Nothing to prepare."""


def settings(_: Any, rng: random.Random, place: Path) -> str | None:
    """A preset with mutated lines as --config."""
    command = rng.choice(("train", "search", "detect train"))
    kind = command.partition(" ")[0]
    preset = rng.choice(list_presets(kind))
    lines = preset.path.read_text().splitlines()
    for _ in range(rng.randrange(1, 4)):
        _mutate_line(lines, rng)
    file = place / "own.toml"
    file.write_bytes("\n".join(lines).encode(errors="surrogatepass"))
    return _parsed(command, ["--config", str(file)])


def _mutate_line(lines: list[str], rng: random.Random) -> None:
    place = rng.randrange(len(lines))
    key, equals, _ = lines[place].partition("=")
    choice = rng.randrange(7)
    if choice == 0:
        lines[place] = mutate(lines[place], rng)
    elif choice == 1 and equals:
        lines[place] = f"{key}= {rng.choice(ODD_NUMBERS + ODD_TEXTS)}"
    elif choice == 2:
        lines.insert(place, f"{_name(rng)} = {rng.choice(ODD_NUMBERS + ODD_TEXTS)}")
    elif choice == 3:
        lines.insert(place, f"[{_name(rng)}]")
    elif choice == 4:
        lines.insert(place, "x = " + "[" * rng.choice((5, 2_000)))
    elif choice == 5:
        del lines[place]
        lines.append("")
    else:
        lines.insert(place, rng.choice(lines))


def _name(rng: random.Random) -> str:
    names = ("config", "preset", "run_folder", "seed", "ppo", "ppo.hidden", "debug", "resume",
             "out", "order", "data", "rules.own", "x", '"\\u0000"', "gate.episodes")  # fmt: skip
    return rng.choice(names)


def words(_: Any, rng: random.Random, __: Path) -> str | None:
    """A command line of an example, with mutated words."""
    command = rng.choice(sorted(COMMANDS))
    examples = load_command(command).EXAMPLES or (command,)
    line = rng.choice(examples).split()[command.count(" ") + 1 :]
    for _ in range(rng.randrange(1, 4)):
        choice = rng.randrange(4)
        where = rng.randrange(len(line) + 1)
        if choice == 0 or not line:
            line.insert(where, rng.choice(ODD_WORDS))
        elif choice == 1:
            line[where - 1] = mutate(line[where - 1], rng)
        elif choice == 2:
            line[where - 1] = rng.choice(ODD_WORDS + ODD_NUMBERS)
        else:
            del line[where - 1]
    return _parsed(command, line)


def _parsed(command: str, line: list[str]) -> str | None:
    """Run a command line as typed, but for the work itself where that would take long."""
    with pytest.MonkeyPatch.context() as patch:
        if command not in QUICK:
            patch.setattr("standing_orders.cli.flags.parse", _only_parse)
        said = call(*command.split(), *line)
    if len(said.err) > 20_000:
        return f"a message of {len(said.err)} characters"
    return said.fault


def _only_parse(model: Any, line: list[str], *, name: str) -> Any:
    parse(model, line, name=name)
    return SimpleNamespace(run=lambda: 0)


def mutate(text: str, rng: random.Random) -> str:
    """A text with a few signs changed, added, lost, doubled or moved."""
    signs = list(text) or [" "]
    for _ in range(rng.randrange(1, 6)):
        where = rng.randrange(len(signs) + 1)
        choice = rng.randrange(5)
        if choice == 0:
            signs.insert(where, rng.choice(SIGNS))
        elif choice == 1 and where < len(signs):
            signs[where] = rng.choice(SIGNS)
        elif choice == 2:
            del signs[where : where + rng.randrange(4)]
        elif choice == 3:
            signs[where:where] = signs[where : where + rng.randrange(12)]
        else:
            signs[where:where] = rng.choice(
                (list("[0,"), list("((("), list("1e999"), list("9" * 40))
            )
    return "".join(signs)


FORMULAS = (
    "always[0,5] (x > 1 -> eventually[0,3] y < 2)", "historically x", "once[2,9] (x since y > 0.5)",
    "x until[1,4] not z", "abs(x - y) * 2 <= 1 and not (z or x / 3 > y)", "x <-> y",
    "mean[10] (x) >= 0.2", "count[5] (x > 0) < 3", "previous x", "share(x, y) > 0.3",
)  # fmt: skip


def formulas(_: Any, rng: random.Random, __: Path) -> str | None:
    """A mutated formula, and its margins on a short trace."""
    text = rng.choice(FORMULAS)
    for _ in range(rng.randrange(1, 3)):
        text = mutate(text, rng) if rng.random() < 0.8 else f"({text}) and ({rng.choice(FORMULAS)})"
    if rng.random() < 0.02:
        text = "not " * rng.choice((50, 5_000)) + text
    numbers = np.random.default_rng(rng.randrange(2**32)).normal(size=(3, 12))
    signals = dict(zip("xyz", numbers, strict=True))
    try:
        formula = parse_formula(text)
        margins = robustness(formula, signals)
        if np.isnan(margins).any():
            return f"not a number: {text!r}"
        Monitor(formula)
    except StandingOrdersError:
        return None
    return None


def _plain_table(rng: random.Random) -> pa.Table:
    rows = rng.choice((1, 2, 40, 200))
    draw = np.random.default_rng(rng.randrange(2**32))
    label = draw.integers(0, 2, rows)
    return pa.table({
        "a": draw.normal(size=rows) + label, "b": draw.integers(0, 9, rows),
        "c": [f"w{n}" for n in draw.integers(0, 4, rows)], "y": label,
    })  # fmt: skip


ODD_TYPES = (
    pa.string_view(), pa.large_string(), pa.binary(), pa.binary(3), pa.float16(), pa.float32(),
    pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.time64("us"), pa.duration("s"),
    pa.decimal128(20, 3), pa.list_(pa.int8()), pa.struct([("q", pa.int8())]), pa.int8(),
    pa.uint64(), pa.dictionary(pa.int8(), pa.string()), pa.large_binary(), pa.binary_view(),
)  # fmt: skip


def _odd_column(rng: random.Random, rows: int) -> Any:
    kind = rng.choice(ODD_TYPES)
    fill: Any = {"q": 1} if pa.types.is_struct(kind) else rng.choice((0, 1, "1", b"abc", [1], None))
    try:
        return pa.array([fill, None][: min(rows, 2)] + [fill] * max(rows - 2, 0), type=kind)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.nulls(rows, kind)


def data(_: Any, rng: random.Random, place: Path) -> str | None:
    """A CSV, gzip or Parquet file with odd columns, mutated or damaged, read for training."""
    table = _plain_table(rng)
    for _ in range(rng.randrange(3)):
        name = rng.choice(("a", "b", "c", "y", "odd", "\x1b[2J", "=1", "[/bold]", ""))
        column = _odd_column(rng, table.num_rows)
        where = table.schema.get_field_index(name)
        table = table.append_column(name, column) if where < 0 else table.set_column(
            where, name, column)  # fmt: skip
    content, suffix = _written(table, rng)
    if rng.random() < 0.6:
        content = _damaged(content, rng)
    file = place / f"events{suffix}"
    file.write_bytes(content)
    roles = {role: rng.choice("abc") for role in ("session", "time", "group", "attack", "trace")
             if rng.random() < 0.12}  # fmt: skip
    try:
        load(DataConfig(data=(file,), label="y", max_bytes=10**8, max_rows=10**5, **roles))
    except StandingOrdersError as err:
        return f"an empty message for {file.name}" if not str(err) else None
    return None


def _written(table: pa.Table, rng: random.Random) -> tuple[bytes, str]:
    file = io.BytesIO()
    kind = rng.choice((".csv", ".csv.gz", ".parquet", ".parquet"))
    if kind == ".parquet":
        try:
            pa_parquet.write_table(table, file)
        except pa.ArrowException:
            kind = ".csv"
    if kind != ".parquet":
        plain = (
            column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
            for column in table.columns
        )
        lines = [table.column_names, *zip(*(one.to_pylist() for one in plain), strict=True)]
        file.write("\n".join(",".join(map(str, row)) for row in lines).encode())
    content = file.getvalue()
    return (gzip.compress(content), kind) if kind == ".csv.gz" else (content, kind)


def _damaged(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 30))):
        where = rng.randrange(len(changed) + 1)
        choice = rng.randrange(4)
        if choice == 0 and where < len(changed):
            changed[where] = rng.randrange(256)
        elif choice == 1:
            changed[where:where] = rng.choice(
                (b"\0", b'"', b",", b"\n", b"\xff\xfe", b"1e999", b"nan")
            )
        elif choice == 2:
            del changed[where : where + rng.choice((1, 5, 10**6))]
        else:
            changed[where:where] = changed[where : where + 40]
    return bytes(changed)


def names(_: Any, rng: random.Random, place: Path) -> str | None:
    """A hostile name as a folder, a flag, an order, a policy or a rule."""
    length = rng.randrange(1, 24)
    name = "".join(
        rng.choice([*SIGNS[:-2], "\x07", "\x9b", "\r", "[/bold]"]) for _ in range(length)
    )
    name = name.replace("/", "_").replace("\0", "") or "x"
    (place / name[:60]).mkdir(exist_ok=True)
    lines: tuple[tuple[object, ...], ...] = (
        ("runs", place), ("runs", "show", place / name[:60]), ("train", f"--{name}"),
        ("evaluate", "--policy", name), ("train", "--order", name), (name,), ("presets", name),
        ("runs", "verify", place / name[:60]), ("train", "--preset", name),
        ("detect", "train", "--data", place / name[:60], "--label", name),
        ("detect", "train", "--rules.own", f"{name}: {name}", "--run", place / "run"),
        ("report", place / name[:60]), ("train", "--config", place / name[:60]),
    )  # fmt: skip
    return call(*rng.choice(lines)).fault


def votes(_: Any, rng: random.Random, __: Path) -> str | None:
    """An agreement in a bad network with as many liars as are borne: no two decide differently."""
    num_faults = rng.choice((1, 2))
    n = 3 * num_faults + 1
    liars = {agent: rng.choice(sorted(LIARS)) for agent in rng.sample(range(n), num_faults)}
    ballots = np.array([[rng.randrange(4) for _ in range(n)] for _ in range(2)], dtype=np.int8)
    conditions = Conditions(settle_time=rng.uniform(0, 60), early_delay=rng.uniform(1, 40),
                            loss_prob=rng.uniform(0, 0.6), slow_prob=rng.random(),
                            deaf_prob=rng.uniform(0, 0.5))  # fmt: skip
    found = agree(ballots, num_faults, num_choices=4, liars=liars, conditions=conditions,
                  seed=rng.randrange(2**31))  # fmt: skip
    if not found.has_agreement.all():
        return "two honest agents decided differently"
    return None if found.is_valid.all() else "a decision that no honest agent voted for"
