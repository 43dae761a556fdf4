"""Compare the histories of one program on two brokers: responses, topics, queues and records, without inherent differences.

Inherent differences are names, times of birth, places in the log, addresses, ids that a broker generates, and state that programs share.
Queues that a broker selects are compared per topic: the number of messages and their content.
"""

from __future__ import annotations

import itertools
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record as records
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, REAL_TOPIC
from rocketproof_protocol.properties import REAL_QID as REAL_QUEUE
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_TOPICS
from rocketproof_traces.history.exchange import MESSAGE_ID, Exchange
from rocketproof_traces.stored.record import born_of

from ...brokers.runs.parsed import ParsedHistory
from ...brokers.runs.queries import REACHES
from ...brokers.runs.recording import body_of
from ...judging.reference import comparison
from ...judging.reference.comparison import ENTRY, FieldDifference, RecordedResponse, RunComparison, message_data
from ...judging.reference.dispatched import ENDS, NOTHING_THERE, is_soon
from ...judging.reference.readback import NEXT_OFFSET

_LONG: Final = re.compile(r"(.)\1{99,}")
_OWN: Final = ("storeHost", "physOffset", "bornTimestamp")
"""Fields of a record that always differ between two brokers."""
_TIME: Final = "timestamp"
_TEXT: Final = "propertiesText"
_HALF: Final = "preparedTxOffset"
"""The place of the half message that was committed."""
_NOWHERE: Final = "0" * 32
_RECALL: Final = "recallHandle"
_SAME: Final = RunComparison("5.", None)
"""Ignores places, and ids that a broker may generate."""


def compare(first: ParsedHistory, second: ParsedHistory) -> list[FieldDifference]:
    """Return the first difference of a response; if there is none, all differences of the state.

    `recorded` is the value of the first broker.
    """
    answers = next(iter(_answers(first, second)), None)
    if answers is not None:
        return [answers]
    return [*_topics(first, second), *_queues(first, second), *_records(first, second)]


def bare(history: ParsedHistory, value: Any) -> Any:
    """Remove the prefix of the program's names from a value. Padding is shortened, because its length depends on the prefix."""
    if isinstance(value, str):
        prefix = history.names.prefix
        return _LONG.sub(r"\1…", value.replace(prefix, "")) if prefix else value
    if isinstance(value, Mapping):
        return {bare(history, key): bare(history, item) for key, item in value.items()}
    return [bare(history, item) for item in value] if isinstance(value, list | tuple) else value


# Answers


def _requests(history: ParsedHistory) -> list[Exchange]:
    """Return the requests, without all but the last of immediately repeated requests for a route."""
    requests: list[Exchange] = []
    for request in history.exchanges:
        if requests and request.op == requests[-1].op == "route" and request.fields == requests[-1].fields:
            requests.pop()
        requests.append(request)
    return requests


def _answers(first: ParsedHistory, second: ParsedHistory) -> Iterator[FieldDifference]:
    for first_request, second_request in itertools.zip_longest(_requests(first), _requests(second)):
        if first_request is None or second_request is None or first_request.request["code"] != second_request.request["code"]:
            present = first_request or second_request
            yield FieldDifference(
                "request",
                first_request and first_request.op,
                second_request and second_request.op,
                str(present),
                first_request.seq if first_request else -1,
            )
            return
        yield from (
            replace(difference, where=str(first_request), seq=first_request.seq)
            for difference in _of_request(first, first_request, second, second_request)
        )


