"""Recorded programs of real releases that were accused although they did as the release does, and what is still noticed in them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocketproof_impl.message import properties_text
from rocketproof_impl.store import record
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.parsed import ParsedHistory, parse
from rocketproof_properties.judging.judging import judge
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_traces.history import Event, read

DATA = Path(__file__).parents[1] / "data"
PROFILE = {"5.3.3": "P533", "4.9.3": "P493"}
Spoil = Callable[[Event], Event]


def history(name: str, spoil: Spoil | None = None) -> ParsedHistory:
    header, events = read(DATA / f"history-{name}.ndjson.gz")
    return parse([event if spoil is None else spoil(event) for event in events], header)


def judged(name: str, spoil: Spoil | None = None, profile: str = "") -> JudgedProgram:
    return judge(history(name, spoil), Path(name), profile or PROFILE[name.partition("-")[0]])


def properties(judged: JudgedProgram) -> list[str]:
    return [finding.property for finding in judged.findings]


def timed(**changed: str | None) -> Spoil:
    """Change properties of the last record read back; None removes one."""

    def spoil(event: Event) -> Event:
        if event.op != "records":
            return event
        *rows, last = event.value["records"]
        message = record.decode(base64.b64decode(last["data"]), exact=False)
        assert message is not None
        named = {name: value for name, value in (message.properties | changed).items() if value is not None}
        message.properties, message.properties_text = named, properties_text(named, trailing=True)
        data = base64.b64encode(record.encode(message, record.parts_of(message))).decode()
        return replace(event, value={**event.value, "records": [*rows, {**last, "data": data}]})

    return spoil


def answered(op: str, number: int, **changed: object) -> Spoil:
    """Change the response to the `number`-th request of a kind."""
    seen = iter(range(1000))

    def spoil(event: Event) -> Event:
        if (event.type, event.op) != ("ok", op) or next(seen) != number:
            return event
        return replace(event, value={**event.value, **changed})

    return spoil


@pytest.mark.parametrize(
    "name",
    [
        "5.3.3-attributes",
        "5.3.3-timer-delivered",
        "5.3.3-timer-at-a-time",
        "5.3.3-recalled-by-topic",
        "5.3.3-checked-too-often",
        "4.9.3-operation-queue",
    ],
)
def test_release_that_does_as_it_does_is_not_accused(name: str) -> None:
    found = judged(name)
    assert (found.findings, found.unconfirmed, found.unknown) == ([], [], ())
    assert set(found.by) == {"specification", "claims", "reference"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"TIMER_DEQUEUE_MS": "1"}, "TIMER_DEQUEUE_MS"),
        ({"TIMER_DEQUEUE_MS": "soon"}, "TIMER_DEQUEUE_MS"),
        ({"TIMER_DEQUEUE_MS": None}, "TIMER_DEQUEUE_MS"),
        ({"TIMER_ENQUEUE_MS": "1795922600001"}, "TIMER_ENQUEUE_MS"),
        ({"TIMER_OUT_MS": "1795922600000"}, "TIMER_OUT_MS"),
    ],
)
def test_wrong_times_of_timer_are_noticed(changed: dict[str, str | None], field: str) -> None:
    assert properties(judged("5.3.3-timer-delivered", timed(**changed))) == [f"record.property {field}"]


def test_timer_at_point_in_time_follows_target_clock() -> None:
    assert properties(judged("5.3.3-timer-at-a-time", timed(TIMER_OUT_MS="1000"))) == ["record.property TIMER_OUT_MS"]


def test_keys_of_cancelled_timers_differ_by_release() -> None:
    """Under the other rule the reference delivers the message, and the release does not."""
    parsed = history("5.3.3-recalled-by-topic")
    judged = judge(parsed, Path("x"), "P533", ("reference",))
    assert not judged.findings
    other = judge(parsed, Path("x"), "P540", ("reference",))
    assert other.findings


def test_unrequested_attributes_are_noticed() -> None:
    def spoil(event: Event) -> Event:
        if event.type == "invoke" and event.op == "update_topic":
            return replace(event, value={**event.value, "fields": {n: v for n, v in event.value["fields"].items() if n != "attributes"}})
        return event

    assert properties(judged("5.3.3-attributes", spoil)) == ["topic.attributes"]


def test_other_fields_of_topic_with_attributes_are_noticed() -> None:
    def spoil(event: Event) -> Event:
        if event.op != "topics":
            return event
        table = {name: {**row, "writeQueueNums": 3} for name, row in event.value["topics"].items()}
        return replace(event, value={**event.value, "topics": table})

    assert "topic.writeQueueNums" in properties(judged("5.3.3-attributes", spoil))


def test_operation_queue_never_gets_shorter_from_490_on() -> None:
    """4.7.1 and 4.8.0 shorten it: their profiles state so, and P493 does not."""
    found = judged("4.9.3-operation-queue", answered("max_offset", 1, fields={"offset": "0"}))
    assert [(finding.property, "1 or more" in finding.text) for finding in found.findings] == [("max_offset.offset", True)]


def test_operation_queue_that_others_fill_is_not_compared() -> None:
    for before, after in (("1", "1"), ("7", "7"), ("7", "9"), ("0", "1")):
        first, second = answered("max_offset", 0, fields={"offset": before}), answered("max_offset", 1, fields={"offset": after})
        assert not judged("4.9.3-operation-queue", lambda event, a=first, b=second: b(a(event))).findings  # type: ignore[misc]


@pytest.mark.parametrize("name", ["5.3.3-forgotten-late", "5.3.3-left-alone"])
def test_closed_connection_may_be_noticed_late(name: str) -> None:
    """It is a finding if each repetition of the program shows it."""
    found = judged(name)
    assert not found.findings
    assert [finding.property for finding in found.unconfirmed] == ["route.code"]


def test_lost_route_without_next_registration_is_noticed() -> None:
    def spoil(event: Event) -> Event:
        return replace(event, op="wait", value={"millis": 0}) if event.op == "disconnect" else event

    assert properties(judged("5.3.3-forgotten-late", spoil)) == ["route.code"]


@pytest.mark.parametrize(("profile", "most"), [("P410", 1), ("P420", 2)])
def test_pull_of_too_few_records_is_noticed_at_once(profile: str, most: int) -> None:
    """This holds although the messages were sent just before: the same response shows that all are dispatched."""
    header, events = read(DATA / "releases/P410-stops_pulls_early.ndjson.gz")
    parsed = parse(list(events), header)
    assert parsed.exchanges[-1].sent_millis - parsed.exchanges[0].sent_millis < 1000
    judged = judge(parsed, Path("x"), profile, ("reference",))
    assert bool(judged.findings) is (most == 2)
    assert PROFILES[profile].stops_pulls_early is (most == 1)
