"""The responses to a program by step: codes, fields, messages. `shows(answers)` of a program's file reads this.

Names have no prefix of the run. All fields can be read. Tables and comparisons of runs leave out those that differ in every run, such as
message ids and times (`VOLATILE`), and those that have nothing to do with the request (`INCIDENTAL`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_impl.store import record
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.shown import json_text, one_line, printable
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.stored.record import records_in

from ...brokers.runs.parsed import ParsedHistory
from ...brokers.runs.recording import body_of
from ...programs.names import is_common_name
from ...programs.vocabulary import Step
from ...reports.output import counted
from ...reports.text import shortened

VOLATILE: Final = frozenset(
    {"msgId", "offsetMsgId", "transactionId", "recallHandle", "bornTimestamp", "storeTimestamp", "timestamp", "indexLastUpdateTimestamp",
     "indexLastUpdatePhyoffset", "brokerAddr", "MSG_REGION", "TRACE_ON", "commitLogOffset"}
)  # fmt: skip
INCIDENTAL: Final = frozenset({"suggestWhichBrokerId", "groupSysFlag", "topicSysFlag", "IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE"})
_CHANGING: Final = frozenset(
    {"MSG_REGION", "TRACE_ON", "CLUSTER", "TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "ORIGIN_MESSAGE_ID", "UNIQ_KEY_MADE_UP",
     "BORN_TIMESTAMP", "BORN_HOST", "INNER_MULTI_QUEUE_OFFSET"}
)  # fmt: skip
"""Properties that a broker adds to messages and that depend on its clock or configuration."""
_MADE_UP: Final = re.compile(r"[0-9A-F]{32}")
_SHOWN: Final = 60
_MOST: Final = 8
_OF_RECORDS: Final = ("pull", "find", "view")


class AnswerFields(dict[str, Any]):
    """The fields of a response by name. A missing one is None."""

    def __missing__(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class SeenMessage:
    """A message that a response contains."""

    topic: str
    queue: int
    offset: int
    body: str
    properties: Mapping[str, str]

    @property
    def content(self) -> tuple[Any, ...]:
        """The values that runs on the same release share."""
        kept = {name: value for name, value in self.properties.items() if name not in _CHANGING}
        return self.topic, self.queue, self.offset, self.body, tuple(sorted((n, _MADE_UP.sub("…", v)) for n, v in kept.items()))

    def __str__(self) -> str:
        return f"{self.offset} {_short(self.body)!r}"


@dataclass(frozen=True)
class Answer:
    """The response to a step. `number`: the step's number in the table, from 1 on.

    - `code`: the response's code and `name` its name, such as SUCCESS; None and "" without a response.
    - `fields`: the fields of the response's header; a missing field is None. `remark`: the broker's own text.
    - `messages`: those of a pull or a query. `value`: the value of a JSON body, such as a route, None without one.
    - `error`: why there is no response. `asked`: whether the step has sent a request, or has observed something.
    """

    number: int
    step: Step
    code: int | None = None
    remark: str = ""
    fields: AnswerFields = field(default_factory=AnswerFields)
    messages: tuple[SeenMessage, ...] = ()
    value: Any = None
    error: str = ""
    asked: bool = False

    @property
    def name(self) -> str:
        return "" if self.code is None else codes.ANSWERS.get(self.code, str(self.code))

    @property
    def bodies(self) -> list[str]:
        """The bodies of its messages, in order."""
        return [message.body for message in self.messages]

    @property
    def parts(self) -> dict[str, Any]:
        """The values that two runs on the same release share, by the name of the part."""
        whole = {"response": self.name or self.error.partition(":")[0], **self._shared_fields}
        return whole | ({"messages": [message.content for message in self.messages]} if self.step[0] in _OF_RECORDS else {})

    @property
    def _shared_fields(self) -> dict[str, Any]:
        return {name: value for name, value in self.fields.items() if name not in VOLATILE | INCIDENTAL}

    @property
    def text(self) -> str:
        """The response in one line."""
        if not self.asked:
            return "nothing to act on" if self.step[0] in ("back", "end", "search") else ""
        if self.error:
            return one_line(self.error)
        fields = [f"{name}={_short(value)}" for name, value in self._shared_fields.items()]
        words = [self.name or ("" if self.fields else "no response"), *fields]
        if self.code not in (None, codes.SUCCESS) and self.remark:
            words.append(f"({_short(self.remark)})")
        if self.step[0] in _OF_RECORDS and (self.messages or self.code == codes.SUCCESS):
            more = ", …" if len(self.messages) > _MOST else ""
            listed = f": {', '.join(map(str, self.messages[:_MOST]))}{more}" if self.messages else ""
            words.append(f"{counted(len(self.messages), 'message')}{listed}")
        elif self.value is not None:
            words.append(_short(_content(self.value)))
        return " ".join(filter(None, words))

    def data(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "step": self.step[0],
            "arguments": self.step[1],
            "code": self.code,
            "name": self.name,
            "remark": self.remark,
            "fields": dict(self.fields),
            "messages": [vars(message) | {"properties": dict(message.properties)} for message in self.messages],
            "error": self.error,
        }


class ProgramAnswers(Sequence[Answer]):
    """The responses of a program: `answers[3]` is the response to the step with number 3."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = tuple(answers)

    def __getitem__(self, number: Any) -> Any:
        if type(number) is not int or not 1 <= number <= len(self._answers):
            raise IndexError(f"there is no step {number}; the program has steps 1 to {len(self._answers)}")
        return self._answers[number - 1]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def named(self, step: str) -> list[Answer]:
        """Return the responses to the steps of a name, in order."""
        return [answer for answer in self._answers if answer.step[0] == step]


