"""The facts that decide where a request's record is stored, read from the header, the body and the record that the request names.

The facts have the names of the fields of the specification's variable `way` (`rocketproof_spec/placement.py`). The rules themselves are in
the specification.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from rocketproof_model.language import JAVA_INT, Bool, Int, Type
from rocketproof_profiles import Profile
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, NO_PERMISSION, SYSTEM_ERROR
from rocketproof_protocol.flags import COMMIT, HOSTS_IPV6, INNER_BATCH, ROLLBACK
from rocketproof_protocol.numbers import LONG, hexadecimal, java_boolean, java_int, java_long, whole_number
from rocketproof_protocol.properties import (
    CLUSTER,
    DELAY,
    INNER_NUM,
    MSG_REGION,
    NAME_END,
    PGROUP,
    PROPERTY_END,
    REAL_QID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRACE_ON,
    TRAN_MSG,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
)
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec.admission import SendFacts, flaw_of
from rocketproof_spec.bounds import (
    DELAY_LEVELS,
    NAMES_LIMIT,
    is_given_up,
    is_read_as_another,
    is_refused_time,
    level_queue,
    plain,
    retry_limit_of,
    waits_for_time,
)
from rocketproof_spec.placement import Kind, StoredIn, batch_fits, body_fits, level_of, properties_fit, stored_in
from rocketproof_spec.returning import dead_letter_level
from rocketproof_spec.sizes import FIXED

from ..history.covered import AT_LIMIT, COUNTED, CUT, DEAD, KINDS, NO_GROUP, number_of, properties_of
from ..history.exchange import Exchange
from ..history.exchanges import PROGRESS, SENDS
from .locks import GROUP_LOCKS, group_of

ELSEWHERE = ("delayed messages", "transactional messages", DEAD, AT_LIMIT)
"""The reasons why a send's record may be stored in another queue than requested (`history.covered.reach`)."""
_NOT_HERE = frozenset((*ELSEWHERE, NO_GROUP))
GROUP_CHANGES = ("update_group", "delete_group")
PLACEMENT_OPS = (*GROUP_CHANGES, *GROUP_LOCKS, "send_back", "end_transaction")
"""Requests about groups and about stored records. Their partition is judged with the steps that place records."""
MAX_MESSAGE = 4_194_304
"""The default of maxMessageSize."""
_NAME = 255
"""An upper bound of the bytes of a topic name."""
_ADDED = 1024
"""An upper bound of the bytes that a send and a send-back together add to a message's properties: names of topics, ids, a level."""
_ANSWERED = {"region": "DefaultRegion", "trace": "true", "key": "0" * 32}
_TIMED = {TIMER_DELAY_SEC: 1000, TIMER_DELAY_MS: 1, TIMER_DELIVER_MS: None}
"""The properties for a delivery time; the first one present counts. The value is the number of milliseconds per unit of a delay, None
for a point in time."""
_FAR = 1 << 40
"""An upper bound of all limits, in bytes or milliseconds."""
_NO_WHEEL = "timerWheelEnable is false"
_MOST_AHEAD = 259_200_000
"""The default of timerMaxDelaySec, in milliseconds."""
Values = dict[str, Any]


@dataclass(frozen=True)
class AnsweredRecord:
    """A record that an answer names.

    `kind` and `offset` describe the record, `times` is the number of its retries. `level` is its delay level, None if that is not a
    number. `topic` is the topic that it is stored in, None if unknown. A half message has the `group` of its producer, and in `real` the
    topic and the queue that it is for.

    `long`: with what a send-back adds, its properties may be too long, or the record where a release limits that. `bodiless`: it is a
    message of a batch and has no body. `garbled`: its bytes may be read as another record, or as none.
    """

    kind: str
    offset: int
    times: int
    level: int | None
    group: str | None
    real: tuple[str, int] | None
    long: bool = False
    bodiless: bool = False
    garbled: bool = False
    topic: str | None = None


def requested_level(exchange: Exchange) -> int | None:
    """Return the delay level that a send requests, 0 without one, None if it is not an int."""
    text = exchange.properties.get(DELAY)
    return 0 if text is None else java_int(text)


def is_half(exchange: Exchange, profile: Profile) -> bool:
    """TRX-01, TRX-02: whether a send is transactional in this release. A batch never is (BAT-03)."""
    return exchange.op == "send" and profile.half_messages and java_boolean(exchange.properties.get(TRAN_MSG))


