import pytest

from tests.cli.commands import run


def test_play_prints_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("play", "--plain", "--seed", "3", "--red", "meander", "--horizon", "12")
    assert run(*words) == 0
    first = capsys.readouterr().out
    assert [f"step {i}/12" in first for i in range(13)] == [True] * 13
    assert "DecoyFemitter Enterprise2" in first
    assert run(*words) == 0
    assert capsys.readouterr().out == first
