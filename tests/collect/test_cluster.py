"""Who can reach a cluster of ours: this process and what it starts, nobody else."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from standing_orders.collect.cluster import open_cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own
NOBODY = 65534
OUTSIDER = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
    print("inside", ray.get(ray.remote(lambda: 1).remote(), timeout=20))
except Exception as err:
    print("refused", type(err).__name__)
"""


def family() -> set[int]:
    """This process and all that it started, children of children too."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(words[1])
    found = {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= new
    return found


def session_folder() -> Path:
    import ray

    return Path(ray._private.worker.global_worker.node.get_session_dir_path())


def test_nothing_listens_beyond_loopback(cluster: Any) -> None:
    if shutil.which("ss") is None:
        pytest.skip("ss is not installed: who listens where cannot be seen")
    assert cluster.get(cluster.remote(lambda: 1).remote()) == 1
    shown = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    ours, own = [], family()
    for line in shown.splitlines():
        if own & set(map(int, re.findall(r"pid=(\d+)", line))):
            ours.append(line.split()[3])
    assert len(ours) >= 4  # head, node, workers and this process
    assert all(re.match(r"127\.|\[::1\]|\[::ffff:127\.", where) for where in ours), ours


def test_nobody_gets_in_without_the_token(cluster: Any) -> None:
    address = cluster.get_runtime_context().gcs_address
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    bare["HOME"] = os.devnull  # no token of the user's own either
    wrong = bare | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 64}
    tries = {"right": dict(os.environ), "none": bare, "wrong": wrong}
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", OUTSIDER, address], env=env, stdout=subprocess.PIPE, text=True
        )
        for name, env in tries.items()
    }
    said = {name: process.communicate(timeout=120)[0] for name, process in running.items()}
    assert "inside 1" in said["right"], said  # so the others are refused for the token alone
    assert "refused" in said["none"], said
    assert "refused" in said["wrong"], said


def test_another_user_cannot_enter_its_folder(cluster: Any) -> None:
    del cluster
    private = session_folder().parents[1]
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    if os.getuid() == 0:
        found = subprocess.run(
            ["ls", session_folder()], user=NOBODY, capture_output=True, check=False
        )
        assert found.returncode != 0
        assert b"denied" in found.stderr


def test_a_cluster_that_ends_leaves_neither_folder_nor_token() -> None:
    script = (
        "from standing_orders.collect.cluster import open_cluster\n"
        "from tests.collect.test_cluster import session_folder\n"
        "import os, ray\n"
        "for _ in range(2):\n"
        "    with open_cluster(None, 1):\n"
        "        folder = session_folder()\n"
        "        assert len(os.environ['RAY_AUTH_TOKEN']) == 64\n"
        "    assert not folder.parents[1].exists()\n"
        "    assert os.environ.get('RAY_AUTH_MODE') is None\n"
        "    assert 'RAY_AUTH_TOKEN' not in os.environ\n"
        "ray.init(address='local', num_cpus=1, include_dashboard=False)  # it wants no token\n"
        "assert ray.get(ray.remote(lambda: 1).remote()) == 1\n"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_our_token_is_not_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # refused before anything is started
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    with pytest.raises(Exception, match="pip install"), open_cluster(None, 1):
        pass
    assert os.environ["RAY_AUTH_TOKEN"] == "mine"
