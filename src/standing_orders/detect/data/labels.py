"""Labels of events: what is a threat and of which kind; and columns that give the label away."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.stats import rankdata  # type: ignore[import-untyped]

from standing_orders.detect.data.columns import Column, NumericColumn, WordColumn, read_words
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import ConfigError, DataError

# What a two-valued label calls benign, in lower case, the clearest first.
BENIGN_WORDS = ("0", "false", "no", "normal", "benign", "legitimate", "clean", "negative", "-1")
THREAT = "threat"  # name of the attack where no column tells
_MAX_RANKED = 20_000
_SUSPICIOUS_AUC = 0.999


def read_labels(
    table: pa.Table,
    config: DataConfig,
    learned: tuple[Collection[str], Collection[str]] | None = None,
) -> tuple[NDArray[np.int64], tuple[str, ...]]:  # (num_rows,)
    """Attack of each row, -1 for benign ones, and the names of the attacks.

    Without `attack`, a label of many values names the attacks itself. Where benign values of the
    label and names of attacks are learned from other rows, every other value is a threat.

    Raises:
        ConfigError: a value named does not occur, or both lists are given.
        DataError: a row has no label, or the label is not binary and nobody says what is a threat.
    """
    label, attack = config.label, config.attack
    assert label is not None
    words = _label_words(label, table[label].combine_chunks())
    if num_missing := int(words.is_missing.sum()):
        raise DataError(
            f"label column {label!r}: {num_missing} rows have no label: add it or drop them"
        )
    if learned is None:
        is_threat = _threat_words(words, config.threats, config.benign)[words.values]
        names_itself = len(words.words) > 2
    else:
        is_threat = np.array([word not in learned[0] for word in words.words])[words.values]
        names_itself = set(learned[1]) != {THREAT}
    if attack is not None:
        names = read_words(attack, table[attack].combine_chunks())
    elif names_itself:
        names = words
    else:
        names = WordColumn(label, np.zeros(len(is_threat), dtype=np.int64), (THREAT,))
    known = [(name or "unknown").strip() for name in (*names.words, "unknown")]
    used = sorted({known[code] for code in np.unique(names.values[is_threat])})
    index = {name: number for number, name in enumerate(used)}
    numbers = np.array([index.get(name, -1) for name in known], dtype=np.int64)
    return np.where(is_threat, numbers[names.values], -1), tuple(used)


def describe_labels(
    table: pa.Table,
    config: DataConfig,
    attacks: NDArray[np.int64],  # (num_rows,)
) -> str | None:
    """Which values of the label are threats; None if it says so itself, being 0 and 1."""
    assert config.label is not None
    benign = benign_words(table, config.label, attacks)
    words = _label_words(config.label, table[config.label].combine_chunks()).words
    if {*words} <= {"0", "1"}:
        return None
    threats = [word for word in words if word not in benign]
    return (
        f"label {config.label}: threat is {_some(threats) or 'none'}; benign is "
        f"{_some(benign) or 'none'}"
    )


def benign_words(
    table: pa.Table,
    label: str,
    attacks: NDArray[np.int64],  # (num_rows,)
) -> tuple[str, ...]:
    """Values of the label that are no threats."""
    words = _label_words(label, table[label].combine_chunks())
    threats = {words.words[code] for code in np.unique(words.values[attacks >= 0])}
    return tuple(word for word in words.words if word not in threats)


def _label_words(label: str, values: pa.Array) -> WordColumn:
    if pa.types.is_floating(values.type):
        values = pa_compute.if_else(pa_compute.is_nan(values), None, values)
        if pa_compute.any(pa_compute.is_inf(values)).as_py():
            raise DataError(f"label column {label!r}: has infinite values, which are no label")
        whole = values.drop_null()
        if pa_compute.all(pa_compute.equal(whole, pa_compute.round(whole))).as_py() is not False:
            values = values.cast(pa.int64(), safe=False)
    column = read_words(label, values)
    words = tuple(word.strip() for word in column.words)
    unique = sorted(set(words))
    codes = np.array([unique.index(word) for word in words] + [-1], dtype=np.int64)
    return WordColumn(label, codes[column.values], tuple(unique))


def _threat_words(
    label: WordColumn, threats: Collection[str], benign: Collection[str]
) -> NDArray[np.bool_]:
    """Whether each value of the label is a threat."""
    if threats and benign:
        raise ConfigError("threats, benign: name one of the two, the rest follows")
    for option, named in (("threats", threats), ("benign", benign)):
        for word in named:
            if word not in label.words:
                raise ConfigError(
                    f"{option}: {word!r} is no value of {label.name!r}; there are "
                    f"{_some(label.words)}"
                )
    if threats:
        return np.array([word in threats for word in label.words])
    benign = benign or _guess_benign(label)
    return np.array([word not in benign for word in label.words])


def _guess_benign(label: WordColumn) -> tuple[str, ...]:
    """What a label of two values, or one, calls benign."""
    if len(label.words) > 2:
        raise DataError(
            f"label column {label.name!r} is not binary: it has {len(label.words)} values, "
            f"{_some(label.words)}; say which are threats with --threats, or which are benign with "
            "--benign"
        )
    lower = [word.lower() for word in label.words]
    for word in BENIGN_WORDS:
        if word in lower:
            return (label.words[lower.index(word)],)
    if lower in (["1"], ["true"], ["yes"]):
        return ()
    raise DataError(
        f"label column {label.name!r} has the values {_some(label.words)}: say which is a threat "
        "with --threats"
    )


def _some(words: Sequence[str], limit: int = 8) -> str:
    more = f" and {len(words) - limit} more" if len(words) > limit else ""
    return ", ".join(map(repr, words[:limit])) + more


def check_classes(is_threat: NDArray[np.bool_], where: str) -> None:
    """Refuse events of one class only.

    Raises:
        DataError: all events, or none, are threats.
    """
    if not len(is_threat):
        raise DataError(f"{where}: no events")
    if is_threat.all() or not is_threat.any():
        kind = "a threat" if is_threat[0] else "benign"
        raise DataError(
            f"{where}: one class only, every one of {len(is_threat)} events is {kind}; there is "
            "nothing to tell apart"
        )


def find_leaks(
    columns: Sequence[Column],
    rows: NDArray[np.int64],
    is_threat: NDArray[np.bool_],  # (num_training_rows,)
    *,
    told: Collection[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Columns that are the label under another name, judged on training rows, unless told to stay.

    Returns:
        Columns to drop and why; and notes on columns that stay but look too good.
    """
    dropped, notes = {}, []
    for column in columns:
        if _decides(column, rows, is_threat):
            if column.name not in told:
                dropped[column.name] = "decides the label alone: the label under another name"
        elif isinstance(column, NumericColumn) and column.name not in told:
            auc = _area(column.values[rows], is_threat)
            if max(auc, 1 - auc) >= _SUSPICIOUS_AUC:
                notes.append(
                    f"{column.name} alone ranks threats before benign events (ROC area "
                    f"{max(auc, 1 - auc):.4f}): is it known when the event happens?"
                )
    return dropped, notes


def _decides(column: Column, rows: NDArray[np.int64], is_threat: NDArray[np.bool_]) -> bool:
    """Whether every word, or either of two numbers, is of one class, often enough to mean it."""
    found, inverse, counts = np.unique(column.values[rows], return_inverse=True, return_counts=True)
    if len(found) < 2 or len(rows) < 10 * len(found):
        return False
    if isinstance(column, NumericColumn) and len(found) > 2:
        return False
    threats = np.bincount(inverse, is_threat)
    return bool(np.all((threats == 0) | (threats == counts)))


def _area(values: NDArray[np.float64], is_threat: NDArray[np.bool_]) -> float:
    """Area under the ROC curve of one column as score; missing values rank lowest."""
    step = max(1, len(values) // _MAX_RANKED)
    values, is_threat = values[::step], is_threat[::step]
    num_threats = int(is_threat.sum())
    num_pairs = num_threats * (len(values) - num_threats)
    if not num_pairs:
        return 0.5
    ranks = rankdata(np.where(np.isnan(values), -np.inf, values))
    return float((ranks[is_threat].sum() - num_threats * (num_threats + 1) / 2) / num_pairs)
