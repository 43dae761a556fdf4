"""Search for an offset by time on real releases: several messages of one time, and times near theirs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_traces.stored.record import record_at, records_in

COMMANDS = ("java", "mvn")
SECONDS, SOON = 5.0, 2.0
BATCH = [["a", {}], ["b", {}], ["c", {}]]
BETWEEN = 0.2
"""Seconds between the messages of queue 0."""


@pytest.mark.parametrize("version", ["4.9.4", "5.1.0", "5.1.1", "5.1.4", "5.3.3"])
@pytest.mark.behaviour("REM-04")
def test_release_finds_offsets_by_time_as_implementation_does(version: str) -> None:
    with Apache(version).open() as running, InProcess(nearest_profile(version)).open() as ours:
        assert seen(running) == seen(ours)


def seen(running: Deployment) -> dict[str, Any]:
    """Return the offset for each time by position: without a bound, with the lower bound and with the upper bound."""
    line = TcpConnection(running.brokers["broker-a"])

    def ask(name: str, **args: Any) -> Command:
        return line.ask(plain(name, **args), SECONDS)

    def offset(at: int, queue: int = 0, topic: str = "A", **more: Any) -> str:
        answer = ask("search", topic=topic, queue=queue, time=at, **more)
        assert answer.code == 0 and answer.remark is None
        return str((answer.ext_fields or {})["offset"])

    try:
        for queue, items in ((0, None), (0, BATCH), (0, None), (1, BATCH)):
            assert ask("send", queue=queue, items=items).code == 0
            time.sleep(BETWEEN)  # a broker has no clock but the machine's
        end = until(lambda: (ask("max_offset", queue=1).ext_fields or {})["offset"], lambda found: found == "3", SOON, 0.05)
        assert end == "3", "the messages were not dispatched"
        stored = [present.store_timestamp for data in records_in(ask("pull").body or b"") if (present := record_at(data, 0)) is not None]
        first, batch, last = stored[0], stored[1], stored[4]
        assert stored == [first, batch, batch, batch, last] and first + 50 < batch < last - 50
        times = {"before": first - 1, "first": first, "behind": first + 1, "batch": batch, "late": batch + 1, "last": last, "end": last + 1}
        found: dict[str, Any] = {
            name: [offset(at), offset(at, upper=False), offset(at, upper=True)] for name, at in (times | {"never": 1 << 60, "0": 0}).items()
        }
        found["nothing"] = [offset(first, queue=2), offset(first, queue=9), offset(first, queue=-1), offset(first, topic="nowhere")]
        found["without"] = [ask("search", without=name).code for name in ("timestamp", "queueId", "topic")]
    finally:
        line.close()
    return found
