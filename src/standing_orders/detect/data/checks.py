"""Options about data that do not go together, or do not fit the table."""

import pyarrow as pa  # type: ignore[import-untyped]

from standing_orders.detect.data.adapters import adapter_of
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import ConfigError


def check_no_files(config: DataConfig) -> None:
    """Refuse options about files where there are none: the files were forgotten.

    Raises:
        ConfigError: there are such options.
    """
    fields = DataConfig.model_fields.items()
    told = [name for name, field in fields if getattr(config, name) != field.default]
    if about_files := [name for name in told if name not in {"data_seed", "pieces"}]:
        raise ConfigError(f"{', '.join(about_files)}: no files to read: name them with --data")


def check_options(config: DataConfig) -> None:
    """Refuse options that do not go together.

    Args:
        config: with the format's options filled in.

    Raises:
        ConfigError: two options contradict each other, or one is missing.
    """
    if config.shares[0] <= 0:
        raise ConfigError("validation_share, test_share: together they leave nothing to train on")
    if config.label is None and adapter_of(config).has_labels:
        raise ConfigError("label: name the column that says what is a threat, with --label")
    if both := sorted({*config.numeric} & {*config.categorical}):
        raise ConfigError(f"numeric, categorical: {both[0]!r} cannot be both")
    files = [path.absolute() for path in (*config.data, *config.test_data)]
    if twice := [path for path in files if files.count(path) > 1]:
        raise ConfigError(
            f"data, test_data: {twice[0]} is named twice; the same rows in training and in test "
            "would make any score too good"
        )
    if config.session and config.trace:
        raise ConfigError("session, trace: either a row is an event or it is a whole trace")
    for method, column in (("time", config.time), ("group", config.group)):
        if config.split == method and column is None:
            raise ConfigError(f"split = {method!r}: name the column to split by with --{method}")


def check_columns(config: DataConfig, table: pa.Table) -> None:
    """Refuse an option that names a column which is not there.

    Raises:
        ConfigError: says which columns there are.
    """
    named = {
        name: (value,) if isinstance(value, str) else value
        for name in ("label", "attack", "session", "trace", "time", "group")
        if (value := getattr(config, name)) is not None
    }
    named |= {name: getattr(config, name) for name in ("ignore", "numeric", "categorical")}
    for option, columns in named.items():
        for column in columns:
            if column not in table.column_names:
                there = ", ".join(table.column_names[:60])
                raise ConfigError(f"{option}: no column {column!r}; there are {there}")
