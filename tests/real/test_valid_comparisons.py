"""Programs for which the judge wrongly reported real releases: it now reports no difference, and each release follows its profile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ASKED, at_start
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC, OP_HALF_TOPIC
from rocketproof_traces.history.exchange import Exchange

COMMANDS = ("java", "mvn")
WHEEL = "timerWheelEnable=true"
A: dict[str, Any] = {"topic": "A", "queue": 0}
HALF: Step = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})


@contextmanager
def runner_on(version: str, folder: Path, needs: str = "") -> Iterator[Runner]:
    target = Apache(version)
    origin = {"target": {"name": target.name, "version": version}, "profile": target.profile}
    with target.open(Setup(settings=at_start(needs))) as running:
        runner = Runner(running, folder, origin, Bounds(1), mark(), clean=True)
        yield runner
        runner.close()


def judged(runner: Runner, version: str, *steps: Step, needs: str = "") -> JudgedProgram:
    return judge_file(runner.perform(Program(1, "", steps, needs)), Apache(version).profile)


def asked(found: JudgedProgram, op: str) -> list[Exchange]:
    return [exchange for exchange in load(found.path).exchanges if exchange.op == op]


def timed(key: str, **properties: object) -> Step:
    return "send", {**A, "properties": {"UNIQ_KEY": key, **{name: str(value) for name, value in properties.items()}}}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.0.0-incubating", [1, 1, 2, 4, 5]), ("4.1.0-incubating", [1, 1, 2, 4, 5]), ("4.2.0", [1, 2, 3, 5, 5]), ("4.9.4", [1, 2, 3, 5, 5])],
)
def test_pulls_of_at_most_n(version: str, expected: Sequence[int], tmp_path: Path) -> None:
    with runner_on(version, tmp_path) as runner:
        steps = [("send", A)] * 5 + [("pull", {"topic": "A", "most": most}) for most in (1, 2, 3, 5, 6)]
        found = judged(runner, version, *steps)
    assert [int(exchange.response_fields["nextBeginOffset"]) for exchange in asked(found, "pull")] == expected
    assert [finding.property for finding in found.findings if finding.seq >= 0] == []


@pytest.mark.parametrize(
    ("version", "length"),
    [
        *((version, 0) for version in ("4.3.2", "4.5.2", "4.6.1", "4.7.1", "4.8.0")),
        *((version, 1) for version in ("4.9.0", "4.9.3", "4.9.4")),
    ],
)
def test_operation_queue_after_deletion(version: str, length: int, tmp_path: Path) -> None:
    ends: Step = ("max_offset", {"topic": OP_HALF_TOPIC})
    with runner_on(version, tmp_path) as runner:
        found = judged(
            runner, version, HALF, ("end", {}), ("send", {"topic": "B"}), ("time", {"millis": 300}), ends, ("delete", {"topic": "B"}), ends
        )
    assert [exchange.response_fields["offset"] for exchange in asked(found, "max_offset")] == ["1", str(length)]
    assert (found.findings, found.unconfirmed) == ([], [])


@pytest.mark.parametrize("version", ["5.0.0", "5.1.0", "5.2.0", "5.3.3", "5.4.0", "5.5.0"])
def test_timers(version: str, tmp_path: Path) -> None:
    """Messages with a time: delivered ones, and ones cancelled by key, or by topic and key."""
    pause: Step = ("time", {"millis": 5500})
    with runner_on(version, tmp_path, WHEEL) as runner:
        now = round(time.time() * 1000)
        for steps in (
            [timed("U1", TIMER_DELIVER_MS=now + 26_000), ("time", {"millis": 300})],
            [timed("U1", TIMER_DELIVER_MS=now - 26_000)],
            [timed("U1", TIMER_DELAY_MS=2100), pause, ("pull", {"topic": "A"})],
            *([timed("U1", TIMER_DELAY_SEC=3), timed("X", TIMER_DELAY_SEC=3, TIMER_DEL_UNIQKEY=key), pause] for key in ("U1", "A+U1")),
        ):
            found = judged(runner, version, *steps, needs=WHEEL)
            assert (found.findings, found.unconfirmed, found.unknown) == ([], [], ())


@pytest.mark.parametrize("version", ["5.0.0", "5.3.3", "5.5.0"])
def test_attributes_of_topics(version: str, tmp_path: Path) -> None:
    with runner_on(version, tmp_path) as runner:
        for text in ("+message.type=NORMAL", "+message.type=WHAT", "+bad=1", "message.type", "+queue.type=BatchCQ"):
            found = judged(runner, version, ("topic", {"topic": "A", "altered": ("attributes", text)}), ("send", A))
            assert (found.findings, found.unconfirmed) == ([], [])


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_half_messages_beyond_check_limit_are_recorded(version: str, tmp_path: Path) -> None:
    given_up = {"topic": CHECK_MAX_TIME_TOPIC}
    steps: list[Step] = [("heartbeat", {"group": "producers"}), HALF, ("question", {}), ("time", {"millis": 3000}), ("checked", {})]
    with runner_on(version, tmp_path, ASKED) as runner:
        for _ in range(2):
            found = judged(runner, version, *steps, ("max_offset", given_up), ("pull", given_up), needs=ASKED)
            assert (found.findings, found.unconfirmed) == ([], [])


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_brokers_that_register_while_their_old_connection_closes(version: str, tmp_path: Path) -> None:
    """In 5.3.3 the name server forgets some of them, and keeps topics of others that the new registration omits."""
    first, second = {"A": (4, 4, 6), "B": (4, 4, 6)}, {"B": (4, 4, 6), "C": (1, 1, 6)}
    with runner_on(version, tmp_path) as runner:
        for topics, counter in nonempty(((first, 1), (second, 2)) * 60):
            steps: list[Step] = [("register", {"topics": first}), ("lose", {"overlap": True})]
            found = judged(runner, version, *steps, ("register", {"topics": topics, "version": counter}), ("route", {"topic": "A"}))
            assert found.findings == []
