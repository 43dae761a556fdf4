"""The comparison that all replays share: find where a response, record, topic entry or body differs from the recorded one.

Fields are compared one by one. What two runs never share is masked (`masks.py`). Places in the log are moved by the drift. If both logs
have unrelated places, only their number is compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rocketproof_impl.message import Host, Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record
from rocketproof_impl.store.record import read_host
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.numbers import hexadecimal, java_long
from rocketproof_protocol.properties import PROPERTY_END
from rocketproof_traces.history.exchange import MESSAGE_ID, places

from ...catalogue.claim import LabelledDifference
from . import masks
from .masks import How, how

NO_ANSWER = "no answer"
ENTRY: Final = "the broker's entry"
TIMESTAMP: Final = "timestamp"
_WITHIN: Final = re.compile(r"^(extFields|group|route|topicConfig|)\.")
_NO_JSON = "no JSON"


CUT: Final = re.compile(r"(.{60})\.\.\.\(([0-9]+)\)", re.DOTALL)
"""How a recording shortens a long value: its start, and its length."""
_LIMIT: Final = 300


@dataclass(frozen=True)
class RecordedResponse:
    """A recorded response. `code` is None without a response."""

    code: int | None
    remark: str | None
    fields: Mapping[str, str]

    @property
    def host(self) -> Host | None:
        """The broker's address as encoded in the id of a stored message."""
        return read_host(bytes.fromhex(self.fields["msgId"][:16])) if places(self.fields) else None


@dataclass(frozen=True)
class FieldDifference:
    """One field with its recorded value and the value that the replay found. A field inside another is written with a dot.

    For a program, `where` names the request, topic, queue or record. `seq` is the event, -1 for what was read back at the end. `beside`
    introduces the found value in the printed text. `by_chance`: events that the program did not request can cause the difference
    (`registered.py`).
    """

    field: str
    recorded: Any
    found: Any
    where: str = ""
    seq: int = -1
    beside: str = "the reference implementation has"
    by_chance: bool = False

    def data(self) -> dict[str, Any]:
        """Return the difference in a recorded case as a JSON object."""
        return {"field": self.field, "recorded": self.recorded, "found": self.found}

    def __str__(self) -> str:
        return f"{self.where}: {self.field} is {_cut(self.recorded)}, and {self.beside} {_cut(self.found)}"

    @property
    def labelled(self) -> LabelledDifference:
        """The difference from the reference implementation: its value is the expected one."""
        return LabelledDifference(self.where, self.field, _labelled(self.found), _labelled(self.recorded))


def _labelled(value: Any) -> str:
    """Return a value for people: a response as its code, name and remark, a text without quotation marks."""
    if value is None or value == "":
        return "none"
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
        code, remark = value
        return f"{code} {codes.ANSWERS.get(code, '')}".strip() + (f", {remark}" if remark else "")
    return value if isinstance(value, str) and value == value.strip() else _cut(value)


def _cut(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:197] + "..."