def _is_unfit_batch(exchange: Exchange) -> bool:
    """BAT-04: whether a send is a batch that no release stores, because of its transaction type or delay level."""
    if exchange.op != "batch":
        return False
    level = requested_level(exchange)
    return level is None or not _holds(batch_fits, KINDS[exchange.number("sysFlag") & 12], level)


def _is_misread(exchange: Exchange) -> bool:
    """Whether a send is a batch whose flag claims longer host addresses than its records have. A reader that steps by the record sizes
    then misses the second record, or the end of the only one. In releases that use the flag this is an error (HAZ-51)."""
    return exchange.op == "batch" and bool(exchange.number("sysFlag") & HOSTS_IPV6)


def is_timed(exchange: Exchange, profile: Profile) -> bool:
    """Whether 5.x stores a message in its timer wheel or rejects it."""
    return profile.always_traced and _names_time(exchange)


def _names_time(exchange: Exchange) -> bool:
    return not exchange.properties.keys().isdisjoint(_TIMED)


def timing_of(exchange: Exchange, profile: Profile, level: int | None, kind: str) -> tuple[bool | None, str]:
    """Return whether 5.x stores a message in its timer topic (None if unknown), and the flaw for which it rejects it.

    The properties decide. If they depend on the time of day or the presence of a timer wheel, the answer decides.
    """
    items = exchange.properties
    named = next((name for name in _TIMED if name in items), None)
    if not profile.timers or named is None or TIMER_OUT_MS in items or exchange.topic == WHEEL_TIMER_TOPIC:
        return False, "none"
    if level is None or level > 0 or kind not in COUNTED:
        return False, "none"
    if exchange.code == SYSTEM_ERROR and _NO_WHEEL in exchange.remark:
        return False, "error"
    number, unit = java_long(items[named]), _TIMED[named]
    if number is None:
        return False, "size"
    if unit is None:
        return (False, "size") if exchange.code == MESSAGE_ILLEGAL else (None, "none")
    ahead = (number * unit - LONG.start) % (1 << 64) + LONG.start  # as Java multiplies
    ahead = -1 if ahead > LONG[-1] - 2 * _FAR else max(-_FAR, min(ahead, _FAR))  # and adds it to now
    refused = _holds(is_refused_time, ahead, _MOST_AHEAD, int(TIMER_DEL_UNIQKEY in items))
    return _holds(waits_for_time, ahead, _MOST_AHEAD), "size" if refused else "none"


def is_inner_batch(exchange: Exchange) -> bool:
    """STO-02: whether a send declares itself an inner batch. Later releases accept none in the topics judged here."""
    return exchange.op in SENDS and (INNER_NUM in exchange.properties or bool(exchange.number("sysFlag") & INNER_BATCH))


def placement_of(exchange: Exchange, profile: Profile, cluster: str, *, locked: bool | None = False) -> Values:
    """Return the facts that decide where a send's record is stored. `locked`: its group holds a queue lock, None if unknown."""
    half, level = is_half(exchange, profile), requested_level(exchange)
    timed, untimely = timing_of(exchange, profile, level, "not" if half else KINDS[exchange.number("sysFlag") & 12])
    values = {"half": half, "level": level or 0, "timed": timed, "flaw": _flaw(exchange, profile, cluster, level, half=half)}
    if values["flaw"] == "none":
        values["flaw"] = untimely
    if exchange.op != "send" or not exchange.topic.startswith(RETRY_PREFIX):
        return values | ({"level": 0} if exchange.op == "batch" else {})
    values |= {"step": "retry", "times": exchange.number("reconsumeTimes"), "locked": locked and profile.dlq_while_locked}
    return {**values, **requested_limit(exchange), **_topics(exchange.topic)}


def possible_placements(exchange: Exchange, profile: Profile, cluster: str, *, sure: bool, locked: bool | None) -> list[Values]:
    """Return the possible facts for a send; `sure` as in `is_dead_letter`, `locked` as in `placement_of`.

    A dead letter that keeps its new level is stored even if the text of its old level is not a number (DLQ-04).
    """
    if locked is None:
        return [each for holds in (False, True) for each in possible_placements(exchange, profile, cluster, sure=sure, locked=holds)]
    placement = placement_of(exchange, profile, cluster, locked=locked)
    if placement["timed"] is None:
        return [placement | {"timed": timed} for timed in (False, True)]
    if placement.get("step") != "retry" or not profile.dlq_keeps_delay or requested_level(exchange) is not None:
        return [placement]
    dead = is_dead_letter(placement, profile, sure=sure)
    letter = placement | {"flaw": _flaw(exchange, profile, cluster, 0, half=placement["half"])}
    return [placement, letter] if dead is None else [letter if dead else placement]


