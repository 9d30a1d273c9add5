"""Machines that can be lost."""

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def two_nodes() -> Iterator[Any]:
    """A head without workers and two machines with one each, on loopback."""
    # Stay on loopback; and at Ray's own priority a busy machine hardly ever lets workers run.
    os.environ.update({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"})
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    yield cluster, nodes
    cluster.shutdown()