def differences(before: ProgramAnswers, after: ProgramAnswers) -> list[str]:
    """Return the parts that differ, one text each, such as `3 offset: 1 -> 0`."""
    texts = []
    for old, new in zip(before, after, strict=True):
        for name in dict.fromkeys((*old.parts, *new.parts)):
            first, second = old.parts.get(name), new.parts.get(name)
            if first == second:
                continue
            if name == "messages":
                first, second = _messages(old), _messages(new)
                if first == second:
                    name, first, second = "properties", _properties(old), _properties(new)
            texts.append(f"{old.number} {name}: {_short(first)} -> {_short(second)}")
    return texts


def answers_of(steps: Sequence[Step], seqs: Sequence[Sequence[int]], history: ParsedHistory) -> ProgramAnswers:
    """Return the responses of a recorded program. `seqs`: the numbers of each step's events. The last request of a step counts."""
    exchanges = {exchange.seq: exchange for exchange in history.exchanges}
    events = {event.seq: event for event in history.recorded.others}
    bare = history.names.bare if history.names.prefix else str
    answers = []
    for number, (step, mine) in enumerate(zip(steps, seqs, strict=True), 1):
        found = [exchanges.get(seq) or events.get(seq) for seq in mine]
        last = next((each for each in reversed(found) if each is not None), None)
        if isinstance(last, Exchange):
            answers.append(_answer(number, step, last, bare))
        elif isinstance(last, Event):
            answers.append(_observed(number, step, last, bare))
        else:
            answers.append(Answer(number, step))
    return ProgramAnswers(answers)


def _answer(number: int, step: Step, exchange: Exchange, bare: Callable[[str], str]) -> Answer:
    if exchange.response is None:
        sent = "no response expected" if exchange.one_way else str(exchange.outcome.get("error") or "no response")
        return Answer(number, step, error=sent, asked=True)
    body = body_of(exchange.outcome) or b""
    messages = tuple(_messages_of(body, bare)) if step[0] in _OF_RECORDS else ()
    value = None
    if body and not messages:
        try:
            value = fastjson.loads(bare(body.decode()))
        except ValueError:
            value = None
    fields = AnswerFields({name: bare(str(text)) for name, text in exchange.response_fields.items()})
    code = exchange.code if type(exchange.code) is int else None
    return Answer(number, step, code, bare(exchange.remark), fields, messages, value, asked=True)


def _observed(number: int, step: Step, event: Event, bare: Callable[[str], str]) -> Answer:
    """Return an observation without a request, such as a check of a half message."""
    value = event.value
    shown = value.get("fields") or {name: each for name, each in value.items() if name not in ("client", "at", "error", "code", "remark")}
    fields = AnswerFields(
        {name: bare(each) if isinstance(each, str) else each for name, each in shown.items() if not name.startswith("body")}
    )
    return Answer(number, step, None, "", fields, error=str(value.get("error") or ""), asked=True)


def _messages_of(body: bytes, bare: Callable[[str], str]) -> Iterator[SeenMessage]:
    for data in records_in(body):
        message = record.decode(data, exact=False)
        if message is not None:
            text = bare(printable((message.body or b"").decode("utf-8", "replace")))
            properties = {name: bare(value) for name, value in message.properties.items()}
            yield SeenMessage(bare(message.topic), message.queue_id, message.queue_offset, text, properties)


def _messages(answer: Answer) -> str:
    return ", ".join(map(str, answer.messages)) or "none"


def _properties(answer: Answer) -> str:
    return "; ".join(", ".join(f"{name}={value}" for name, value in message.content[-1]) for message in answer.messages)


def _content(value: Any) -> str:
    """Return a JSON body in one line; of a table of topics, the names of those that the broker does not have by itself."""
    topics = value.get("topicConfigTable") if isinstance(value, dict) else None
    if isinstance(topics, dict):
        return f"topics: {', '.join(sorted(name for name in topics if not is_common_name(name))) or 'none'}"
    return json_text(value)


def _short(value: Any) -> str:
    return shortened(one_line(str(value)), _SHOWN)
