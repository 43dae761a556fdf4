"""The reference implementation is asked what the target was asked, and answers must agree.

A program runs on a simulated broker of the profile, with the target's settings and from an empty store; where the target's
messages are elsewhere in the log, places are translated. Compared are codes, remarks and fields of answers, routes, topics,
next offsets and every field of the records that were read back. What programs share (offsets in the broker's own topics) and
what two runs never share (times, hosts, ports) is left out. Programs of several clients at a time have no one order, and are
judged by the other judges alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record as records
from rocketproof_profiles import Profile
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.numbers import java_int, java_long, whole_number
from rocketproof_protocol.properties import CHECK_TIMES, UNIQ_KEY
from rocketproof_protocol.topics import OP_HALF_TOPIC
from rocketproof_traces.history.cases import has_plain_attributes
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs import queries as looks
from ...brokers.runs.client import places
from ...brokers.runs.parsed import Other, ParsedHistory, held_millis
from ...brokers.runs.recording import body_of, is_kept
from ...brokers.runs.transport import faults, is_doubled, is_lost
from ...programs.parts import NAME_SERVER
from ...programs.requests import UNSUPPORTED_CODE
from ...programs.settings import ALONE
from . import comparison
from .cases import SENDS, RecordedResponse, here
from .compared import MOVING
from .comparison import TIMESTAMP, FieldDifference, RunComparison, message_data, within
from .dispatched import NOTHING_THERE, WITHIN, has_all, is_soon
from .following import Follower, answer_of, is_by_key
from .orders import Arrived, Item
from .readback import ReadBack
from .registered import Registered

_PATIENT: Final = 0.9
"""Of the time that a pull may be held, as clocks differ a little."""
_CLOCKS: Final = 2000
"""Milliseconds by which a time may differ, beside what the program lasts: the wheel of timers goes by seconds, and is late for one."""
_CHANGING: Final = ("update_topic", "delete_topic", "update_group", "delete_group", "commit")
_OF_LOG: Final = ("physOffset", "queueOffset", "storeHost", "propertiesText", "bornHost")
"""Of a message, what is where it lies."""
_BORN: Final = "bornTimestamp"
OF_MOVING: Final = ("max_offset", "min_offset", "search", "earliest", "stats", "pull")
"""Requests whose answers tell what is in a queue."""
_TOLD: Final = ("cluster", "other")
"""Requests to a name server with a body in the answer that is compared."""
ANSWER: Final = "answer"
"""The field of a difference that is only a lost answer."""


@dataclass
class ReferenceReplay:
    """The reference implementation beside a history, in the order of `items`. `until` and `last` are the follower's."""

    history: ParsedHistory
    profile: Profile
    items: Sequence[Item]
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.followed = Follower(self.history, self.profile, self.until, self.last)
        self.registered = Registered(self.followed.cluster.name_server)
        self.names = self.history.names
        self._of_others: set[int] = set()
        self._lengths: dict[tuple[str, str], tuple[int, int]] = {}
        self._by_key: list[tuple[Exchange, list[int]]] = []
        version = str(self.history.origin.get("version", ""))
        version = version or ("5." if self.profile.name.startswith("P5") else "4.")
        self.same = RunComparison(version, 0 if self.followed.exact else None, self.history.millis + _CLOCKS)

    def compare(self) -> Iterator[FieldDifference]:
        """The differences, up to where nobody knows what the target has done; none where it is not known at which place its log began."""
        if self.history.program.needs == ALONE and not self.followed.exact and any(one.leaves_doubt for one in faults(self.history)):
            return
        for item in self.items:
            if isinstance(item, Arrived):
                self.followed.arrive(item.asked)
                continue
            if isinstance(item, Exchange):
                self.followed.pass_to(item.sent_millis)
            if isinstance(item, Other) and item.op == "question":
                yield from self._questioned(item)
            elif isinstance(item, Other) and item.op == "checked":
                yield from _checked(item, self.followed.broker.settings.transaction_check_max)
            elif isinstance(item, Other) and item.op == "notified":
                yield from self._notified(item)
            elif isinstance(item, Other):
                self.followed.happen(item)
                if item.op in ("crash", "restart"):
                    self._lengths.clear()
            elif item.refused:
                continue
            elif item.op == "update_topic" and not has_plain_attributes(item.fields):
                return  # from here on nobody knows what the topic is
            elif item.closed != "fail":
                found = self.followed.answer(item)
                yield from self._routed(item, list(self._compared(item, found)))
                if self._is_unserved(item, found):
                    return
                if is_doubled(item) or is_lost(item):
                    return  # from here on nobody knows what the broker has done
        self.followed.pass_to(self.followed.until or 0)
        yield from ReadBack(self.followed, self.same, self._of_others, self._by_key).compare()

    def _questioned(self, item: Other) -> Iterator[FieldDifference]:
        """What the broker asks a producer about a half message: the message as it was meant, and where it is. Which of several comes first,
        and how often it was asked before, is chance."""
        ours = self.followed.questions(item.value["client"])
        where = f"event {item.seq} (question)"
        if item.value["code"] is None or not ours:
            if item.value["code"] is not None or ours:
                yield FieldDifference("question", item.value["code"], codes.CHECK_TRANSACTION_STATE if ours else None, where, item.seq)
            return
        said = _question(item.value["fields"], body_of(item.value), self.profile)
        known = [_question(one.ext_fields or {}, one.body, self.profile) for one in ours]
        other = next((one for one in known if one.get(_BORN) == said.get(_BORN)), known[0])
        if not said or not other:
            yield FieldDifference("question", said or "no message", other or "no message", where, item.seq)
            return
        yield from within(self.same.record("", {name: said.get(name) for name in other}, other), where, item.seq)

    def _notified(self, item: Other) -> Iterator[FieldDifference]:
        """Of which groups the broker has told a consumer that they have changed; how often is chance, where it tells of several at once."""
        ours = self.followed.notified(item.value["client"])
        if "error" not in item.value and item.value["groups"] != ours:
            yield FieldDifference("notified", item.value["groups"], ours, f"event {item.seq} (notified)", item.seq)

    @staticmethod
    def _is_unserved(asked: Exchange, found: Command | None) -> bool:
        """Whether the target has changed something by a request that the reference implementation does not serve."""
        refused = found is not None and found.code == codes.REQUEST_CODE_NOT_SUPPORTED
        return refused and asked.op in _CHANGING and asked.code == codes.SUCCESS

    def _routed(self, asked: Exchange, differing: list[FieldDifference]) -> list[FieldDifference]:
        """The differences of an answer; those of a route may be by chance, as what the broker registers by itself leaves it."""
        topic = asked.fields.get("topic")
        if topic is None:
            return differing
        if asked.op != "route":
            self.registered.note(topic, self.followed.broker)
        elif differing and self.names.is_mine(topic):
            broker = self.followed.broker
            for other in self.registered.others(topic, broker):
                with self.registered.knowing(topic, broker, other):
                    if not any(self._compared(asked, self.followed.answer(asked))):
                        return [replace(one, by_chance=True) for one in differing]
        return differing

    def _compared(self, asked: Exchange, found: Command | None) -> Iterator[FieldDifference]:
        if asked.closed == "ok":
            yield from self._answered(asked, found)
        elif is_lost(asked) and found is not None:
            yield FieldDifference(ANSWER, asked.outcome.get("error"), f"code {found.code}", str(asked), asked.seq)

    def _answered(self, asked: Exchange, found: Command | None) -> Iterator[FieldDifference]:
        recorded = answer_of(asked)
        waited = held_millis(asked)
        longest = whole_number(asked.fields["suspendTimeoutMillis"]) if waited is not None and recorded.code == codes.PULL_NOT_FOUND else 0
        if waited is not None and waited < _PATIENT * longest:
            yield FieldDifference("waits", f"{waited} ms", f"{longest} ms", str(asked), asked.seq)
        if found is not None and asked.fields.get("topic") in MOVING and asked.op in OF_MOVING:
            yield from self._moving(asked, recorded, found)
            return
        if found is not None and not self._is_comparable(asked, recorded, found):
            return
        if found is not None and found.remark is not None:
            found = replace(found, remark=self._there(asked, found.remark))
        if found is not None and is_by_key(asked):
            self._by_key.append((asked, [looks.place_of(data) for data in looks.split(found.body or b"")]))
            return
        if found is not None and recorded.code != found.code:
            late = self._may_be_late(asked, recorded, found)
            yield FieldDifference(
                "code", [recorded.code, recorded.remark], [found.code, found.remark], str(asked), asked.seq, by_chance=late
            )
            if not late:
                return
            recorded = replace(recorded, code=found.code, remark=found.remark)
        shared = found is not None and self.followed.learn(recorded.fields, found.ext_fields or {})
        times = _times(recorded.fields, (found.ext_fields or {})) if found is not None and asked.op == "earliest" else None
        counted: tuple[str, ...] = ("queueOffset",) if shared else ()
        if asked.fields.get("queueId", "").startswith("-") and self._made_by_others(asked):
            counted += ("queueId",)  # of how many queues it was drawn, the program that made the topic has said
            self._of_others.update(places(recorded.fields))
        differences = list(self.same.answer(recorded, found, counted if times is None else (*counted, TIMESTAMP)))
        if times is not None:
            differences += self._earliest(asked, *times)
        if (
            found is not None
            and asked.op == "route"
            and recorded.code == codes.SUCCESS
            and self.names.is_mine(asked.fields.get("topic", ""))
        ):
            one, other = (comparison.route(data, self.names.is_mine) for data in (body_of(asked.outcome), found.body))
            differences += comparison.values("route", one, other)
            differences += self._own_address(body_of(asked.outcome), found.body)
        if found is not None and asked.op == "pull" and is_kept(asked.outcome) and self.names.is_mine(asked.fields.get("topic", "")):
            one, other = (_in_queue(data) for data in (body_of(asked.outcome), found.body))
            differences += [FieldDifference("records", one, other)] * (one != other)
        if found is not None and recorded.code == codes.SUCCESS and asked.request["to"] == NAME_SERVER and asked.op in _TOLD:
            differences += self._told(asked, found)
        yield from within(differences, str(asked), asked.seq)

    def _moving(self, asked: Exchange, recorded: RecordedResponse, found: Command) -> Iterator[FieldDifference]:
        """Whether a queue that all programs share has got shorter than it was earlier in this history, where the reference
        implementation's has not. Deletions by other programs may do that, but not where a release keeps the queue."""
        queue = asked.fields["topic"], asked.fields.get("queueId", "")
        theirs, ours = (java_long(fields.get("offset", "")) for fields in (recorded.fields, found.ext_fields or {}))
        if asked.op != "max_offset" or theirs is None or ours is None:
            return
        before, after = self._lengths.get(queue, (theirs, ours))
        self._lengths[queue] = theirs, ours
        if (theirs < before) != (ours < after):
            kept = queue[0] == OP_HALF_TOPIC and self.profile.keeps_operations
            expected = f"{before} or more" if theirs < before else f"less than {before}"
            yield FieldDifference("offset", theirs, expected, str(asked), asked.seq, by_chance=not kept)

    def _may_be_late(self, asked: Exchange, recorded: RecordedResponse, found: Command) -> bool:
        """Whether a stored message is said to be flushed too late, which a release that does not look again says of one that begins a file
        (HAZ-21). Where files begin, the messages of other programs decide."""
        late = recorded.code == codes.FLUSH_DISK_TIMEOUT and found.code == codes.SUCCESS and whole_number(asked.request["code"]) in SENDS
        synchronous = self.followed.broker.settings.flush_disk_type == "SYNC_FLUSH"
        return late and synchronous and not self.profile.rechecks_after_flush

    def _there(self, asked: Exchange, remark: str) -> str:
        """A remark that ends with the place which a request names, with the place that it names on the target."""
        theirs, ours = (fields.get("offset", "") for fields in (asked.fields, here(asked.fields, self.followed.places)))
        return remark.removesuffix(f", {ours}") + f", {theirs}" if ours and remark.endswith(f", {ours}") else remark

    def _own_address(self, *routes: bytes | None) -> Iterator[FieldDifference]:
        """Where two routes say that the broker itself is, if both do and its settings are known."""
        if self.followed.knows_address:
            one, other = (comparison.address(data, self.followed.broker.settings.broker_name) for data in routes)
            if None not in (one, other) and one != other:
                yield FieldDifference("address", one, other)

    def _told(self, asked: Exchange, found: Command) -> Iterator[FieldDifference]:
        """What a name server says in a body about what is the program's own."""
        theirs = body_of(asked.outcome)
        if asked.op == "cluster":
            one, other = (comparison.clusters(data, self.names.is_mine) for data in (theirs, found.body))
            yield from comparison.values("clusters", one, other)
        else:
            other = fastjson.loads(found.body or b"{}")
            yield from comparison.values("body", comparison.fields(theirs, other), other)

    def _earliest(self, asked: Exchange, theirs: int, ours: int) -> Iterator[FieldDifference]:
        """The target has to answer with the time at which it stored what is the queue's first message here, -1 for none and soon after that
        was sent: it may not be dispatched."""
        topic, queue = asked.fields["topic"], whole_number(asked.fields["queueId"])
        expected = ours
        if ours != -1:
            first = self.followed.broker.store.get_message(topic, queue, self.followed.broker.store.min_offset(topic, queue))
            place = (
                None if first is None else next((at for at, here in self.followed.places.items() if here == first.physical_offset), None)
            )
            sent = next(
                (one.sent_millis for one in self.history.asked if place in places(one.outcome.get("fields") or {})), asked.sent_millis
            )
            late = theirs == -1 and asked.sent_millis < sent + WITHIN
            expected = theirs if late or place not in self.followed.theirs else self.followed.theirs[place].store_timestamp
        if theirs != expected and self.names.is_mine(topic):
            yield FieldDifference(TIMESTAMP, theirs, expected)

    def _is_comparable(self, asked: Exchange, recorded: RecordedResponse, found: Command) -> bool:
        """Whether the two answers should be the same."""
        if recorded.code != found.code and asked.op == "route" and self._asks_again(asked):
            return False
        if found.code == codes.REQUEST_CODE_NOT_SUPPORTED and whole_number(asked.request["code"]) != UNSUPPORTED_CODE:
            return False  # releases serve more codes than the reference implementation
        if asked.op in ("max_offset", "search", *NOTHING_THERE) and self._is_behind(asked, recorded, found):
            return False
        return not self._made_by_others(asked) or recorded.code == found.code == codes.SUCCESS

    def _is_behind(self, asked: Exchange, recorded: RecordedResponse, found: Command) -> bool:
        """Whether the target may not have dispatched yet what was sent just before."""
        if not is_soon(self.history, asked):
            return False
        ours = found.ext_fields or {}
        if recorded.code != found.code:
            return recorded.code in NOTHING_THERE.get(asked.op, ()) and not has_all(recorded.fields, ours)
        if asked.op == "pull" and has_all(recorded.fields, ours):
            return False  # all that is there is dispatched
        if asked.op == "progress":
            return False  # how far a group is was committed, and waits for nothing
        return any(_is_less(theirs, ours.get(name, "0")) for name, theirs in recorded.fields.items())

    def _made_by_others(self, asked: Exchange) -> bool:
        """Whether another program may have made the topic: the system's own, and without name checks all that get no prefix. That a send
        is forbidden does not depend on it: the broker makes such a topic by itself."""
        topic = asked.fields.get("topic", "")
        if self.names.is_mine(topic) or topic in self.followed.first:
            return False
        forbidden = whole_number(asked.request["code"]) in SENDS and topic in self.profile.forbidden
        return not self.profile.check_names or (self.names.is_shared(topic) and not forbidden)

    def _asks_again(self, asked: Exchange) -> bool:
        """Whether the same client asks for the same route next."""
        later = next((one for one in self.history.asked if one.seq > asked.seq and one.process == asked.process), None)
        return later is not None and later.op == "route" and later.fields == asked.fields


