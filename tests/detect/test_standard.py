"""A calibration is a monotone line, and what a file says must be one."""

import pytest

from standing_orders.detect.standard import Calibration
from standing_orders.errors import CheckpointError


def test_it_comes_back_from_a_file_as_it_was() -> None:
    line = Calibration((0.1, 0.4, 0.9), (0.0, 0.7, 0.7))
    assert Calibration.from_json(line.to_json()) == line


@pytest.mark.parametrize(
    "data",
    [None, {}, {"scores": [0]}, {"scores": [0, 1], "probabilities": [1, 0]},
     {"scores": [1, 1], "probabilities": [0, 1]}, {"scores": [0, 1], "probabilities": [0, 2]},
     {"scores": [], "probabilities": []}, {"scores": ["a"], "probabilities": [0]}],
)  # fmt: skip
def test_what_is_no_rising_line_is_refused(data: object) -> None:
    with pytest.raises(CheckpointError, match="calibration"):
        Calibration.from_json(data)
