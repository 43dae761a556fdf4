"""What it depends on where a request's record comes to lie: what the header, the body and the record that it names say of it, in the words
of the specification (`placement`, `placed`). The rules are there; here is only what they ask for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocketproof_model.language import Bool, Int, Type
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
from rocketproof_spec.bounds import (
    DELAY_LEVELS,
    NAMES_LIMIT,
    is_given_up,
    is_read_as_another,
    is_refused_time,
    plain,
    retry_limit_of,
    waits_for_time,
)
from rocketproof_spec.placement import batch_fits, body_fits, properties_fit
from rocketproof_spec.sizes import FIXED
from rocketproof_spec.vocabulary import Kind

from ..history.cases import AT_LIMIT, COUNTED, CUT, DEAD, KINDS, NO_GROUP, number_of, properties_of
from ..history.exchange import Exchange
from ..history.exchanges import PROGRESS, SENDS

ELSEWHERE = ("delayed messages", "transactional messages", DEAD, AT_LIMIT)
"""Why a send's record may lie elsewhere than it asks for (`history.cases.reach`)."""
_NOT_HERE = frozenset((*ELSEWHERE, NO_GROUP))
REGROUPS = ("update_group", "delete_group")
PLACING = (*REGROUPS, "send_back", "end_transaction")
"""Requests about groups and about records, whose part is judged with the places of its records."""
MAX_MESSAGE = 4_194_304
"""maxMessageSize by default."""
_NAME = 255
"""More bytes than the name of a topic takes."""
_ADDED = 1024
"""More bytes than a send and a send-back together add to the properties of a message: names of topics, ids, a level."""
_ANSWERED = {"region": "DefaultRegion", "trace": "true", "key": "0" * 32}
_TIMED = {TIMER_DELAY_SEC: 1000, TIMER_DELAY_MS: 1, TIMER_DELIVER_MS: None}
"""The properties of a message's own time, of which the first counts; of how many ms a delay's number is."""
_FAR = 1 << 40
"""More bytes, or milliseconds, than any limit has."""
_NO_WHEEL = "timerWheelEnable is false"
_MOST_AHEAD = 259_200_000
"""timerMaxDelaySec by default, in ms."""
Values = dict[str, Any]


@dataclass(frozen=True)
class AnsweredRecord:
    """A record that an answer tells of: its kind and offset, how often it was retried, its delay level, None if that is no number, and the
    topic that it lies in, None if nobody knows; of a half message its group, and the topic and the queue that it is for. `long`: with what
    a send-back adds, its properties may be too long, or the record where a release limits that. `bodiless`: it is a message of a batch, and
    has no body. `garbled`: its bytes may be read as another record's, or as none."""

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


def level_asked(one: Exchange) -> int | None:
    """The delay level that a send asks for, 0 without one; None if it is no int."""
    text = one.properties.get(DELAY)
    return 0 if text is None else java_int(text)


def is_half(one: Exchange, profile: Profile) -> bool:
    """TRX-01, TRX-02: whether a send is transactional in this release. A batch is none (BAT-03)."""
    return one.op == "send" and profile.half_messages and java_boolean(one.properties.get(TRAN_MSG))


def is_odd_batch(one: Exchange, profile: Profile) -> bool:
    """BAT-02, BAT-04: whether a send is a batch that no release, or not this one, stores."""
    if one.op != "batch":
        return False
    level = level_asked(one)
    unfit = level is None or not _holds(batch_fits, KINDS[one.number("sysFlag") & 12], level)
    return unfit or (one.topic.startswith(RETRY_PREFIX) and not profile.batch_retry)


def _is_misread(one: Exchange) -> bool:
    """Whether a send is a batch whose flag says of its records' hosts that they are longer: who goes over them by their sizes does not find
    the second one, or the end of the only one, which is an error where the flag means anything (HAZ-51)."""
    return one.op == "batch" and bool(one.number("sysFlag") & HOSTS_IPV6)


def is_timed(one: Exchange, profile: Profile) -> bool:
    """Whether 5.x keeps a message in its timer wheel, or refuses it."""
    return profile.always_traced and _names_time(one)


def _names_time(one: Exchange) -> bool:
    return not one.properties.keys().isdisjoint(_TIMED)


