"""What to read, what the label is, how to split; and public data sets that fill it in by name.

One flat model, so that it makes good flags. Imports nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from standing_orders.config import Config
from standing_orders.errors import ConfigError, DataError

Format = Literal["table", "nsl-kdd", "unsw-nb15", "unsw-nb15-stream", "adfa-ld", "darpa-trace-e5"]
# What a column can be for: see `plan`.
Kind = Literal["number", "category", "port", "network", "out"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ROLES = ("label", "attack", "session", "trace", "time", "group")  # options that name one column


_NSL_KDD_NAMES = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root "
    "num_file_creations num_shells num_access_files num_outbound_cmds is_host_login "
    "is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate "
    "same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate class difficulty"
)
NSL_KDD_COLUMNS = tuple(_NSL_KDD_NAMES.split())


@dataclass(frozen=True)
class Adapter:
    """What one public data set needs."""

    files: tuple[str, ...]  # in its folder, in the order of reading
    options: dict[str, Any] = field(default_factory=dict)  # for `DataConfig` fields left alone
    note: str = ""
    only: tuple[str, str] | None = None  # column and its value in the rows that are events
    has_labels: bool = True


ADAPTERS: dict[str, Adapter] = {
    "nsl-kdd": Adapter(
        files=("KDDTrain+.txt.gz", "KDDTest+.txt.gz"),
        options={
            "header": NSL_KDD_COLUMNS,
            "label": "class",
            "benign": ("normal",),
            "ignore": ("difficulty",),  # how many reference learners got the row right
        },
        note=(
            "NSL-KDD: a folder pools the published training and test files; for the published "
            "split give KDDTrain+ as data and KDDTest+ as test data"
        ),
    ),
    "unsw-nb15": Adapter(
        files=("UNSW_NB15_82332.csv.gz",),
        options={
            "label": "label",
            "attack": "attack_cat",
            "ignore": ("id",),
            "duplicates": "drop",
        },
        note=(
            "UNSW-NB15: the 82,332-row partition, split by us; not the published training and "
            "test split"
        ),
    ),
    "unsw-nb15-stream": Adapter(
        files=("UNSW_NB15_1_stream_part1.csv.gz", "UNSW_NB15_1_stream_part2.csv.gz"),
        options={
            "label": "Label",
            "attack": "attack_cat",
            "time": "Stime",
            # The attack generator had addresses of its own.
            "ignore": ("srcip", "dstip", "Ltime"),
        },
        note="UNSW-NB15: sttl and proto alone tell most attacks: an artefact of the testbed",
    ),
    "adfa-ld": Adapter(
        files=("adfa_ld_traces.parquet",),
        options={
            "label": "label",
            "attack": "category",
            "trace": "syscalls",
            "group": "instance",
        },
        note=(
            "ADFA-LD: the label is of the whole trace, so every event of an attack trace counts "
            "as a threat"
        ),
    ),
    "darpa-trace-e5": Adapter(
        files=("trace_e5_20190507_500k.parquet",),
        options={
            "time": "timestamp_ns",
            "columns": ("event_type=category", "file_path=category", "protection=category"),
            "ignore": (
                *("is_suspicious", "part", "record_type", "sequence", "thread_id"),
                *("subject", "object", "entity", "memory_address", "pid"),
            ),
        },
        note=(
            "DARPA TRACE E5, 7 May 2019: recorded before the engagement's first attack, so it has "
            "no threats and no labels (is_suspicious is a rule about event types): a benign stream "
            "for throughput and false alarms"
        ),
        only=("record_type", "EVENT"),
        has_labels=False,
    ),
}


def _spelled_out(separator: object) -> object:
    """A tab that a command line can hold."""
    return "\t" if separator in ("tab", "\\t") else separator


class DataConfig(Config):
    """The events: from files, or a synthetic stream of sessions without any."""

    data: tuple[Path, ...] = Field(
        (),
        description="Files of CSV, TSV, JSON lines (Suricata eve.json too), Zeek logs or Parquet, "
        "plain or .gz, or the folder of a named format. Without any: a synthetic stream of "
        "sessions, one in eleven an intrusion of several steps.",
    )
    test_data: tuple[Path, ...] = Field(
        (), description="Files that are the test part. Without any it is split off from the data."
    )
    format: Format = Field(
        "table",
        description="'table': any file with a label column. The others know the public data set of "
        "that name and fill in every option left alone.",
    )
    label: str | None = Field(None, description="Column that says whether an event is a threat.")
    threats: tuple[str, ...] = Field(
        (), description="Label values that are threats, if the label is not 0/1 or yes/no."
    )
    benign: tuple[str, ...] = Field(
        (), description="Label values that are benign; every other one is a threat."
    )
    attack: str | None = Field(
        None, description="Column that names the attack, for recall by attack; never an input."
    )
    session: str | None = Field(
        None,
        description="Column that says which events belong together (a user, a connection): they "
        "are judged in order and never cut across parts. An attack lasts from the first to the "
        "last threat event of its session.",
    )
    trace: str | None = Field(
        None,
        description="Column with a whole trace in each row (a list, or text with spaces); each row "
        "is a session, and only its tokens are inputs.",
    )
    chunk: int = Field(20, ge=1, strict=True, description="Tokens of a trace that make an event.")
    max_events: int = Field(
        500, ge=1, strict=True, description="Events of a session that are kept; the rest is cut."
    )
    time: str | None = Field(
        None,
        description="Column to order events by: numbers, times, or text by ISO 8601; never an "
        "input itself, but the time since the event before is one in sessions.",
    )
    group: str | None = Field(
        None,
        description="Column whose values must not be cut across parts, such as the attack's run; "
        "empty = on its own. Never an input.",
    )
    split: Literal["auto", "stratified", "time", "group"] = Field(
        "auto",
        description="Parts at random with equal shares of each attack (stratified), the latest as "
        "test (time), or whole groups (group). auto: by group if there is one, else by time if "
        "there is one, else stratified.",
    )
    validation_share: float = Field(
        0.2, gt=0, lt=1, description="Share of sessions that thresholds are chosen on."
    )
    test_share: float = Field(0.2, gt=0, lt=1, description="Share of sessions for the last word.")
    data_seed: int = Field(
        0,
        ge=0,
        le=2**63 - 1,
        strict=True,
        description="Seed of the split, of what is left out, and of the synthetic stream.",
    )
    ignore: tuple[str, ...] = Field(
        (),
        description="Columns that are no inputs: row numbers, addresses, anything not known when "
        "the event happens.",
    )
    columns: tuple[str, ...] = Field(
        (),
        description="What columns are for, whatever they look like: NAME=KIND, where KIND is "
        "number, category, port, network (the kind of network that an address is of) or out; also "
        "keeps one that looks like the label.",
    )
    session_end: bool = Field(
        False,
        description="The end of a session, or an idle time-out, is an event of its own: the last "
        "chance to answer an attack. For logs with many short sessions.",
    )
    short: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Synthetic stream: share of sessions that are cut to one, two or three events.",
    )
    pieces: int = Field(
        8,
        ge=0,
        le=64,
        strict=True,
        description="Pieces between training quantiles that a number is also encoded by, beside "
        "its logarithm; a small network learns thresholds from them. 0 for none.",
    )
    max_values: int = Field(
        20,
        ge=1,
        le=1000,
        strict=True,
        description="Frequent values of a category that get an input each; others share one.",
    )
    prevalence: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Drop threat sessions at random until this share is left, for instance 0.089. "
        "Without it: the natural share.",
    )
    duplicates: Literal["auto", "keep", "drop"] = Field(
        "auto",
        description="Equal records: one in training and one in test make any score too good, so "
        "drop them; repeated events may be real, so keep them. auto: as the format advises, keep "
        "for 'table'.",
    )
    separator: Annotated[str | None, BeforeValidator(_spelled_out)] = Field(
        None,
        min_length=1,
        max_length=1,
        description="What stands between the fields of a CSV; a tab is also `tab` or `\\t`. "
        "Without it: tab, semicolon, bar or comma, whichever the first line has most of.",
    )
    header: tuple[str, ...] = Field(
        (), description="Column names of a CSV whose first line is data already."
    )
    max_rows: int = Field(
        5_000_000, ge=1, strict=True, description="Refuse more rows than this; memory is finite."
    )
    max_bytes: int = Field(
        2_000_000_000,
        ge=1,
        strict=True,
        description="Refuse a file that is, or declares to be, larger than this unpacked.",
    )

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of sessions in training, validation and test."""
        return (1 - self.validation_share - self.test_share, self.validation_share, self.test_share)

    @property
    def data_name(self) -> str:
        """What the events are called in tables and run folders."""
        if not self.data:
            return "synthetic"
        return self.data[0].name if self.format == "table" else self.format

    @property
    def told(self) -> dict[str, Kind]:
        """What the user says that columns are for; the names in `ignore` are not among them."""
        return parse_told(self.columns)

    @property
    def split_method(self) -> Literal["stratified", "time", "group"]:
        """The split, with `auto` decided."""
        if self.split != "auto":
            return self.split
        return "group" if self.group else "time" if self.time else "stratified"

    def check_together(self, *, has_labels: bool) -> None:
        """Refuse options that do not go together, or that need files where there are none.

        Raises:
            ConfigError: two options contradict each other, or one is missing.
        """
        if not self.data:
            own = {"data_seed", "pieces", "session_end", "short"}
            told = self.model_dump(exclude_defaults=True).keys() - own
            if about_files := [name for name in DataConfig.model_fields if name in told]:
                raise ConfigError(
                    f"{', '.join(about_files)}: no files to read: name them with --data"
                )
            return
        if self.short:
            raise ConfigError(f"short = {self.short:g}: is of the synthetic stream, not of files")
        if self.shares[0] <= 0:
            raise ConfigError("validation_share, test_share: they leave nothing to train on")
        if self.label is None and has_labels:
            raise ConfigError("label: name the column that says what is a threat, with --label")
        files = [path.absolute() for path in (*self.data, *self.test_data)]
        if twice := [path for path in files if files.count(path) > 1]:
            raise ConfigError(
                f"data, test_data: {twice[0]} is named twice; the same rows in training and in "
                "test would make any score too good"
            )
        if self.session and self.trace:
            raise ConfigError("session, trace: either a row is an event or it is a whole trace")
        if self.duplicates == "drop" and (self.session or self.trace):
            raise ConfigError("duplicates: only of records; a session may repeat an event")
        for method, column in (("time", self.time), ("group", self.group)):
            if self.split == method and column is None:
                raise ConfigError(
                    f"split = {method!r}: name the column to split by with --{method}"
                )

    def check_columns(self, there: Sequence[str]) -> None:
        """Refuse an option that names a column which is not there.

        Raises:
            ConfigError: says which columns there are.
        """
        named = [(role, getattr(self, role)) for role in ROLES]
        named += [("ignore", name) for name in self.ignore]
        named += [("columns", name) for name in self.told]
        for option, column in named:
            if column is not None and column not in there:
                raise ConfigError(
                    f"{option}: no column {column!r}; there are {', '.join(there[:60])}"
                )


