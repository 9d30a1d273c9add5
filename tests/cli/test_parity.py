import json
from pathlib import Path

import pytest

from tests.cli.commands import run


def test_parity_of_equal_recordings_exits_0(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("parity", str(reference / "head" / "useful__bline.npz")) == 0
    out = capsys.readouterr().out
    assert "0 differences in 400 steps of 1 files" in out
    assert "n_removable" in out


def test_parity_names_a_process_id_reuse(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("parity", str(reference / "head" / "heuristic__saboteur.npz")) == 0
    assert "process-id re-use" in capsys.readouterr().out


def test_parity_with_differences_exits_1_and_says_where(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = reference / "leaderboard-2022" / "react_restore__meander.npz"
    assert run("parity", str(path), "--rules", "head", "--json") == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["differences"] > 0
    assert report["fields"]["reward10"]["first"].startswith("episode ")
    assert run("parity", str(path), "--rules", "leaderboard-2022") == 0


def test_parity_of_a_malformed_file_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.npz"
    path.write_text("nothing")
    assert run("parity", str(path)) == 3
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}: not a readable npz recording")
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("parity", "nowhere.npz", "--debug") == 3
    assert "Traceback" in capsys.readouterr().err