def timing_of(one: Exchange, profile: Profile, level: int | None, kind: str) -> tuple[bool | None, str]:
    """Whether 5.x has a message wait in its timer topic, None if nobody knows, and the flaw that it refuses it for: as the properties tell;
    where they leave it open, as what time it was and whether there is a wheel, the answer does."""
    items = one.properties
    named = next((name for name in _TIMED if name in items), None)
    if not profile.timers or named is None or TIMER_OUT_MS in items or one.topic == WHEEL_TIMER_TOPIC:
        return False, "none"
    if level is None or level > 0 or kind not in COUNTED:
        return False, "none"
    if one.code == SYSTEM_ERROR and _NO_WHEEL in one.remark:
        return False, "error"
    number, unit = java_long(items[named]), _TIMED[named]
    if number is None:
        return False, "size"
    if unit is None:
        return (False, "size") if one.code == MESSAGE_ILLEGAL else (None, "none")
    ahead = (number * unit - LONG.start) % (1 << 64) + LONG.start  # as Java multiplies
    ahead = -1 if ahead > LONG[-1] - 2 * _FAR else max(-_FAR, min(ahead, _FAR))  # and adds it to now
    refused = _holds(is_refused_time, ahead, _MOST_AHEAD, int(TIMER_DEL_UNIQKEY in items))
    return _holds(waits_for_time, ahead, _MOST_AHEAD), "size" if refused else "none"


def is_inner(one: Exchange) -> bool:
    """STO-02: whether a send names itself an inner batch, which later releases take to no topic of these."""
    return one.op in SENDS and (INNER_NUM in one.properties or bool(one.number("sysFlag") & INNER_BATCH))


def way_of(one: Exchange, profile: Profile, cluster: str) -> Values:
    """What a send's place depends on."""
    half, level = is_half(one, profile), level_asked(one)
    timed, untimely = timing_of(one, profile, level, "not" if half else KINDS[one.number("sysFlag") & 12])
    values = {"half": half, "level": level or 0, "timed": timed, "flaw": _flaw(one, profile, cluster, level, half=half)}
    if values["flaw"] == "none":
        values["flaw"] = untimely
    if one.op != "send" or not one.topic.startswith(RETRY_PREFIX):
        return values | ({"level": 0} if one.op == "batch" else {})
    return {**values, **limit_of(one), "step": "retry", "times": one.number("reconsumeTimes"), **_topics(one.topic)}


def ways_of(one: Exchange, profile: Profile, cluster: str, *, sure: bool) -> list[Values]:
    """What a send's place may depend on; `sure` as in `is_letter`. Where a dead letter keeps the level that it gets, it is stored whatever
    text it came with (DLQ-04)."""
    way = way_of(one, profile, cluster)
    if way["timed"] is None:
        return [way | {"timed": timed} for timed in (False, True)]
    if way.get("step") != "retry" or not profile.dlq_keeps_delay or level_asked(one) is not None:
        return [way]
    dead = is_letter(way, profile, sure=sure)
    letter = way | {"flaw": _flaw(one, profile, cluster, 0, half=way["half"])}
    return [way, letter] if dead is None else [letter if dead else way]


def back_of(one: Exchange) -> Values:
    """What the place of a message depends on that is sent back, but for the message."""
    level, named = one.number("delayLevel"), bool(one.fields.get("originTopic"))
    topic = RETRY_PREFIX + str(one.fields.get("group", ""))
    return {**limit_of(one), "step": "back", "back": True, "level": level, "fitting": named, **_topics(topic)}


def flaws_of_back(record: AnsweredRecord | None, profile: Profile, *, origin: bool, dead: bool | None) -> tuple[str, ...]:
    """What a send-back may fail for when its message is put: properties that are too long now (APP-05, BACK-16), no body (STO-02), or the
    level of a `dead` letter that keeps one which is no number (BACK-12). Without the topic of its `origin` nobody knows what was sent
    there."""
    if record is None:
        return ("none",) if origin else ("none", "error")
    if record.bodiless and profile.wants_body:
        return ("error",)
    if record.level is None and record.kind in COUNTED and not profile.dlq_clears_delay and dead is not False:
        return ("error",) if dead else ("none", "error")
    return ("none", "encoding") if record.long else ("none",)