def parse_told(texts: tuple[str, ...]) -> dict[str, Kind]:
    """Read NAME=KIND.

    Raises:
        ConfigError: it is something else.

    Example:
        >>> parse_told(("src_ip=network", "a=b=out"))
        {'src_ip': 'network', 'a=b': 'out'}
    """
    told: dict[str, Kind] = {}
    for text in texts:
        name, equals, word = text.rpartition("=")
        kind = next((kind for kind in KINDS if kind == word), None)
        if not equals or kind is None:
            raise ConfigError(f"columns = {text!r}: must be NAME=KIND, KIND one of "
                              f"{', '.join(KINDS)}")  # fmt: skip
        told[name] = kind
    return told


def adapter_of(config: DataConfig) -> Adapter:
    """The adapter of a format; one that does nothing for a plain table."""
    return ADAPTERS.get(config.format, Adapter(()))


def fill_options(config: DataConfig) -> DataConfig:
    """The configuration with every option left alone set to what the format needs.

    Example:
        >>> fill_options(DataConfig(format="unsw-nb15")).label
        'label'
    """
    fields = DataConfig.model_fields
    values = {
        name: value
        for name, value in adapter_of(config).options.items()
        if getattr(config, name) == fields[name].default
    }
    if config.threats:
        values.pop("benign", None)
    if config.ignore:  # what the user ignores comes on top
        values["ignore"] = (*adapter_of(config).options.get("ignore", ()), *config.ignore)
    return config.model_copy(update=values)


def find_files(config: DataConfig, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files to read: a folder stands for the files of its format.

    Raises:
        DataError: a folder without one of them.
    """
    found: list[Path] = []
    for path in paths:
        names = adapter_of(config).files
        if not path.is_dir() or not names:
            found.append(path)
            continue
        missing = [name for name in names if not (path / name).is_file()]
        if missing:
            raise DataError(f"{path}: no {', '.join(missing)} in it, which {config.format} needs")
        found.extend(path / name for name in names)
    return tuple(found)
