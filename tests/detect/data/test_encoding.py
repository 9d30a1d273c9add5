"""Encoding: finite, fitted on training rows only, nothing constant."""

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.detect.data.columns import Column, NumericColumn, WordColumn
from standing_orders.detect.data.encoding import CONSTANT, fit_encoder
from standing_orders.detect.data.options import DataConfig

PLAIN = DataConfig(pieces=0)


def numbers(*values: float, name: str = "x") -> NumericColumn:
    return NumericColumn(name, np.array(values, dtype=np.float64))


def words(text: str, name: str = "w") -> WordColumn:
    """One letter a row; '-' is missing."""
    letters = tuple(dict.fromkeys(text.replace("-", "")))
    codes = np.array([letters.index(letter) if letter != "-" else -1 for letter in text])
    return WordColumn(name, codes, letters)


def encode(
    column: Column, num_train: int, options: DataConfig = PLAIN
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Names and features of all rows, fitted on the first ones."""
    encoder, _ = fit_encoder([column], np.arange(num_train), options)
    num_rows = len(column.is_missing)
    features = encoder.encode([column], np.arange(num_rows))
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    return encoder.columns, features


def test_a_number_is_standardised_by_the_training_rows() -> None:
    rng = np.random.default_rng(0)
    values = rng.lognormal(3, 2, size=1000)
    _, features = encode(numbers(*values), 600)
    assert features[:600, 0].mean() == pytest.approx(0, abs=1e-6)
    assert features[:600, 0].std() == pytest.approx(1, abs=1e-3)


def test_other_rows_change_nothing_about_the_features() -> None:
    # A published defect: each split was scaled by itself, so a shift in the test part vanished.
    train = [1.0, 2.0, 4.0, 8.0, 16.0]
    near, far = encode(numbers(*train, 3.0), 5), encode(numbers(*train, 3000.0), 5)
    np.testing.assert_array_equal(near[1][:5], far[1][:5])
    assert far[1][5, 0] > near[1][5, 0] + 1


def test_units_do_not_matter() -> None:
    values = np.array([0.0, 1.0, 5.0, 7.0, 100.0, -3.0])
    np.testing.assert_allclose(
        encode(numbers(*values), 6)[1], encode(numbers(*(values * 1e-6)), 6)[1], rtol=1e-4
    )


def test_pieces_rise_from_zero_to_one_between_training_quantiles() -> None:
    names, features = encode(numbers(0, 1, 2, 3, 4, 5.5, -9), 5, DataConfig(pieces=2))
    assert names == ("x", "x[0]", "x[1]")
    np.testing.assert_allclose(features[:, 1], [0, 0.5, 1, 1, 1, 1, 0])
    np.testing.assert_allclose(features[:, 2], [0, 0, 0, 0.5, 1, 1, 0])


def test_infinite_and_absurd_numbers_become_the_extremes_of_training() -> None:
    _, features = encode(numbers(1, 2, 3, np.inf, -np.inf, 1e308, 3, 1), 5, DataConfig(pieces=4))
    np.testing.assert_array_equal(features[3], features[6])
    np.testing.assert_array_equal(features[5], features[6])
    np.testing.assert_array_equal(features[4], features[7])


def test_missing_numbers_become_the_training_median_and_say_so() -> None:
    names, features = encode(numbers(1, 2, 9, np.nan, np.nan, 2), 4)
    assert names == ("x", "x=missing")
    assert features[4].tolist() == [features[5, 0], 1]
    assert features[5, 1] == 0


def test_missing_numbers_stay_silent_if_training_had_none() -> None:
    names, features = encode(numbers(1, 2, 9, np.nan, 2), 3)
    assert names == ("x",)
    assert features[3] == features[4]


def test_rare_unseen_and_missing_words_share_one_feature() -> None:
    options = DataConfig()
    names, features = encode(words("aaabbcz-"), 6, options)
    assert names == ("w=a", "w=b", "w=other")
    assert features.argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    np.testing.assert_array_equal(features.sum(axis=1), 1)


def test_unseen_words_are_all_zero_if_training_has_no_rare_one() -> None:
    names, features = encode(words("aabbz-"), 4, DataConfig())
    assert names == ("w=a", "w=b")
    assert features.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]


def test_missing_words_are_marked_if_training_had_some() -> None:
    names, features = encode(words("aab--bc"), 4, DataConfig())
    assert names == ("w=a", "w=other", "w=missing")
    assert features.argmax(axis=1).tolist() == [0, 0, 1, 2, 2, 1, 1]
    names, features = encode(words("aabb-cd"), 5, DataConfig())
    assert names == ("w=a", "w=b", "w=missing")
    assert features[4:].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_no_more_words_than_allowed_get_a_feature() -> None:
    names, _ = encode(words("aaabbbcc"), 8, DataConfig(max_values=1))
    assert names == ("w=a", "w=other")


@pytest.mark.parametrize(
    "column",
    [
        numbers(5, 5, 5, 7),
        numbers(np.nan, np.nan, np.nan, 1),
        numbers(np.inf, 5, 5, 1),
        words("aaab"),
        words("---a"),
    ],
)
def test_a_column_constant_in_training_is_dropped_and_named(column: Column) -> None:
    # A published defect: four of seven inputs were constant, and nobody was told.
    encoder, dropped = fit_encoder([column, numbers(1, 2, 3, 4, name="y")], np.arange(3), PLAIN)
    assert dropped == {column.name: CONSTANT}
    assert set(encoder.sources) == {"y"}


def test_a_number_that_only_says_whether_it_is_there_is_that_one_feature() -> None:
    names, features = encode(numbers(5, np.nan, 5, np.nan), 4)
    assert names == ("x=missing",)
    assert features[:, 0].tolist() == [0, 1, 0, 1]


def test_no_training_feature_is_ever_constant() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        size = int(rng.integers(2, 60))
        pool = np.array([0, 1, 5, -2.5, 1e-9, 1e300, np.inf, -np.inf, np.nan])
        values = rng.choice(pool[: rng.integers(1, 10)], size=size)
        options = DataConfig(pieces=int(rng.integers(0, 9)))
        encoder, _ = fit_encoder([numbers(*values)], np.arange(size), options)
        features = encoder.encode([numbers(*values)], np.arange(size))
        assert np.isfinite(features).all()
        assert np.all(np.ptp(features, axis=0) > 0), (values, options)


def test_a_text_without_frequent_values_is_dropped() -> None:
    _, dropped = fit_encoder([words("abcdefgh")], np.arange(8), PLAIN)
    assert "no value is frequent" in dropped["w"]
