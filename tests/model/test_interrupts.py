"""A block that must complete does complete: a signal waits for its end and is not lost."""

import signal
import threading

import pytest

from rocketproof_model.interrupts import interrupt, uninterrupted


def test_ctrl_c_is_raised_after_the_block() -> None:
    done = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_error_inside_is_raised_and_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="inside"), uninterrupted():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nothing_is_changed() -> None:
    seen = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_a_thread_that_computes_is_interrupted() -> None:
    begun, ended = threading.Event(), []

    def work() -> None:
        try:
            while True:
                begun.set()
        except KeyboardInterrupt:
            ended.append("interrupted")

    thread = threading.Thread(target=work, daemon=True)
    interrupt(thread)  # the thread has not begun
    thread.start()
    assert begun.wait(30)
    interrupt(thread)
    thread.join(30)
    assert ended == ["interrupted"]
