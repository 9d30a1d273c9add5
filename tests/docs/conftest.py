"""Commands that train are run in many tests: what they do at their end is kept short."""

import pytest


@pytest.fixture(scope="package", autouse=True)
def _brief(brief_endings: None) -> None: ...
