"""A search waits for its threads, wherever Ctrl-C comes."""

import sys
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
import pytest

from rocketproof_model.explicit import loops
from rocketproof_model.explicit.crew import Crew, ThreadEnd


def waiting(ended: ThreadEnd) -> Crew:
    """A crew that waits for one thread, and for nothing else."""
    crew = Crew.__new__(Crew)
    crew.running, crew.interrupted, crew.shared = [ended], False, np.zeros(loops.SHARED, dtype=np.int64)
    return crew


def interrupted_at(number: int, work: Any) -> bool:
    """Do some work with Ctrl-C behind so many lines and returns of Python's; whether it came."""
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
        pass  # between two waits nobody catches it: whoever searches stops the threads then
    finally:
        sys.settrace(None)
    return left[0] <= 0


@pytest.mark.parametrize("first", range(1, 41, 8))
def test_whoever_waits_for_a_thread_hears_of_its_end_wherever_ctrl_c_comes(first: int) -> None:
    def each() -> None:
        for number in range(first, first + 8):
            ended = ThreadEnd()
            crew = waiting(ended)
            thread = threading.Thread(target=lambda ended=ended: (time.sleep(0.01), ended.set()), daemon=True)
            thread.start()
            came.append(interrupted_at(number, lambda crew=crew: crew._wait(lambda: False)))
            crew.halt()
            heard.append(ended.reached)

    came: list[bool] = []
    heard: list[bool] = []
    worker = threading.Thread(target=each, daemon=True)
    worker.start()
    worker.join(30)
    assert heard == [True] * 8, f"of eight interruptions {len(heard)} were survived: somebody waits for ever"
    assert first > 1 or any(came)
