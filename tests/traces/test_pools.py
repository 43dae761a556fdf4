"""Work on processes of this machine: all answers, Ctrl-C by the parent only, and one line where a process is killed."""

from __future__ import annotations

import os
import signal

import pytest

from rocketproof_traces.errors import TraceError
from rocketproof_traces.pools import on_processes


def doubled(item: str) -> str:
    return f"{item}{item} {os.getpid()}"


def killed(item: str) -> str:
    if item == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_processes_give_all_answers() -> None:
    found = [answer.split() for answer in on_processes(2, few=1)(doubled, list("abcde"))]
    assert sorted(word for word, _ in found) == ["aa", "bb", "cc", "dd", "ee"]
    assert str(os.getpid()) not in {pid for _, pid in found}


@pytest.mark.parametrize(("workers", "items"), [(1, "abcdefgh"), (2, "abcd")])
def test_few_items_and_one_worker_need_no_process(workers: int, items: str) -> None:
    assert [answer.split()[1] for answer in on_processes(workers)(doubled, list(items))] == [str(os.getpid())] * len(items)


def test_a_process_that_is_killed_is_one_line() -> None:
    with pytest.raises(TraceError, match="was ended from outside"):
        list(on_processes(2, few=1)(killed, list("12345")))
