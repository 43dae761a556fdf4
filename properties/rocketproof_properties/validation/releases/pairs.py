"""Where two brokers differ in one program: answers, topics, queues and records, without what differs by nature.

Names, times of birth and places in the log are each run's own, and so are addresses, ids that a broker makes up, and what programs
share. A queue that a broker draws is compared by its topic: how many messages there are, and what they say.
"""

from __future__ import annotations

import itertools
import re
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
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.client import MESSAGE_ID
from ...brokers.runs.parsed import ParsedHistory
from ...brokers.runs.queries import REACHES, born_of
from ...brokers.runs.recording import body_of
from ...judging.reference import comparison
from ...judging.reference.cases import RecordedResponse
from ...judging.reference.comparison import ENTRY, FieldDifference, RunComparison, message_data
from ...judging.reference.dispatched import ENDS, NOTHING_THERE, is_soon
from ...judging.reference.readback import NEXT_OFFSET

_LONG: Final = re.compile(r"(.)\1{99,}")
_OWN: Final = ("storeHost", "physOffset", "bornTimestamp")
"""Of a record: what no two brokers share."""
_TIME: Final = "timestamp"
_TEXT: Final = "propertiesText"
_HALF: Final = "preparedTxOffset"
"""Where the half message is that was committed."""
_NOWHERE: Final = "0" * 32
_SAME: Final = RunComparison("5.", None)
"""Places are each side's own, and so are ids that a broker may make up."""


def compare(one: ParsedHistory, other: ParsedHistory) -> list[FieldDifference]:
    """The first difference of an answer; without one all that was read back otherwise. `recorded` is what the first broker did."""
    answers = next(iter(_answers(one, other)), None)
    if answers is not None:
        return [answers]
    return [*_topics(one, other), *_queues(one, other), *_records(one, other)]


def bare(history: ParsedHistory, value: Any) -> Any:
    """A value without the beginning of the program's names; of one that was filled up to a length nobody sees how much is its own."""
    if isinstance(value, str):
        prefix = history.names.prefix
        return _LONG.sub(r"\1…", value.replace(prefix, "")) if prefix else value
    if isinstance(value, Mapping):
        return {bare(history, key): bare(history, each) for key, each in value.items()}
    return [bare(history, each) for each in value] if isinstance(value, list | tuple) else value


# Answers


def _asked(history: ParsedHistory) -> list[Exchange]:
    """The requests; of a question that was asked again at once only the last time."""
    found: list[Exchange] = []
    for each in history.exchanges:
        if found and each.op == found[-1].op == "route" and each.fields == found[-1].fields:
            found.pop()
        found.append(each)
    return found


def _answers(one: ParsedHistory, other: ParsedHistory) -> Iterator[FieldDifference]:
    for here, there in itertools.zip_longest(_asked(one), _asked(other)):
        if here is None or there is None or here.request["code"] != there.request["code"]:
            present = here or there
            yield FieldDifference("request", here and here.op, there and there.op, str(present), here.seq if here else -1)
            return
        yield from (replace(each, where=str(here), seq=here.seq) for each in _of_request(one, here, other, there))


def _of_request(one: ParsedHistory, here: Exchange, other: ParsedHistory, there: Exchange) -> Iterator[FieldDifference]:
    if (here.closed, len(here.strays)) != (there.closed, len(there.strays)):
        yield FieldDifference("answers", _how_many(here), _how_many(there))
        return
    if here.closed != "ok":
        return
    recorded, found = _answer(one, here), _answer(other, there)
    early = is_soon(one, here) or is_soon(other, there)
    if recorded.code != found.code:
        if not early or {recorded.code, found.code}.isdisjoint(NOTHING_THERE.get(here.op, ())):
            yield FieldDifference("code", [recorded.code, recorded.remark], [found.code, found.remark])
        return
    if early and here.op in ENDS:
        return
    counted = {_TIME, *REACHES, *(("queueOffset",) if _is_shared(one, here) else ())}
    if bare(one, here.fields.get("topic", "")) in _drawn(one):
        counted |= {"queueId", "queueOffset"} if here.fields.get("queueId", "").startswith("-") else {"queueOffset"}
    command = Command(int(found.code or 0), dict(found.fields), remark=found.remark)
    for each in _SAME.answer(recorded, command, counted):
        yield replace(each, field=each.field.removeprefix("extFields."))
    first, second = recorded.fields.get(_TIME), found.fields.get(_TIME)
    if first is not None and second is not None and (first == "-1") != (second == "-1"):
        yield FieldDifference(_TIME, first, second)
    if here.op == "route" and recorded.code == 0:
        routes = [
            bare(history, comparison.route(body_of(each.outcome), history.names.is_mine)) for history, each in ((one, here), (other, there))
        ]
        yield from comparison.values("route", *routes)


def _answer(history: ParsedHistory, asked: Exchange) -> RecordedResponse:
    """What was answered, with names and ids as another broker would have them."""
    remark, fields = asked.outcome.get("remark"), bare(history, asked.outcome.get("fields") or {})
    if "msgId" in fields:
        fields["msgId"] = MESSAGE_ID.sub(_NOWHERE, fields["msgId"])
    return RecordedResponse(asked.code, None if remark is None else bare(history, remark), fields)


def _how_many(asked: Exchange) -> str:
    return f"{(asked.closed == 'ok') + len(asked.strays)} answers"