def send_back_placement(exchange: Exchange) -> Values:
    """Return the facts of a send-back that do not depend on the message it names."""
    level, named = exchange.number("delayLevel"), "originTopic" in exchange.fields
    topic = RETRY_PREFIX + str(exchange.fields.get("group", ""))
    return {**requested_limit(exchange), "step": "back", "back": True, "level": level, "fitting": named, **_topics(topic)}


def send_back_flaws(record: AnsweredRecord | None, profile: Profile, *, origin: bool, dead: bool | None) -> tuple[str, ...]:
    """Return the possible flaws of a send-back when its message is stored.

    - Properties that are now too long (APP-05, BACK-16).
    - A missing body (STO-02).
    - A level that is not a number, in a `dead` letter that keeps its level (BACK-12).

    If the record is unknown and so is the topic of its `origin`, any error is possible.
    """
    if record is None:
        return ("none",) if origin else ("none", "error")
    if record.bodiless and profile.wants_body:
        return ("error",)
    if record.level is None and record.kind in COUNTED and not profile.dlq_clears_delay and dead is not False:
        return ("error",) if dead else ("none", "error")
    return ("none", "encoding") if record.long else ("none",)


def requested_limit(exchange: Exchange) -> Values:
    """Return the retry limit that a request names, and whether its version may name one."""
    requested = number_of(exchange.fields, "maxReconsumeTimes")
    named = requested is not None
    version = whole_number(exchange.request.get("version", NAMES_LIMIT if named else 0))  # an unrecorded version allows no conclusion
    return {"named": named, "requested": requested or 0, "version": version}


def _is_nameless(exchange: Exchange) -> bool:
    """Whether a request is a retry that could name a limit, does not, and is rejected with an error."""
    if exchange.code != SYSTEM_ERROR or not exchange.topic.startswith(RETRY_PREFIX):
        return False
    limit = requested_limit(exchange)
    return not limit["named"] and limit["version"] >= NAMES_LIMIT


def _is_bodiless(exchange: Exchange) -> bool:
    """STO-02: whether a send without a body is rejected, as by a store that requires one."""
    return exchange.code == MESSAGE_ILLEGAL and exchange.request.get("bodySize") == 0


def _topics(retry_topic: str) -> Values:
    return {"dead": DLQ_PREFIX + retry_topic.removeprefix(RETRY_PREFIX)}


def transaction_end(exchange: Exchange) -> str:
    """Return `commit` or `rollback` for the end of a transaction, an empty text for any other end."""
    return {COMMIT: "commit", ROLLBACK: "rollback"}.get(exchange.number("commitOrRollback"), "")


def topics_of(exchange: Exchange) -> list[str]:
    """Return the topics that a request's record may be stored in, without the topic that it names."""
    if exchange.op == "send_back":
        topic = RETRY_PREFIX + str(exchange.fields.get("group", ""))
        return [topic, DLQ_PREFIX + topic.removeprefix(RETRY_PREFIX), SCHEDULE]
    if exchange.op not in SENDS:
        return []
    dead = [DLQ_PREFIX + exchange.topic.removeprefix(RETRY_PREFIX)] if exchange.topic.startswith(RETRY_PREFIX) else []
    names = exchange.properties
    return dead + [SCHEDULE] * (DELAY in names) + [HALF_TOPIC] * (TRAN_MSG in names) + [WHEEL_TIMER_TOPIC] * _names_time(exchange)


def subject_of(exchange: Exchange) -> str | None:
    """Return the topic that a request is about, for a group its retry topic; None if it names none."""
    if exchange.op in SENDS:
        return exchange.topic if "topic" in exchange.fields else None
    if exchange.op == "end_transaction":
        return HALF_TOPIC
    if exchange.op == "update_group":
        group = exchange.group()
        return None if group is None else RETRY_PREFIX + group[0]
    if exchange.op in GROUP_LOCKS:
        name = group_of(exchange)
        return None if name is None else RETRY_PREFIX + name
    name = exchange.fields.get({"send_back": "group", "delete_group": "groupName"}.get(exchange.op, ""))
    return exchange.topic if "topic" in exchange.fields else None if name is None else RETRY_PREFIX + str(name)


