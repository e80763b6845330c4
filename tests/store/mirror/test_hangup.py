"""Nobody has to sit out a silent server's time limit."""

from __future__ import annotations

import threading

import pytest

from trackio_like.errors import RemoteUnavailableError
from trackio_like.hub.hangup import Hangup

GATE_S = 20


def test_a_question_is_answered_and_its_error_is_raised_here():
    assert Hangup().ask(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        Hangup().ask(lambda: 1 // 0)


def test_a_question_that_hangs_is_left_where_somebody_hangs_up():
    hangup, gate, asked = Hangup(), threading.Event(), threading.Event()

    def hang():
        asked.set()
        gate.wait(GATE_S)

    def hang_up():
        asked.wait(GATE_S)
        hangup.now()

    thread = threading.Thread(target=hang_up)
    thread.start()
    with pytest.raises(RemoteUnavailableError):
        hangup.ask(hang)
    assert not gate.is_set()
    gate.set()
    thread.join()


def test_after_hanging_up_nothing_is_asked():
    hangup = Hangup()
    hangup.now()
    with pytest.raises(RemoteUnavailableError):
        hangup.ask(lambda: pytest.fail("asked"))


def test_work_is_passed_on_as_it_comes_and_ends_without_an_error():
    hangup, gate = Hangup(), threading.Event()

    def work():
        yield 1
        assert gate.wait(GATE_S)
        yield 2

    found = hangup.apart(work)
    assert next(found) == 1
    gate.set()
    assert list(found) == [2]


def test_work_ends_early_where_somebody_hangs_up():
    hangup, gate = Hangup(), threading.Event()

    def work():
        yield 1
        gate.wait(GATE_S)

    found = hangup.apart(work)
    assert next(found) == 1
    hangup.now()
    assert list(found) == []
    gate.set()
