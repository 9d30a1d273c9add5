"""The real CybORG, where it is installed."""

import os

import pytest

from standing_orders.cage2.cyborg.install import CyborgSource, import_cyborg, installed_rules
from standing_orders.config import RuleSet
from standing_orders.errors import ConfigError


@pytest.fixture(scope="session")
def source() -> CyborgSource:
    """Which CybORG; without one the test is skipped."""
    path = os.environ.get("STANDING_ORDERS_CYBORG")
    try:
        import_cyborg(path)
    except ConfigError as err:
        pytest.skip(f"no CybORG: {err}")
    return CyborgSource(path)


@pytest.fixture(scope="session")
def rules(source: CyborgSource) -> RuleSet:
    """The rule set that it plays."""
    return installed_rules()