def linked_topics(exchange: Exchange) -> list[str] | None:
    """Return the topics that are judged together with a request's own topic: its record is stored in them or was read from them.

    Return None for a request whose record is stored where requested, and for a request that neither has a record nor commits an offset.
    An inner batch has no such topics. Records on a delay level are judged by each partition separately.
    """
    if exchange.op in PROGRESS:
        return [] if "topic" in exchange.fields else None
    if exchange.op in PLACEMENT_OPS and (topic := subject_of(exchange)) is not None:
        dead = [DLQ_PREFIX + topic.removeprefix(RETRY_PREFIX)] if topic.startswith(RETRY_PREFIX) else []
        return dead + [str(name) for name in [exchange.fields.get("originTopic")] if name]
    odd = exchange.op == "send" and (
        exchange.reason in _NOT_HERE or _is_nameless(exchange) or is_inner_batch(exchange) or _is_bodiless(exchange)
    )
    if odd or (exchange.op in SENDS and _names_time(exchange)):
        return [name for name in topics_of(exchange) if name not in (SCHEDULE, WHEEL_TIMER_TOPIC)]
    return [] if _is_misread(exchange) else None


def is_dead_letter(placement: Values, profile: Profile, *, sure: bool) -> bool | None:
    """Whether a returning message becomes a dead letter, None if unknown. `sure`: its group still has its first limit."""
    back, locked = placement["step"] == "back", placement.get("locked", False)
    if locked or (back and placement["level"] < 0):
        return True
    if locked is None or (not sure and not (placement["named"] and placement["version"] >= NAMES_LIMIT)):
        return None
    limit = retry_limit_of(placement["requested"] if placement["named"] else None, placement["version"])
    return is_given_up(placement["times"], limit, back=back, level=placement["level"], beyond=profile.dlq_beyond)


def level_of_dead_letter(placement: Values, profile: Profile) -> int:
    """Return the delay level of a returning message that becomes a dead letter. It waits if the level is at least 1."""
    back, clears, keeps = placement["step"] == "back", profile.dlq_clears_delay, profile.dlq_keeps_delay
    level: int = _formulas().letter((back, clears, keeps, placement["level"], placement.get("kept", 0)))
    return level


def destination_of(exchange: Exchange, placement: Values, profile: Profile, *, sure: bool) -> tuple[tuple[str, int], bool]:
    """Return the topic and queue that store the record of a send answered with a queue, and whether they are certain. `sure` as in
    `is_dead_letter`."""
    topic, queue, level = exchange.topic, exchange.answered("queueId") or 0, placement["level"]
    dead = is_dead_letter(placement, profile, sure=sure) if placement.get("step") == "retry" else False
    if dead:
        topic, queue, level = placement["dead"], 0, level_of_dead_letter(placement, profile)
    formulas, kind = _formulas(), Kind.encode(KINDS[exchange.number("sysFlag") & 12])
    stored = StoredIn.names[formulas.place((placement["half"], level, placement["timed"] or False, kind))]
    places = {"requested": (topic, queue), "halves": (HALF_TOPIC, 0), "wheel": (WHEEL_TIMER_TOPIC, 0)}
    place = (SCHEDULE, formulas.queue((level,))) if stored == "delayed" else places[stored]
    return place, dead is not None and (placement["timed"] is not None or stored in ("delayed", "wheel"))


def commit_destinations(record: AnsweredRecord | None) -> list[tuple[str, int, int]]:
    """Return where a commit of this record may store its message: topic, queue and delay level.

    A half message that waited for a level or a time was first meant for the half topic. So its message is stored there and waits on the
    same level again (HAZ-39).
    """
    if record is None or record.real is None:
        return [(HALF_TOPIC, 0, 0)]
    meant = (*record.real, 0)
    waited = (HALF_TOPIC, 0, 0 if record.topic == WHEEL_TIMER_TOPIC else record.level or 0)
    if record.topic is None:
        return [*dict.fromkeys((meant, waited))]
    return [waited if record.topic in (SCHEDULE, WHEEL_TIMER_TOPIC) else meant]


