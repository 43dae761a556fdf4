"""Performs a program's steps: each client its own in order, and all clients of a round concurrently."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rocketproof_protocol.numbers import whole_number

from ...programs.vocabulary import Step
from .client import ProgramClient


def rounds(steps: Sequence[Step]) -> Iterator[dict[int, list[Step]]]:
    """Yield the steps by client, up to each barrier."""
    by_client: dict[int, list[Step]] = {}
    for step in steps:
        if step[0] == "meet":
            if by_client:
                yield by_client
            by_client = {}
        else:
            by_client.setdefault(whole_number(step[1].get("client", 0)), []).append(step)
    if by_client:
        yield by_client


def perform(steps: Sequence[Step], clients: Mapping[int, ProgramClient], enough: Callable[[], bool]) -> None:
    """Run a program: each client performs its own steps in order, the clients of a round concurrently. `enough` ends it early."""

    def work(client: ProgramClient, mine: Sequence[Step]) -> None:
        for step in mine:
            if enough() or client.lost > 2:
                return
            client.step(step)

    for round_ in rounds(steps):
        if len(round_) == 1:
            ((number, mine),) = round_.items()
            work(clients[number], mine)
            continue
        problems: list[BaseException] = []
        start = threading.Barrier(len(round_))

        def run(number: int, mine: Sequence[Step], start: threading.Barrier = start, problems: list[Any] = problems) -> None:
            try:
                start.wait()  # waits for our own threads only, which all arrive, however busy the machine is
                work(clients[number], mine)
            except (Exception, KeyboardInterrupt) as problem:  # noqa: BLE001 - raised again in the thread that waits
                problems.append(problem)

        threads = [threading.Thread(target=run, args=item, daemon=True) for item in round_.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
