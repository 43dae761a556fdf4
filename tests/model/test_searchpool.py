"""A search waits for its threads, wherever Ctrl-C interrupts it."""

import sys
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
import pytest

from rocketproof_model.explicit import loops
from rocketproof_model.explicit.pool import SearchPool, ThreadEnd


def waiting(ended: ThreadEnd) -> SearchPool:
    """A pool that waits for a single thread."""
    pool = SearchPool.__new__(SearchPool)
    pool.running, pool.interrupted, pool.shared = [ended], False, np.zeros(loops.SHARED, dtype=np.int64)
    return pool


def interrupted_at(number: int, work: Any) -> bool:
    """Run `work` with Ctrl-C after `number` lines and returns of Python. Return whether this point was reached."""
    left = [number]

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is not work.__code__ and event in ("line", "return"):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass  # not caught between two waits: the search then stops the threads
    finally:
        sys.settrace(None)
    return left[0] <= 0


@pytest.mark.parametrize("first", range(1, 41, 8))
def test_a_wait_ends_with_its_thread_wherever_ctrl_c_interrupts(first: int) -> None:
    def each() -> None:
        for number in range(first, first + 8):
            ended = ThreadEnd()
            pool = waiting(ended)
            thread = threading.Thread(target=lambda ended=ended: (time.sleep(0.01), ended.set()), daemon=True)
            thread.start()
            interrupted.append(interrupted_at(number, lambda pool=pool: pool._wait(lambda: False)))
            pool.halt()
            ended_waits.append(ended.reached)

    interrupted: list[bool] = []
    ended_waits: list[bool] = []
    worker = threading.Thread(target=each, daemon=True)
    worker.start()
    worker.join(30)
    assert ended_waits == [True] * 8, f"{len(ended_waits)} of eight waits ended: a wait never returned"
    assert first > 1 or any(interrupted)