def limit_of(one: Exchange) -> Values:
    """The limit of retries that a request names, and whether its version may name one."""
    requested = number_of(one.fields, "maxReconsumeTimes")
    named = requested is not None
    version = whole_number(one.request.get("version", NAMES_LIMIT if named else 0))  # of one that was not recorded nothing is concluded
    return {"named": named, "requested": requested or 0, "version": version}


def _is_nameless(one: Exchange) -> bool:
    """Whether a request is a retry that could name a limit, names none and is refused with an error."""
    if one.code != SYSTEM_ERROR or not one.topic.startswith(RETRY_PREFIX):
        return False
    limit = limit_of(one)
    return not limit["named"] and limit["version"] >= NAMES_LIMIT


def _is_bodiless(one: Exchange) -> bool:
    """STO-02: whether a send without a body is refused, as by a store that takes none like it."""
    return one.code == MESSAGE_ILLEGAL and one.request.get("bodySize") == 0


def _topics(retry_topic: str) -> Values:
    return {"dead": DLQ_PREFIX + retry_topic.removeprefix(RETRY_PREFIX)}


def ended_kind(one: Exchange) -> str:
    """How a request ends a transaction."""
    return {COMMIT: "commit", ROLLBACK: "rollback"}.get(one.number("commitOrRollback"), "")


def topics_of(one: Exchange) -> list[str]:
    """The topics that a request's record may lie in, beside the one that it names."""
    if one.op == "send_back":
        topic = RETRY_PREFIX + str(one.fields.get("group", ""))
        return [topic, DLQ_PREFIX + topic.removeprefix(RETRY_PREFIX), SCHEDULE]
    if one.op not in SENDS:
        return []
    dead = [DLQ_PREFIX + one.topic.removeprefix(RETRY_PREFIX)] if one.topic.startswith(RETRY_PREFIX) else []
    names = one.properties
    return dead + [SCHEDULE] * (DELAY in names) + [HALF_TOPIC] * (TRAN_MSG in names) + [WHEEL_TIMER_TOPIC] * _names_time(one)


def subject_of(one: Exchange) -> str | None:
    """The topic that a request is about, of a group its retry topic; None if it names none."""
    if one.op in SENDS:
        return one.topic if "topic" in one.fields else None
    if one.op == "end_transaction":
        return HALF_TOPIC
    if one.op == "update_group":
        group = one.group()
        return None if group is None else RETRY_PREFIX + group[0]
    name = one.fields.get({"send_back": "group", "delete_group": "groupName"}.get(one.op, ""))
    return one.topic if "topic" in one.fields else None if name is None else RETRY_PREFIX + str(name)


def linked(one: Exchange) -> list[str] | None:
    """The topics that are judged together with the one that a request is about, because its record lies there or comes from there (of an
    inner batch none); None for a request whose record lies where it asks for, and for one that neither has a record nor tells an offset.
    What lies on a delay level is judged by each part for itself."""
    if one.op in PROGRESS:
        return [] if "topic" in one.fields else None
    if one.op in PLACING and (topic := subject_of(one)) is not None:
        dead = [DLQ_PREFIX + topic.removeprefix(RETRY_PREFIX)] if topic.startswith(RETRY_PREFIX) else []
        return dead + [str(name) for name in [one.fields.get("originTopic")] if name]
    odd = one.op == "send" and (one.reason in _NOT_HERE or _is_nameless(one) or is_inner(one) or _is_bodiless(one))
    if odd or (one.op in SENDS and _names_time(one)):
        return [name for name in topics_of(one) if name not in (SCHEDULE, WHEEL_TIMER_TOPIC)]
    return [] if _is_misread(one) else None


def is_letter(way: Values, profile: Profile, *, sure: bool) -> bool | None:
    """Whether a message that comes back becomes a dead letter, None if nobody knows. `sure`: its group has its first limit."""
    if way["step"] == "back" and way["level"] < 0:
        return True
    if not sure and not (way["named"] and way["version"] >= NAMES_LIMIT):
        return None
    limit = retry_limit_of(way["requested"] if way["named"] else None, way["version"])
    return is_given_up(way["times"], limit, beyond=profile.dlq_beyond and way["step"] != "back")


