"""The cases of a recording, completed so that their requests can be sent again.

A recording shortens long field values and stores only the length of a body. Both can be restored: a long value repeats its last character,
and a body's content has no effect unless it is a batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rocketproof_impl.store.record import MESSAGE_MAGIC
from rocketproof_protocol.codes import (
    CONSUMER_SEND_MSG_BACK,
    GET_MAX_OFFSET,
    SEND_BATCH_MESSAGE,
    SEND_MESSAGE,
    SEND_MESSAGE_V2,
    UPDATE_BROKER_CONFIG,
)
from rocketproof_protocol.flags import COMMIT, NOT, TRANSACTION_BITS
from rocketproof_protocol.numbers import java_boolean, whole_number
from rocketproof_protocol.properties import NAME_END, PROPERTY_END
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_traces.history.exchange import MESSAGE_ID, places
from rocketproof_traces.history.recordings import RecordedCase, not_a_case
from rocketproof_traces.history.recordings import read as read_recording

from .comparison import CUT, RecordedResponse

SENDS = (SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE)
_MAGIC = f"{MESSAGE_MAGIC & 0xFFFFFFFF:08x}"


@dataclass(frozen=True)
class ReplayCase:
    """One recorded request and its observed effect, ready to be replayed.

    - `fields`: the request's extFields by full names, as texts of full length.
    - `stored`: the records read back, None if none were read.
    - `config`: the topic's entry after the case. None: the topic did not exist. ABSENT: the entry was not read.
    - `body`: the response's body if it is JSON.
    - `millis`: how long the caller waited.
    """

    number: int
    cfg: str
    name: str
    version: str
    to_name_server: bool
    code: int
    fields: Mapping[str, str]
    body_length: int
    text: str | None
    answer: RecordedResponse
    millis: float
    stored: tuple[Mapping[str, Any], ...] | None
    config: Mapping[str, Any] | str | None
    body: Any = None

    @property
    def label(self) -> str:
        return f"{self.cfg}-{self.number} {self.name!r}"

    @property
    def is_send(self) -> bool:
        return self.code in SENDS

    @property
    def is_batch(self) -> bool:
        """Whether the body is parsed as a batch. The header decides this, not the request's code."""
        return self.is_send and java_boolean(self.fields.get("batch"))

    @property
    def topic(self) -> str:
        """The topic that the case is about."""
        if self.code == CONSUMER_SEND_MSG_BACK:
            return RETRY_PREFIX + self.fields.get("group", "")
        return self.fields.get("topic", "")

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """The places of the stored messages in the log, in bytes."""
        return tuple(places(self.answer.fields))

    @cached_property
    def records(self) -> tuple[Mapping[str, Any], ...]:
        """The read-back entries that are records. A lost message has a blank in its place."""
        return tuple(entry for entry in self.stored or () if entry.get("magic") == _MAGIC)

    @property
    def size(self) -> int | None:
        """Bytes of the log that the stored messages occupy, None if not all were read back."""
        return sum(whole_number(entry["size"]) for entry in self.records) if len(self.records) == len(self.positions) else None

    @property
    def random_queue(self) -> int | None:
        """The queue that the broker chose at random, None if the request names one."""
        chosen = self.fields.get("queueId", "").startswith("-") and "queueId" in self.answer.fields
        return whole_number(self.answer.fields["queueId"]) if chosen and self.is_send else None

    @property
    def queue(self) -> tuple[str, int, int] | None:
        """A topic, a queue and its number of messages before the case, None if the case does not show them."""
        if self.code == GET_MAX_OFFSET and "offset" in self.answer.fields:
            return self.topic, whole_number(self.fields["queueId"]), whole_number(self.answer.fields["offset"])
        for entry in self.records:
            if whole_number(entry["sysFlag"]) & TRANSACTION_BITS in (NOT, COMMIT):
                return str(entry["topic"]), whole_number(entry["queueId"]), whole_number(entry["queueOffset"])
        return None


class ReplayRecording(NamedTuple):
    """All cases of a recording in order, and the recorded broker settings of each `cfg`."""

    cases: tuple[ReplayCase, ...]
    settings: Mapping[str, Mapping[str, str]]


def read(path: Path) -> ReplayRecording:
    """Read a recording for a replay. Raises RocketproofError naming the line that is not a case."""
    recording, cases = read_recording(path), []
    for case in recording.cases:
        try:
            cases.append(replayed(case))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise not_a_case(path, case.line, error) from None
    return ReplayRecording(tuple(cases), {cfg: _texts(settings) for cfg, settings in recording.settings.items()})


def replayed(case: RecordedCase) -> ReplayCase:
    """Return a recorded case with complete values. Raises ValueError, KeyError, TypeError or AttributeError for a malformed response."""
    code, fields = case.response["code"], _texts(case.response["fields"])
    complete = ReplayCase(
        number=case.number,
        cfg=case.cfg,
        name=case.name,
        version=case.version,
        to_name_server=case.to_name_server,
        code=case.code,
        fields=_whole(case.fields, case.stored or ()),
        body_length=case.body_length,
        text=_text(case.code, case.request_body),
        answer=RecordedResponse(None if code is None else whole_number(code), case.response["remark"], fields),
        millis=case.millis,
        stored=case.stored,
        config=case.config,
        body=case.body,
    )
    _ = complete.answer.host, complete.size, complete.random_queue, complete.queue  # raises for a malformed response
    for message_id in fields.get("msgId", "").split(","):
        if len(message_id) == 32 and not MESSAGE_ID.fullmatch(message_id):
            raise ValueError(f"{message_id!r} is not the id of a message")
    return complete


def wire(value: Any) -> str:
    """Return a value as an extField contains it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: wire(value) for name, value in fields.items() if value is not None}


def _whole(fields: Mapping[str, Any], stored: Any) -> dict[str, str]:
    """Restore shortened field values to their full length."""
    whole = {}
    for name, text in _texts(fields).items():
        cut = CUT.fullmatch(text)
        if cut is None:
            whole[name] = text
        elif name == "properties":
            whole[name] = _properties(cut[1], whole_number(cut[2]), stored)
        else:
            whole[name] = cut[1].ljust(whole_number(cut[2]), cut[1][-1])
    return whole


def _properties(start: str, length: int, stored: Any) -> str:
    """Restore a shortened properties text. Its last property is closed by a separator unless a stored value shows otherwise."""
    whole = start.ljust(length, start[-1])
    name, _, value = whole.rpartition(PROPERTY_END)[2].partition(NAME_END)
    recorded = [entry["props"][name] for entry in stored if name in entry.get("props", {})]
    if any(len(text) == len(value) for text in recorded):
        return whole
    return whole[:-1] + PROPERTY_END


def _text(code: int, body: Any) -> str | None:
    """Return a recorded body as text: settings as lines of name=value, other values as JSON."""
    if body is None or isinstance(body, str):
        return body
    if code == UPDATE_BROKER_CONFIG:
        return "".join(f"{name}={wire(value)}\n" for name, value in body.items())
    return json.dumps(body)