def _of_request(
    first: ParsedHistory, first_request: Exchange, second: ParsedHistory, second_request: Exchange
) -> Iterator[FieldDifference]:
    if (first_request.closed, len(first_request.strays)) != (second_request.closed, len(second_request.strays)):
        yield FieldDifference("answers", _how_many(first_request), _how_many(second_request))
        return
    if first_request.closed != "ok":
        return
    recorded, answered = _answer(first, first_request), _answer(second, second_request)
    early = is_soon(first, first_request) or is_soon(second, second_request)
    if recorded.code != answered.code:
        if not early or {recorded.code, answered.code}.isdisjoint(NOTHING_THERE.get(first_request.op, ())):
            yield FieldDifference("code", [recorded.code, recorded.remark], [answered.code, answered.remark])
        return
    if early and first_request.op in ENDS:
        return
    counted = {_TIME, *REACHES, *(("queueOffset",) if _is_shared(first, first_request) else ())}
    if bare(first, first_request.fields.get("topic", "")) in _drawn(first):
        counted |= {"queueId", "queueOffset"} if first_request.fields.get("queueId", "").startswith("-") else {"queueOffset"}
    command = Command(int(answered.code or 0), dict(answered.fields), remark=answered.remark)
    for item in _SAME.answer(recorded, command, counted):
        yield replace(item, field=item.field.removeprefix("extFields."))
    first_time, second_time = recorded.fields.get(_TIME), answered.fields.get(_TIME)
    if first_time is not None and second_time is not None and (first_time == "-1") != (second_time == "-1"):
        yield FieldDifference(_TIME, first_time, second_time)
    if first_request.op == "route" and recorded.code == 0:
        routes = [
            bare(history, comparison.route(body_of(item.outcome), history.names.is_mine))
            for history, item in ((first, first_request), (second, second_request))
        ]
        yield from comparison.values("route", *routes)


def _answer(history: ParsedHistory, request: Exchange) -> RecordedResponse:
    """Return the response, with broker-specific names and ids replaced."""
    remark, fields = request.outcome.get("remark"), bare(history, request.outcome.get("fields") or {})
    if "msgId" in fields:
        fields["msgId"] = MESSAGE_ID.sub(_NOWHERE, fields["msgId"])
    if _RECALL in fields:
        fields[_RECALL] = _handle(history, fields[_RECALL])
    return RecordedResponse(request.code, None if remark is None else bare(history, remark), fields)


def _handle(history: ParsedHistory, text: str) -> str:
    """Return the content of a recall handle without the time and the generated id of its message; other texts unchanged."""
    try:
        version, topic, broker, _, key = urlsafe_b64decode(text).decode().split(" ")
    except ValueError:
        return text
    return " ".join((version, *bare(history, [topic, broker, MESSAGE_ID.sub(_NOWHERE, key)])))


def _how_many(request: Exchange) -> str:
    return f"{(request.closed == 'ok') + len(request.strays)} answers"


def _is_shared(history: ParsedHistory, request: Exchange) -> bool:
    """Return whether the message may be stored among the messages of other programs."""
    text = request.fields.get("properties", "")
    elsewhere = any(f"{name}\x01" in text for name in (DELAY, "TRAN_MSG"))
    return elsewhere or not history.names.is_mine(request.fields.get("topic", ""))


# State


def _topics(first: ParsedHistory, second: ParsedHistory) -> Iterator[FieldDifference]:
    first_topics, second_topics = _own_topics(first), _own_topics(second)
    for name in dict.fromkeys((*first_topics, *second_topics)):
        first_config, second_config = first_topics.get(name), second_topics.get(name)
        where = f"topic {_named(first, name)}"
        if first_config is None or second_config is None:
            yield FieldDifference(ENTRY, first_config, second_config, where)
            continue
        for key in dict.fromkeys((*first_config, *second_config)):
            if first_config.get(key) != second_config.get(key):
                yield FieldDifference(key, first_config.get(key), second_config.get(key), where)


def _own_topics(history: ParsedHistory) -> dict[str, dict[str, Any]]:
    """Return the program's own topics from the broker's table."""
    all_ = history.states.get("topics", {}).get("topics") or {}
    return {bare(history, name): bare(history, config) for name, config in all_.items() if history.names.is_mine(name)}


def _named(history: ParsedHistory, name: str) -> str:
    """Return a topic's full name."""
    kind = next((kind for kind in (RETRY_PREFIX, DLQ_PREFIX) if name.startswith(kind)), "")
    return f"{kind}{history.names.prefix}{name.removeprefix(kind)}"


def _drawn(history: ParsedHistory) -> set[str]:
    """Return the topics for which a broker may have selected a queue."""
    topics = {request.fields.get("topic", "") for request in history.exchanges if request.fields.get("queueId", "").startswith("-")}
    given_back = any(request.op == "send_back" for request in history.exchanges)
    counted = history.states.get("topics", {}).get("topics", {})
    return {bare(history, name) for name in (*topics, *(name for name in counted if given_back and name.startswith(RETRY_PREFIX)))}