def destination_of(one: Exchange, way: Values, profile: Profile, *, sure: bool) -> tuple[tuple[str, int], bool]:
    """The topic and the queue in which the record lies of a send that is answered with a queue, and whether that is certain. `sure` as in
    `is_letter`."""
    topic, queue, level = one.topic, one.answered("queueId") or 0, way["level"]
    dead = is_letter(way, profile, sure=sure) if way.get("step") == "retry" else False
    if dead:
        topic, queue, level = way["dead"], 0, 0 if profile.dlq_keeps_delay else level
    if level > 0:
        return (SCHEDULE, min(level, DELAY_LEVELS) - 1), dead is not None
    if way["timed"]:
        return (WHEEL_TIMER_TOPIC, 0), dead is not None
    return (HALF_TOPIC, 0) if way["half"] else (topic, queue), dead is not None and way["timed"] is not None


def committed_to(record: AnsweredRecord | None) -> list[tuple[str, int, int]]:
    """Where a commit of this record may store its message: topic, queue and delay level. One that waits, for its level or for its time, was
    meant for the half topic when it was put there: so is its message, which waits on the same level again (HAZ-39)."""
    if record is None or record.real is None:
        return [(HALF_TOPIC, 0, 0)]
    meant = (*record.real, 0)
    waited = (HALF_TOPIC, 0, 0 if record.topic == WHEEL_TIMER_TOPIC else record.level or 0)
    if record.topic is None:
        return [*dict.fromkeys((meant, waited))]
    return [waited if record.topic in (SCHEDULE, WHEEL_TIMER_TOPIC) else meant]


def records_of(one: Exchange, profile: Profile) -> Iterable[tuple[int, AnsweredRecord]]:
    """The records that the answer to a send tells of, by their places in the log."""
    places = str(one.response_fields.get("msgId") or "").split(",")
    if one.op not in SENDS or len(places[0]) != 32:
        return
    half, offset = is_half(one, profile), one.answered("queueOffset") or 0
    real = (one.topic, one.answered("queueId") or 0) if half else None
    kind = "not" if half else KINDS[one.number("sysFlag") & 12]
    group = one.properties.get(PGROUP) if half else None
    text = str(one.fields.get("properties") or "")
    written = _whole(text, CUT.search(text)) + (_size(one) if one.op == "batch" else 0)
    around = FIXED + _NAME + written + _ADDED
    fits = one.op == "batch" or _holds(body_fits, _size(one), around, MAX_MESSAGE, int(profile.limits_record))
    long = not (_holds(properties_fit, written + _ADDED) and fits)
    batched = one.batched()
    longer, name = bool(one.number("sysFlag") & HOSTS_IPV6), len(one.topic.encode("utf-8", "replace"))
    garbled = is_read_as_another(name, longer=longer, by_flag=profile.hosts_by_flag)
    (topic, _), sure = destination_of(one, way_of(one, profile, ""), profile, sure=False)
    for k, place in enumerate(places):
        size, written_in_batch = batched[k] if k < len(batched) else (None, None)
        level = level_asked(one) if written_in_batch is None else _level_in_batch(written_in_batch, one, profile)
        level, bodiless = None if level is None else min(max(level, 0), DELAY_LEVELS), size == 0
        yield (
            hexadecimal(place[16:]),
            AnsweredRecord(
                kind, offset + k, one.number("reconsumeTimes"), level, group, real, long, bodiless, garbled, topic if sure else None
            ),
        )


def _level_in_batch(text: str, one: Exchange, profile: Profile) -> int | None:
    """BAT-04: the delay level of a message of a batch that has these properties, None if it is no number. What is put behind them counts
    before, and where nothing separates the two, the last one goes on with it."""
    level = properties_of(text).get(DELAY)
    if profile.batch_properties and DELAY in one.properties:
        level = one.properties[DELAY]
    elif profile.batch_properties and not profile.separates_batch and text.rpartition(PROPERTY_END)[2].startswith(f"{DELAY}{NAME_END}"):
        return None
    return 0 if level is None else java_int(level)


# What is refused