def _checked(item: Other, most_checks: int) -> Iterator[FieldDifference]:
    """How far the check of half messages is, which has had the time to come as far as its queues were long, and can be no further than they
    are long now; and how often it has asked about a message (TRX-05)."""
    for times in item.value.get("asked", ()):
        if not 0 < (java_int(times) or 0) <= most_checks:
            yield FieldDifference("checked", times, f"between 1 and {most_checks}", f"event {item.seq} (checked)", item.seq)
    for topic, far in item.value.get("reached", {}).items():
        least, most = item.value["before"][topic], item.value["after"][topic]
        if least is not None and most is not None and not least <= (far or 0) <= most:
            yield FieldDifference("checked", [topic, far], f"at least {least}, at most {most}", f"event {item.seq} (checked)", item.seq)


def _is_less(theirs: str, ours: str) -> bool:
    """Whether both are numbers, and the first one is less."""
    found, expected = java_long(theirs), java_long(ours)
    return found is not None and expected is not None and found < expected


def _in_queue(data: bytes | None) -> list[int]:
    """The places in their queue of the records that a pull found."""
    return [looks.place_in_queue(one) for one in looks.split(data or b"")]


def _question(fields: Mapping[str, str], body: bytes | None, profile: Profile) -> dict[str, Any]:
    """What a broker asks about a half message, without what only its own log knows but as far as that fits together; nothing where it is
    none."""
    message = records.decode(body or b"", exact=profile.exact_properties, hosts_by_flag=profile.hosts_by_flag)
    if message is None:
        return {}
    times, place = message.properties.pop(CHECK_TIMES, ""), str(message.physical_offset)
    found = {name: value for name, value in message_data(message).items() if name not in _OF_LOG}
    return found | {
        "body": message.body,
        "counts": (java_int(times) or 0) > 0,
        **{name: fields.get(name) == message.properties.get(UNIQ_KEY) for name in ("msgId", "transactionId")},
        "commitLogOffset": fields.get("commitLogOffset") == place,
        "tranStateTableOffset": fields.get("tranStateTableOffset") == str(message.queue_offset),
    }


def _times(recorded: Mapping[str, str], found: Mapping[str, str]) -> tuple[int, int] | None:
    """The two times that a queue's first message was stored at; None unless both answers have one."""
    try:
        return whole_number(recorded[TIMESTAMP]), whole_number(found[TIMESTAMP])
    except (KeyError, ValueError):
        return None