def _queues(first: ParsedHistory, second: ParsedHistory) -> Iterator[FieldDifference]:
    drawn = _drawn(first) | _drawn(second)

    def ends(history: ParsedHistory) -> dict[tuple[str, int], int]:
        totals: dict[tuple[str, int], int] = {}
        for topic, queue, end, *_ in history.states.get("queues", {}).get("queues", ()):
            name = bare(history, topic)
            key = (name, -1 if name in drawn else queue)
            totals[key] = totals.get(key, 0) + end
        return totals

    first_ends, second_ends = ends(first), ends(second)
    for topic, queue in dict.fromkeys((*first_ends, *second_ends)):
        first_end, second_end = first_ends.get((topic, queue), 0), second_ends.get((topic, queue), 0)
        if first_end != second_end:
            yield FieldDifference(
                NEXT_OFFSET,
                first_end,
                second_end,
                f"queue {queue} of {_named(first, topic)}" if queue >= 0 else f"queues of {_named(first, topic)}",
            )


def _records(first: ParsedHistory, second: ParsedHistory) -> Iterator[FieldDifference]:
    drawn = _drawn(first) | _drawn(second)
    first_records, second_records = (_by_birth(history, drawn) for history in (first, second))
    for key in dict.fromkeys((*first_records, *second_records)):
        first_record, second_record = first_records.get(key), second_records.get(key)
        if first_record is None or second_record is None:
            where = f"the record of message {key[0]} in {key[1]}"
            first_text, second_text = (_presence(key[1], entry) for entry in (first_record, second_record))
            yield FieldDifference("content", first_text, second_text, where)
            continue
        where = f"the record at {first_record[0]} ({_named(first, key[1])}, queue {first_record[1].get('queueId', 0)})"
        for difference in _SAME.record("", first_record[1], second_record[1]):
            name = difference.field
            yield replace(difference, field=f"property {name.removeprefix('props.')}" if name.startswith("props.") else name, where=where)


def _presence(topic: str, entry: tuple[int, dict[str, Any]] | None) -> str:
    """Describe whether there is a record. For a topic that all programs share, also name the record's original topic."""
    if entry is None:
        return "none"
    return f"a record in {topic}, for {entry[1]['props'].get(REAL_TOPIC, topic)}" if topic in SYSTEM_TOPICS else "a record"


def _by_birth(history: ParsedHistory, drawn: set[str]) -> dict[tuple[int, str, int], tuple[int, dict[str, Any]]]:
    """Return the place and the content of each record.

    The key is the birth time of its message, its topic, and an index among records with equal values of both.
    """
    result: dict[tuple[int, str, int], tuple[int, dict[str, Any]]] = {}
    first = min(
        (whole_number(request.fields["bornTimestamp"]) for request in history.exchanges if "bornTimestamp" in request.fields), default=0
    )
    all_ = history.records
    for at, data in sorted(all_.items()):
        message = records.decode(data, exact=False)
        if message is None or records.size_and_magic(data)[1] == records.BLANK_MAGIC:
            continue
        topic = bare(history, message.topic)
        content = bare(history, {**message_data(message), "body": message.body})
        ignored = (
            *_OWN,
            *(("queueId", "queueOffset") if topic in drawn else () if history.names.is_mine(message.topic) else ("queueOffset",)),
        )
        for name in ignored:
            del content[name]
        if content[_HALF] or message.transaction == COMMIT:  # a log may begin with its half message
            half = all_.get(content[_HALF])
            content[_HALF] = "a place" if half is None else f"the message born {born_of(half) - first} ms after the first"
        if drawn:
            content["props"].pop(REAL_QUEUE, None)
            del content[_TEXT]
        elif content[_TEXT] is not None:
            content[_TEXT] = MESSAGE_ID.sub("…", content[_TEXT])
        turn = next(turn for turn in itertools.count() if (message.born_timestamp - first, topic, turn) not in result)
        result[message.born_timestamp - first, topic, turn] = at, content
    return result