def answered_records(exchange: Exchange, profile: Profile, *, locked: bool | None) -> Iterable[tuple[int, AnsweredRecord]]:
    """Yield the records that the answer to a send names, each with its position in the log. `locked` as in `placement_of`."""
    places = str(exchange.response_fields.get("msgId") or "").split(",")
    if exchange.op not in SENDS or len(places[0]) != 32:
        return
    half, offset = is_half(exchange, profile), exchange.answered("queueOffset") or 0
    real = (exchange.topic, exchange.answered("queueId") or 0) if half else None
    kind = "not" if half else KINDS[exchange.number("sysFlag") & 12]
    group = exchange.properties.get(PGROUP) if half else None
    text = str(exchange.fields.get("properties") or "")
    written = _whole(text, CUT.search(text)) + (_size(exchange) if exchange.op == "batch" else 0)
    around = FIXED + _NAME + written + _ADDED
    fits = exchange.op == "batch" or _holds(body_fits, _size(exchange), around, MAX_MESSAGE, int(profile.limits_record))
    long = not (_holds(properties_fit, written + _ADDED) and fits)
    batched = exchange.batched()
    longer, name = bool(exchange.number("sysFlag") & HOSTS_IPV6), len(exchange.topic.encode("utf-8", "replace"))
    garbled = is_read_as_another(name, longer=longer, by_flag=profile.hosts_by_flag)
    (topic, _), sure = destination_of(exchange, placement_of(exchange, profile, "", locked=locked), profile, sure=False)
    for k, place in enumerate(places):
        size, written_in_batch = batched[k] if k < len(batched) else (None, None)
        level = requested_level(exchange) if written_in_batch is None else _level_in_batch(written_in_batch, exchange, profile)
        level, bodiless = None if level is None else min(max(level, 0), DELAY_LEVELS), size == 0
        yield (
            hexadecimal(place[16:]),
            AnsweredRecord(
                kind, offset + k, exchange.number("reconsumeTimes"), level, group, real, long, bodiless, garbled, topic if sure else None
            ),
        )


def _level_in_batch(text: str, exchange: Exchange, profile: Profile) -> int | None:
    """BAT-04: the delay level of a message of a batch with these properties, None if it is not a number. Properties appended by the send
    take precedence. Without a separator, the message's last property continues into the appended text."""
    level = properties_of(text).get(DELAY)
    if profile.batch_properties and DELAY in exchange.properties:
        level = exchange.properties[DELAY]
    elif profile.batch_properties and not profile.separates_batch and text.rpartition(PROPERTY_END)[2].startswith(f"{DELAY}{NAME_END}"):
        return None
    return 0 if level is None else java_int(level)


# What is refused


def _flaw(exchange: Exchange, profile: Profile, cluster: str, level: int | None, *, half: bool) -> str:
    """Return the flaw for which a send is rejected. If its header and its body do not decide, its answer does."""
    kind = KINDS[exchange.number("sysFlag") & 12]
    transactional = half or (not profile.half_messages and TRAN_MSG in exchange.properties)
    if transactional and exchange.op == "send" and exchange.code == NO_PERMISSION:
        return "transaction"  # rejectTransactionMessage, which no history records
    fits = {_fits(exchange, profile, size) for size in _sizes(exchange, profile, cluster, half=half)}
    facts = SendFacts(
        batch=exchange.op == "batch",
        unfit_batch=_is_unfit_batch(exchange),
        transactional=kind != "not",
        to_retry=exchange.topic.startswith(RETRY_PREFIX),
        inner=is_inner_batch(exchange),
        empty=exchange.request.get("bodySize") == 0,
        too_large=fits == {False} or (len(fits) > 1 and exchange.code == MESSAGE_ILLEGAL),
        large_body=exchange.op == "batch" and _body_alone(exchange, profile),
        unread_level=level is None,
        waits=half or kind in COUNTED,
        misread=_is_misread(exchange),
    )
    return flaw_of(profile.name, facts)


def _body_alone(exchange: Exchange, profile: Profile) -> bool:
    return not _holds(body_fits, _size(exchange), 0, MAX_MESSAGE, int(profile.limits_record))


def _size(exchange: Exchange) -> int:
    return whole_number(exchange.request.get("bodySize") or 0)


