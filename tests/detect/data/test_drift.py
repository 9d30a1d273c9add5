"""The population stability index: nothing for the same events, by hand for others."""

import json
import math

import numpy as np
import pytest

from standing_orders.detect.data.columns import NumericColumn, WordColumn
from standing_orders.detect.data.drift import Histogram, fit_histogram


def test_the_index_is_that_of_the_formula() -> None:
    histogram = Histogram((0.5, 0.5, 0.0), edges=(1.0,))
    expected = (0.8 - 0.5) * math.log(0.8 / 0.5) + (0.2 - 0.5) * math.log(0.2 / 0.5)
    assert histogram.psi(np.array([80, 20, 0])) == pytest.approx(expected)


def test_the_same_values_have_not_drifted_and_shifted_ones_have() -> None:
    values = np.random.default_rng(0).normal(size=5_000)
    histogram = fit_histogram(NumericColumn("x", values))
    assert histogram.psi(histogram.count(NumericColumn("x", values))) == pytest.approx(0)
    assert histogram.psi(histogram.count(NumericColumn("x", values + 1))) > 0.5
    missing = np.where(values > 0, np.nan, values)
    assert histogram.psi(histogram.count(NumericColumn("x", missing))) > 0.25


def test_new_words_and_missing_ones_have_bins_of_their_own() -> None:
    histogram = fit_histogram(WordColumn("w", np.array([0, 0, 1, -1]), ("a", "b")))
    assert histogram.shares == (0.5, 0.25, 0.0, 0.25)
    assert histogram.count(WordColumn("w", np.array([0, -1]), ("new",))).tolist() == [0, 0, 1, 1]
    assert Histogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram
