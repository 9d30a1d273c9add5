"""The networks that tests of the learner use."""

from tests.learn.conftest import network, one_thread

__all__ = ["network", "one_thread"]