def _fits(exchange: Exchange, profile: Profile, properties: int) -> bool:
    if exchange.op == "batch" and not profile.limits_batch_properties:
        properties = 0  # BAT-04: not checked
    around = FIXED + len(exchange.topic.encode("utf-8", "replace")) + properties
    return _holds(properties_fit, properties) and _holds(body_fits, _size(exchange), around, MAX_MESSAGE, int(profile.limits_record))


def _sizes(exchange: Exchange, profile: Profile, cluster: str, *, half: bool) -> Sequence[int]:
    """Return the smallest and the largest number of bytes that the stored properties may have (SEND-03, SEND-25, SEND-26, TRX-04)."""
    text = str(exchange.fields.get("properties") or "")
    cut = CUT.search(text)
    if not cut and len(text) < 4000:
        return (0,)  # far from every limit
    if not profile.stores_parsed:
        return (_whole(text, cut), _whole(text, cut) + 1)
    items = properties_of(text[: cut.start()] if cut else text)
    rest = _whole(text, cut) - len(text[: cut.start()].encode("utf-8", "replace")) if cut else 0
    added = {CLUSTER: cluster}
    if profile.always_traced:
        added |= {
            MSG_REGION: str(exchange.response_fields.get("MSG_REGION") or _ANSWERED["region"]),
            TRACE_ON: str(exchange.response_fields.get("TRACE_ON") or _ANSWERED["trace"]),
        }
    if profile.makes_unique_key and exchange.op == "send" and UNIQ_KEY not in items:
        added[UNIQ_KEY] = _ANSWERED["key"]
    real: Mapping[str, str] = {}
    if half or DELAY in items:
        real = {REAL_TOPIC: exchange.topic, REAL_QID: "0000"} | (
            {TRANSACTION_ID: _ANSWERED["key"]} if half and profile.names_transaction else {}
        )
    if WAIT in items and not profile.stores_wait and not real:
        del items[WAIT]
    least = _length(items | added, ends=profile.ends_properties) + rest
    return (least - bool(cut), least + (_length(real, ends=True) if real else 0))


def _whole(text: str, cut: re.Match[str] | None) -> int:
    """Return the bytes of a text. If a recording has cut it, the missing characters count like the last recorded one."""
    if cut is None:
        return len(text.encode("utf-8", "replace"))
    kept = text[: cut.start()]
    more = max(0, whole_number(cut[1]) - len(kept))
    return len(kept.encode("utf-8", "replace")) + more * len(kept[-1:].encode("utf-8", "replace"))


def _length(items: Mapping[str, str], *, ends: bool) -> int:
    return sum(len(f"{name}{value}".encode("utf-8", "replace")) + 2 for name, value in items.items()) - (not ends)


class _Formulas(NamedTuple):
    """The specification's formulas for the place of a record, compiled for plain values: a dead letter's level, the place of a record, and
    the queue of a delay level."""

    letter: Callable[..., int]
    place: Callable[..., int]
    queue: Callable[..., int]


@cache
def _formulas() -> _Formulas:
    number = Int(*JAVA_INT)
    return _Formulas(
        plain(dead_letter_level, Bool, Bool, Bool, number, number),
        plain(stored_in, Bool, number, Bool, Kind),
        plain(lambda level: level_queue(level_of(level)), number),
    )


@cache
def _function(formula: Any) -> Any:
    number = Int(-_FAR, _FAR)
    types: dict[Any, tuple[Type, ...]] = {batch_fits: (Kind, number), properties_fit: (number,)}
    types |= {body_fits: (number, number, number, Bool), waits_for_time: (number, number), is_refused_time: (number, number, Bool)}
    return plain(formula, *types[formula])


def _holds(formula: Any, *values: Any) -> bool:
    return bool(_function(formula)(tuple(Kind.encode(value) if isinstance(value, str) else value for value in values)))


__all__ = [
    "ELSEWHERE",
    "PLACEMENT_OPS",
    "GROUP_CHANGES",
    "AnsweredRecord",
    "send_back_placement",
    "commit_destinations",
    "destination_of",
    "transaction_end",
    "send_back_flaws",
    "is_half",
    "is_dead_letter",
    "level_of_dead_letter",
    "is_timed",
    "requested_level",
    "requested_limit",
    "linked_topics",
    "answered_records",
    "subject_of",
    "topics_of",
    "placement_of",
    "possible_placements",
]
