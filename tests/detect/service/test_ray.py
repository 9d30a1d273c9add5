"""`detect score --engine ray`: the same file, line for line, as in one process."""

from pathlib import Path

import pytest

from tests.cli.commands import run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_agents_in_processes_of_their_own_write_the_same_verdicts(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("detect", "score", str(sessions / "run"), "--data", str(sessions / "test.csv"))
    for engine in ("local", "ray"):
        out = str(tmp_path / f"{engine}.jsonl")
        assert run(*words, "--engine", engine, "--out", out) == 0, capsys.readouterr().err
    found = (tmp_path / "ray.jsonl").read_bytes()
    assert found == (tmp_path / "local.jsonl").read_bytes()
    assert found.count(b"\n") >= 240
    # Agents that have hardly learned may disagree with the others, but none of them lies.
    said = capsys.readouterr().err.splitlines()
    suspected = [line for line in said if "suspect" in line]
    assert all("votes against the outcome" in line for line in suspected), suspected


def test_an_address_is_for_ray_only(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("detect", "score", str(sessions / "run"), "--data", str(sessions / "test.csv"))
    out = str(tmp_path / "out.jsonl")
    assert run(*words, "--out", out, "--address", "127.0.0.1:1") == 2
    assert "only engine = 'ray' has one" in capsys.readouterr().err
