import signal
import threading
from collections.abc import Iterator

import pytest

from standing_orders.runs.stopping import (
    Stopped,
    end_if_asked,
    heeding_signals,
    is_asked,
    updating,
)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A signal that is ignored from the beginning, as under nohup, would stay ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_waits_for_the_end_of_an_update(number: signal.Signals, code: int) -> None:
    with pytest.raises(Stopped) as stop, heeding_signals(), updating():
        end_if_asked()
        assert not is_asked()
        signal.raise_signal(number)
        assert is_asked()
        end_if_asked()
    assert stop.value.exit_code == code
    assert not is_asked()


def test_where_nothing_is_updated_it_does_not_wait() -> None:
    with pytest.raises(Stopped), heeding_signals():
        signal.raise_signal(signal.SIGTERM)


def test_a_second_signal_does_not_wait() -> None:
    with pytest.raises(Stopped) as stop, heeding_signals(), updating():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    assert stop.value.exit_code == 129


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeding_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_nothing_changes() -> None:
    seen = []

    def look() -> None:
        with heeding_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