def _is_shared(history: ParsedHistory, asked: Exchange) -> bool:
    """Whether the message may lie where other programs' messages do."""
    text = asked.fields.get("properties", "")
    elsewhere = any(f"{name}\x01" in text for name in (DELAY, "TRAN_MSG"))
    return elsewhere or not history.names.is_mine(asked.fields.get("topic", ""))


# What was read back


def _topics(one: ParsedHistory, other: ParsedHistory) -> Iterator[FieldDifference]:
    here, there = _mine(one), _mine(other)
    for name in dict.fromkeys((*here, *there)):
        first, second = here.get(name), there.get(name)
        where = f"topic {_named(one, name)}"
        if first is None or second is None:
            yield FieldDifference(ENTRY, first, second, where)
            continue
        for key in dict.fromkeys((*first, *second)):
            if first.get(key) != second.get(key):
                yield FieldDifference(key, first.get(key), second.get(key), where)


def _mine(history: ParsedHistory) -> dict[str, dict[str, Any]]:
    """The program's own topics as the broker has them."""
    all_ = history.states.get("topics", {}).get("topics") or {}
    return {bare(history, name): bare(history, config) for name, config in all_.items() if history.names.is_mine(name)}


def _named(history: ParsedHistory, name: str) -> str:
    """A topic's whole name."""
    head = next((head for head in (RETRY_PREFIX, DLQ_PREFIX) if name.startswith(head)), "")
    return f"{head}{history.names.prefix}{name.removeprefix(head)}"


def _drawn(history: ParsedHistory) -> set[str]:
    """The topics in which a broker may have drawn a queue."""
    topics = {each.fields.get("topic", "") for each in history.exchanges if each.fields.get("queueId", "").startswith("-")}
    given_back = any(each.op == "send_back" for each in history.exchanges)
    counted = history.states.get("topics", {}).get("topics", {})
    return {bare(history, name) for name in (*topics, *(name for name in counted if given_back and name.startswith(RETRY_PREFIX)))}


def _queues(one: ParsedHistory, other: ParsedHistory) -> Iterator[FieldDifference]:
    drawn = _drawn(one) | _drawn(other)

    def ends(history: ParsedHistory) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for topic, queue, end, *_ in history.states.get("queues", {}).get("queues", ()):
            name = bare(history, topic)
            key = (name, -1 if name in drawn else queue)
            found[key] = found.get(key, 0) + end
        return found

    here, there = ends(one), ends(other)
    for topic, queue in dict.fromkeys((*here, *there)):
        first, second = here.get((topic, queue), 0), there.get((topic, queue), 0)
        if first != second:
            yield FieldDifference(
                NEXT_OFFSET, first, second, f"queue {queue} of {_named(one, topic)}" if queue >= 0 else f"queues of {_named(one, topic)}"
            )


def _records(one: ParsedHistory, other: ParsedHistory) -> Iterator[FieldDifference]:
    drawn = _drawn(one) | _drawn(other)
    here, there = (_by_birth(history, drawn) for history in (one, other))
    for key in dict.fromkeys((*here, *there)):
        first, second = here.get(key), there.get(key)
        if first is None or second is None:
            where = f"the record of message {key[0]} in {key[1]}"
            one_, other_ = (_there(key[1], found) for found in (first, second))
            yield FieldDifference("content", one_, other_, where)
            continue
        where = f"the record at {first[0]} ({_named(one, key[1])}, queue {first[1].get('queueId', 0)})"
        for each in _SAME.record("", first[1], second[1]):
            name = each.field
            yield replace(each, field=f"property {name.removeprefix('props.')}" if name.startswith("props.") else name, where=where)


def _there(topic: str, found: tuple[int, dict[str, Any]] | None) -> str:
    """That there is a record; of one in a topic that all programs share also where it came from."""
    if found is None:
        return "none"
    return f"a record in {topic}, for {found[1]['props'].get(REAL_TOPIC, topic)}" if topic in SYSTEM_TOPICS else "a record"


def _by_birth(history: ParsedHistory, drawn: set[str]) -> dict[tuple[int, str, int], tuple[int, dict[str, Any]]]:
    """Where each record lies and what it says, by its message's number in the program, its topic, and its turn among those that
    have both."""
    found: dict[tuple[int, str, int], tuple[int, dict[str, Any]]] = {}
    first = min((whole_number(each.fields["bornTimestamp"]) for each in history.exchanges if "bornTimestamp" in each.fields), default=0)
    all_ = history.records
    for at, data in sorted(all_.items()):
        message = records.decode(data, exact=False)
        if message is None or records.size_and_magic(data)[1] == records.BLANK_MAGIC:
            continue
        topic = bare(history, message.topic)
        told = bare(history, {**message_data(message), "body": message.body})
        left = (
            *_OWN,
            *(("queueId", "queueOffset") if topic in drawn else () if history.names.is_mine(message.topic) else ("queueOffset",)),
        )
        for name in left:
            del told[name]
        if told[_HALF] or message.transaction == COMMIT:  # a log may begin with its half message
            half = all_.get(told[_HALF])
            told[_HALF] = "a place" if half is None else f"the message born {born_of(half) - first} ms after the first"
        if drawn:
            told["props"].pop(REAL_QUEUE, None)
            del told[_TEXT]
        elif told[_TEXT] is not None:
            told[_TEXT] = MESSAGE_ID.sub("…", told[_TEXT])
        turn = next(turn for turn in itertools.count() if (message.born_timestamp - first, topic, turn) not in found)
        found[message.born_timestamp - first, topic, turn] = at, told
    return found