def _flaw(one: Exchange, profile: Profile, cluster: str, level: int | None, *, half: bool) -> str:
    """What a send will be refused for, as far as its header and its body tell. Where they leave it open, its answer does."""
    kind = KINDS[one.number("sysFlag") & 12]
    transactional = half or (not profile.half_messages and TRAN_MSG in one.properties)
    if transactional and one.op == "send" and one.code == NO_PERMISSION:
        return "transaction"  # rejectTransactionMessage, which no history tells
    if is_odd_batch(one, profile):
        return "size" if level is not None or kind != "not" else "error"
    if (profile.refuses_inner and is_inner(one)) or (profile.wants_body and one.request.get("bodySize") == 0):
        return "size"
    fits = {_fits(one, profile, size) for size in _sizes(one, profile, cluster, half=half)}
    refused = MESSAGE_ILLEGAL if one.op != "batch" or not profile.wants_topic else SYSTEM_ERROR
    if fits == {False} or (len(fits) > 1 and one.code == MESSAGE_ILLEGAL):
        if one.op == "send" and profile.encode_first:
            return "encoding"
        return "size" if refused == MESSAGE_ILLEGAL or not _body_alone(one, profile) else "error"
    if (profile.hosts_by_flag and _is_misread(one)) or (level is None and (half or kind in COUNTED)):
        return "error"
    return "none"


def _body_alone(one: Exchange, profile: Profile) -> bool:
    return not _holds(body_fits, _size(one), 0, MAX_MESSAGE, int(profile.limits_record))


def _size(one: Exchange) -> int:
    return whole_number(one.request.get("bodySize") or 0)


def _fits(one: Exchange, profile: Profile, properties: int) -> bool:
    if one.op == "batch" and not profile.limits_batch_properties:
        properties = 0  # BAT-04: nobody asks
    around = FIXED + len(one.topic.encode("utf-8", "replace")) + properties
    return _holds(properties_fit, properties) and _holds(body_fits, _size(one), around, MAX_MESSAGE, int(profile.limits_record))


def _sizes(one: Exchange, profile: Profile, cluster: str, *, half: bool) -> Sequence[int]:
    """The smallest and the largest number of bytes that the stored properties may have (SEND-03, SEND-25, SEND-26, TRX-04)."""
    text = str(one.fields.get("properties") or "")
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
            MSG_REGION: str(one.response_fields.get("MSG_REGION") or _ANSWERED["region"]),
            TRACE_ON: str(one.response_fields.get("TRACE_ON") or _ANSWERED["trace"]),
        }
    if profile.makes_unique_key and one.op == "send" and UNIQ_KEY not in items:
        added[UNIQ_KEY] = _ANSWERED["key"]
    real: Mapping[str, str] = {}
    if half or DELAY in items:
        real = {REAL_TOPIC: one.topic, REAL_QID: "0000"} | (
            {TRANSACTION_ID: _ANSWERED["key"]} if half and profile.names_transaction else {}
        )
    if WAIT in items and not profile.stores_wait and not real:
        del items[WAIT]
    least = _length(items | added, ends=profile.ends_properties) + rest
    return (least - bool(cut), least + (_length(real, ends=True) if real else 0))


def _whole(text: str, cut: re.Match[str] | None) -> int:
    """The bytes of a text; one that a recording has cut goes on as its beginning ends."""
    if cut is None:
        return len(text.encode("utf-8", "replace"))
    kept = text[: cut.start()]
    more = max(0, whole_number(cut[1]) - len(kept))
    return len(kept.encode("utf-8", "replace")) + more * len(kept[-1:].encode("utf-8", "replace"))


def _length(items: Mapping[str, str], *, ends: bool) -> int:
    return sum(len(f"{name}{value}".encode("utf-8", "replace")) + 2 for name, value in items.items()) - (not ends)


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
    "PLACING",
    "REGROUPS",
    "AnsweredRecord",
    "back_of",
    "committed_to",
    "destination_of",
    "ended_kind",
    "flaws_of_back",
    "is_half",
    "is_letter",
    "is_odd_batch",
    "is_timed",
    "level_asked",
    "limit_of",
    "linked",
    "records_of",
    "subject_of",
    "topics_of",
    "way_of",
    "ways_of",
]