@dataclass(frozen=True)
class RunComparison:
    """What two runs must share. `version`: the recorded broker's release.

    `drift`: bytes by which this log is ahead of the recorded one; None if the places in the two logs are unrelated. `apart`: the largest
    difference of the two brokers' clocks for the same event (ms); None if they show different days.
    """

    version: str
    drift: int | None = 0
    apart: int | None = None

    def answer(self, recorded: RecordedResponse, found: Command | None, counted: Collection[str] = ()) -> Iterator[FieldDifference]:
        """Compare code, remark and extFields. For the fields in `counted` only the number of values is compared."""
        if found is None or recorded.code is None:
            if (found is None) != (recorded.code is None):
                yield FieldDifference(
                    "code", NO_ANSWER if recorded.code is None else recorded.code, NO_ANSWER if found is None else found.code
                )
            return
        if recorded.code != found.code:
            yield FieldDifference("code", recorded.code, found.code)
        if not masks.same_remark(recorded.remark, found.remark):
            yield FieldDifference("remark", recorded.remark, found.remark)
        fields = found.ext_fields or {}
        for name in dict.fromkeys((*recorded.fields, *fields)):
            before, after = recorded.fields.get(name), fields.get(name)
            if not (_shape(before) == _shape(after) if self._counts(name, counted) else self._same(name, before, after)):
                yield FieldDifference(f"extFields.{name}", before, after)

    def _counts(self, name: str, counted: Collection[str]) -> bool:
        return name in counted or (name == "msgId" and self.drift is None)

    def _same(self, name: str, before: str | None, after: str | None) -> bool:
        if masks.varies(name, self.version) and masks.made_up(before, after):
            return True
        if masks.same_total(name, before, after) or masks.same_time(name, before, after, self.apart):
            return True
        return (before if name != "msgId" or before is None else self._moved(before)) == after

    def _moved(self, ids: str) -> str:
        """Return message ids with their places moved by the drift."""
        drift = self.drift or 0
        return ",".join(f"{id_[:16]}{hexadecimal(id_[16:]) + drift:016X}" if MESSAGE_ID.fullmatch(id_) else id_ for id_ in ids.split(","))

    def records(self, recorded: Sequence[Mapping[str, Any]], found: Sequence[bytes | None]) -> Iterator[FieldDifference]:
        """Compare every field of every record that was read back."""
        if len(recorded) != len(found):
            yield FieldDifference("stored", len(recorded), len(found))
            return
        for number, (before, data) in enumerate(zip(recorded, found, strict=True)):
            where = f"stored[{number}]" if len(recorded) > 1 else "stored"
            after = None if data is None else record_data(data)
            if "topic" in before and after is not None:
                yield from self.record(f"{where}.", before, after)
            elif "topic" in before or after is not None:
                yield FieldDifference(where, dict(before), after)

    def record(self, where: str, recorded: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[FieldDifference]:
        """Compare the recorded fields of a record. Places are skipped if the two logs are unrelated."""
        for name, before in recorded.items():
            after = found.get(name)
            if name == "props":
                yield from self._properties(f"{where}props.", before, after or {})
                continue
            if name == "propertiesText":
                if self._text(before) != self._text(after):
                    yield FieldDifference(f"{where}{name}", before, after)
                continue
            place = name == "physOffset" or (name == "preparedTxOffset" and before and self.drift is not None)
            if not (name == "physOffset" and self.drift is None) and (before + self.drift if place else before) != after:
                yield FieldDifference(f"{where}{name}", before, after)

    def _text(self, properties: str | None) -> Any:
        """Return a properties text without values that the broker generates. From 5.x on the order is ignored, since its maps have more
        slots."""
        text = masks.without_own(properties)
        return text if text is None or not self.version.startswith("5.") else sorted(text.split(PROPERTY_END))

    def _properties(self, where: str, recorded: Mapping[str, str], found: Mapping[str, str]) -> Iterator[FieldDifference]:
        for name in dict.fromkeys((*recorded, *found)):
            before, after = recorded.get(name), found.get(name)
            elsewhere = self.drift is None and how(name) is How.PLACE
            if (masks.varies(name, self.version) or elsewhere) and masks.made_up(before, after):
                continue
            if masks.same_time(name, before, after, 0 if masks.is_named(name, recorded) else self.apart):
                continue
            if is_short(before) and after is not None:
                after = shorten(after)
            if before != after:
                yield FieldDifference(f"{where}{name}", before, after)


def shorten(text: str) -> str:
    """Return a text as a recording stores it: long texts are shortened."""
    return text if len(text) <= _LIMIT else f"{text[:60]}...({len(text)})"


def is_short(text: object) -> bool:
    """Whether a recorded value was shortened."""
    return isinstance(text, str) and CUT.fullmatch(text) is not None


def translated(fields: Mapping[str, str], known: Mapping[int, int]) -> dict[str, str]:
    """Return a request's fields with the places of the same messages in another log, if those are known."""
    fields_there = dict(fields)
    for name in ("offset", "commitLogOffset"):
        place = java_long(fields_there.get(name, ""))
        if place is not None:
            fields_there[name] = str(known.get(place, fields_there[name]))
    return fields_there


def _shape(text: str | None) -> list[str] | None:
    """Return the number of values of a field; for message ids the part before their places."""
    return None if text is None else [value[:16] if MESSAGE_ID.fullmatch(value) else "" for value in text.split(",") if value]


def record_data(data: bytes) -> dict[str, Any] | None:
    """Return a record with the field names of a recording; None if the bytes are not a record."""
    message = record.decode(data, exact=False)
    if message is None:
        return None
    size, magic = record.size_and_magic(data)
    return {"size": size, "magic": f"{magic & 0xFFFFFFFF:08x}", **message_data(message)}


def message_data(message: Message) -> dict[str, Any]:
    """Return a record's message with the field names of a recording, and the fields that recordings omit, except for the body."""
    return {
        "queueId": message.queue_id,
        "flag": message.flag,
        "queueOffset": message.queue_offset,
        "physOffset": message.physical_offset,
        "sysFlag": message.sys_flag,
        "reconsumeTimes": message.reconsume_times,
        "preparedTxOffset": message.prepared_transaction_offset,
        "bodyLen": len(message.body or b""),
        "bodyCRC": message.body_crc,
        "bornTimestamp": message.born_timestamp,
        "storeHost": message.store_host,
        "topic": message.topic,
        "props": message.properties,
        "propertiesText": message.properties_text,
    }


def topic(recorded: Mapping[str, Any] | None, found: TopicConfig | None) -> Iterator[FieldDifference]:
    """Compare the recorded fields of a broker's entry for a topic. None means that there is no entry."""
    data = None if found is None else table_to_data({found.topic_name: found}, DataVersion(0))["topicConfigTable"][found.topic_name]
    if recorded is None or data is None:
        if recorded is not data:
            yield FieldDifference("topicConfig", recorded, data)
        return
    for name, before in recorded.items():
        if before != data.get(name):
            yield FieldDifference(f"topicConfig.{name}", before, data.get(name))


def body(recorded: Any, found: bytes | None) -> Iterator[FieldDifference]:
    """Compare a JSON body, such as a route."""
    try:
        after = fastjson.loads(found or b"null")
    except ValueError:
        after = None
    yield from values("body", recorded, after)


def values(where: str, recorded: Any, found: Any) -> Iterator[FieldDifference]:
    """Compare two JSON values; objects name by name."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for name in dict.fromkeys((*recorded, *found)):
            if recorded.get(name) != found.get(name):
                yield FieldDifference(f"{where}.{name}", recorded.get(name), found.get(name))
    elif recorded != found:
        yield FieldDifference(where, recorded, found)


_QUEUE = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag", "topicSynFlag")


def route(data: bytes | None, mine: Callable[[str], bool]) -> Any:
    """Return the part of a route that two name servers must share: queues, the order, and the addresses and filter servers of brokers whose
    names are `mine`."""
    try:
        parsed = fastjson.loads(data or b"{}")
        queues = [sorted((key, row[key]) for key in _QUEUE if row.get(key) is not None) for row in parsed.get("queueDatas", [])]
        rows = parsed.get("brokerDatas", [])
        addresses = {str(address) for row in rows if mine(str(row["brokerName"])) for address in row["brokerAddrs"].values()}
        filters = {name: servers for name, servers in (parsed.get("filterServerTable") or {}).items() if servers and name in addresses}
        return {
            "queueDatas": sorted(queues),
            "brokerDatas": _brokers(rows, mine),
            "filterServerTable": filters,
            "orderTopicConf": parsed.get("orderTopicConf"),
        }
    except (ValueError, AttributeError, TypeError, KeyError):
        return _NO_JSON


def address(data: bytes | None, broker: str) -> str | None:
    """Return the address of a broker's master in a route, None if the route has none."""
    try:
        rows = fastjson.loads(data or b"{}").get("brokerDatas", [])
        return next((str(row["brokerAddrs"]["0"]) for row in rows if row["brokerName"] == broker), None)
    except (ValueError, AttributeError, TypeError, KeyError):
        return None


def clusters(data: bytes | None, mine: Callable[[str], bool]) -> Any:
    """Return the part of a cluster table that two name servers must share: brokers and clusters whose names are `mine`."""
    try:
        table = fastjson.loads(data or b"{}")
        named = {name: sorted(brokers) for name, brokers in table["clusterAddrTable"].items() if mine(name)}
        return {"clusterAddrTable": named, "brokerAddrTable": _brokers(table["brokerAddrTable"].values(), mine)}
    except (ValueError, AttributeError, TypeError, KeyError):
        return _NO_JSON


def listed(data: bytes | None, mine: Callable[[str], bool]) -> Any:
    """Return the entries of a name server's list of order topics whose topics are `mine`; empty without a list."""
    try:
        table = fastjson.loads(data or b"{}").get("table") or {}
        return {topic: order for topic, order in table.items() if mine(topic)}
    except (ValueError, AttributeError):
        return _NO_JSON


def fields(data: bytes | None, names: Iterable[str]) -> Any:
    """Return the values of a JSON object under these names, None for a missing name."""
    try:
        parsed = fastjson.loads(data or b"{}")
        return {name: parsed.get(name) for name in names}
    except (ValueError, AttributeError):
        return _NO_JSON


def _brokers(rows: Iterable[Any], mine: Callable[[str], bool]) -> list[Any]:
    return sorted(
        [str(row["brokerName"]), row.get("cluster"), str(row.get("enableActingMaster", "")), sorted(row["brokerAddrs"].items())]
        for row in rows
        if mine(str(row["brokerName"]))
    )


def within(differences: Iterable[FieldDifference], where: str, seq: int = -1) -> Iterator[FieldDifference]:
    """Yield the differences of one request, topic or record with the names used in a report's findings."""
    for difference in differences:
        name = _WITHIN.sub("", difference.field)
        name = f"property {name.removeprefix('props.')}" if name.startswith("props.") else name
        yield replace(difference, field=ENTRY if name == "topicConfig" else name, where=where, seq=seq)
