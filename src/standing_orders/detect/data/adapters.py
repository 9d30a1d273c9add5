"""Public data sets by name: their files, their label and what must not be an input."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]

from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import DataError

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
    """What one data set needs."""

    files: tuple[str, ...]  # in its folder, in the order of reading
    options: dict[str, Any] = field(default_factory=dict)  # for `DataConfig` fields left alone
    note: str = ""
    prepare: Callable[[pa.Table], pa.Table] = lambda table: table
    has_labels: bool = True


def _events_only(table: pa.Table) -> pa.Table:
    return table.filter(pa_compute.equal(table["record_type"].cast(pa.string()), "EVENT"))


ADAPTERS = {
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
            "categorical": ("event_type", "file_path", "protection"),
            "ignore": (
                "is_suspicious",
                "part",
                "record_type",
                "sequence",
                "thread_id",
                "subject",
                "object",
                "entity",
                "memory_address",
                "pid",
            ),
        },
        note=(
            "DARPA TRACE E5, 7 May 2019: recorded before the engagement's first attack, so it has "
            "no threats and no labels (is_suspicious is a rule about event types): a benign stream "
            "for throughput and false alarms"
        ),
        prepare=_events_only,
        has_labels=False,
    ),
}


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
