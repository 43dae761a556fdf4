"""The reference implementation is asked what the target was asked, and answers must agree.

A program runs on a simulated broker of the profile, with the target's settings and from an empty store; where the target's
messages are elsewhere in the log, places are translated. Compared are codes, remarks and fields of answers, routes, topics,
next offsets and every field of the records that were read back. What programs share (offsets in the broker's own topics) and
what two runs never share (times, hosts, ports) is left out. Programs of several clients at a time have no one order, and are
judged by the other judges alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_impl.broker.admin import FIELDS, update_settings
from rocketproof_impl.broker.checking import pre_send
from rocketproof_impl.broker.sending import message_context
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.remoting import codes
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.remoting.headers import parse_request_header
from rocketproof_impl.simulator.cluster import NAME_SERVER as SIMULATED_NAME_SERVER
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.store import record as records
from rocketproof_impl.topic import DataVersion, table_to_data
from rocketproof_profiles import Profile

from ..deployments.deployment import NAME_SERVER
from ..generators.programs import ALONE, CONFIGURED
from ..runs.client import places
from ..runs.parsed import Asked, Other, Told
from ..runs.recording import body_of
from ..steps.calls import NOBODYS, command_of
from . import masks
from .alike import broker_data, how_many, queue_data, queue_of, same_remark
from .difference import Difference
from .middle import continue_at
from .orders import NOBODY, Arrived, Item, orders
from .recording import Told as ToldRandomness

MILLIS: Final = 20_000
_DELAY_STEP: Final = 100
_LARGEST_FILE: Final = 1 << 24
_SHORTEST_DELAY: Final = 900
_MOST_MOMENTS: Final = 6
_OWN_SETTINGS: Final = ("brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir", "rocketmqHome", "storePathCommitLog")
_MSG_ID = re.compile(r"[0-9A-F]{32}")


def differences(told: Told, profile: Profile) -> list[Difference]:
    """Where they differ, in order; nowhere if a possible order and moment explain everything, or for several clients at a time."""
    if told.concurrent:
        return []
    reference = Reference(told, profile, told.items)
    found = list(reference.compare())
    if not found:
        return []
    moments = _moments(told)
    possible: list[Sequence[Item]] = [told.items]
    if any(one.one_way for one in told.asked):
        born = {str(one.born_timestamp): at for at, one in reversed(reference.theirs.items())}
        possible += orders(told, born)
        missing = [one.fields.get("topic", "") for one in told.asked if one.one_way and one.fields.get("bornTimestamp") not in born]
        found = [one for one in found if not one.is_less(missing)]
    lost = any(isinstance(one, Other) and one.op == "disconnect" for one in told.items)
    for items, until, last in itertools.product(possible, (None, *moments), (False, True) if lost else (False,)):
        if not list(Reference(told, profile, items, until=until, last=last).compare()):
            return []
    for until in moments:  # what differs whenever the queues were read does differ
        then = {(one.what, one.field) for one in Reference(told, profile, told.items, until=until).compare()}
        found = [one for one in found if (one.what, one.field) in then]
    return found


def _moments(told: Told) -> list[int]:
    """When the queues may have been read, in milliseconds, in a run so slow that what was delayed may have been delivered meanwhile."""
    if told.millis < _SHORTEST_DELAY:
        return []
    first = max((one.millis for one in told.asked), default=0)
    step = max(_DELAY_STEP, (told.millis - first) // _MOST_MOMENTS)
    return [*range(first, told.millis, step), told.millis]


@dataclass
class Reference:
    """A simulated broker that follows a history, in the order of `items`.

    `places`: the target's places in its log to ours, and `back` ours to the target's. `until`: let time pass as it did, up to
    this moment; for None it stands still unless a program waits. `last`: of two brokers with a lost address the last one leaves; a name
    server has them in no order.
    """

    told: Told
    profile: Profile
    items: Sequence[Item]
    places: dict[int, int] = field(default_factory=dict)
    back: dict[int, int] = field(default_factory=dict)
    halves: dict[str, str] = field(default_factory=dict)
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.cluster = Cluster(0, profile=self.profile)
        settings = self._settings()
        node = self.cluster.add(settings, start=False)
        node.random = self.random = ToldRandomness()
        self.cluster.start(node)
        self.broker = node.running
        self.first = frozenset(self.broker.topics.table)
        for name, value in self._configured().items():
            update_settings(self.broker.settings, f"{name}={value}")
        self.names = self.told.names
        kept = sorted(self.told.records.items())
        decoded = {
            at: records.decode(d, exact=self.profile.exact_properties)
            for at, d in kept
            if records.size_and_magic(d)[1] != records.BLANK_MAGIC
        }
        self.theirs = {at: message for at, message in decoded.items() if message is not None}
        self.broken = [at for at, message in decoded.items() if message is None]
        self._taken: set[int] = set()
        first = min((place for one in self.told.asked for place in places(one.answer.get("fields") or {})), default=0)
        self.exact = self.told.program.needs == ALONE and first in self.theirs
        if self.exact and first:
            continue_at(self.broker, first)
        version = str(self.told.origin.get("version", ""))
        self.version = version or ("5." if self.profile.name.startswith("P5") else "4.")

    def _settings(self) -> BrokerSettings:
        settings = BrokerSettings(mapped_file_size_commit_log=_LARGEST_FILE)
        if {"brokerIP1", "listenPort"} <= self.told.settings.keys():
            settings.broker_ip1, settings.listen_port = self.told.settings["brokerIP1"], int(self.told.settings["listenPort"])
        host = next((self._host(one) for one in self.told.asked if one.answer.get("fields", {}).get("msgId")), None)
        if host is not None:
            settings.broker_ip1, settings.listen_port = host
        later = self._configured()
        for name, value in {**self.told.settings, **self.told.program.settings}.items():
            if name in FIELDS and name not in _OWN_SETTINGS and name not in later:
                update_settings(settings, f"{name}={value}")
        settings.mapped_file_size_commit_log = min(settings.mapped_file_size_commit_log, _LARGEST_FILE)
        return settings

    def _configured(self) -> Mapping[str, str]:
        """The settings that were changed when the broker ran already."""
        return CONFIGURED.get(self.told.program.needs, {})

    @staticmethod
    def _host(asked: Asked) -> tuple[str, int]:
        host = records.read_host(bytes.fromhex(asked.answer["fields"]["msgId"][:16]))
        return host[0], host[1]

    def compare(self) -> Iterator[Difference]:
        self.began = self.cluster.clock.now()
        for item in self.items:
            if isinstance(item, Arrived):
                self._arrive(item.asked)
                continue
            if isinstance(item, Asked):
                self._pass(item.millis)
            if isinstance(item, Asked) and item.closed == "info" and "error" in item.answer and "alive" not in self.told.states:
                return  # the broker was gone
            if isinstance(item, Other):
                self._happen(item)
            elif item.refused:
                continue
            elif item.closed != "fail" and not item.value.get("line"):
                yield from self._ask(item)
            elif item.closed != "fail":
                yield from self._ask(item, client=str(item.value["line"]))
        self._pass(self.until or 0)
        yield from self._topics()
        yield from self._queues()
        yield from self._records()

    def _happen(self, item: Other) -> None:
        if item.op == "wait":
            self._wait(int(item.value["millis"]))
        elif item.op == "disconnect":
            address = str(item.value["address"])
            server = self.cluster.name_server
            if address in server.broker_live_table:  # else nobody registered over this connection (NS-08)
                if self.last:
                    server.broker_addr_table = dict(reversed(server.broker_addr_table.items()))
                server.remove_address(address)

    def _pass(self, millis: int) -> None:
        """Let time pass up to a moment of the history."""
        if self.until is not None:
            self._wait(self.began + millis - self.cluster.clock.now())

    def _wait(self, millis: int) -> None:
        scheduler = self.cluster.scheduler
        for _ in range(millis // _DELAY_STEP):
            scheduler.advance(_DELAY_STEP)
            scheduler.complete(self.broker.store.deliver_delayed(), "deliver delayed")
        self.broker.store.dispatch()

    # Requests

    def _ask(self, asked: Asked, client: str = "client") -> Iterator[Difference]:
        self.random.queue = self._drawn(asked)
        command = self._command(asked)
        to = SIMULATED_NAME_SERVER if asked.value["to"] == NAME_SERVER else self.broker.settings.address
        caller = self.cluster.caller(client)
        found: Command | None = None
        try:
            if asked.one_way:
                self.cluster.scheduler.complete(caller.post(to, command))
                self.cluster.scheduler.settle()
            else:
                found = self.cluster.scheduler.complete(caller.call(to, command, MILLIS))
        except RemotingError:
            found = None
        self.broker.store.dispatch()
        if asked.closed == "ok":
            yield from self._answered(asked, found)
        elif asked.closed == "info" and not asked.one_way and found is not None:
            yield Difference(asked.seq, str(asked), "answer", asked.answer.get("error"), f"code {found.code}")

    def _arrive(self, asked: Asked) -> None:
        """What a send does before it is stored: it is checked, and its topic is made."""
        command = self._command(asked)
        with suppress(JavaError):
            header = parse_request_header(command.code, command.ext_fields, nulls=self.profile.null_fields)
            if header is not None:
                message_context(self.broker, NOBODY, command, header)
                self.cluster.scheduler.complete(pre_send(self.broker, NOBODY, command, header))

    def _command(self, asked: Asked) -> Command:
        return command_of(int(asked.value["code"]), self._ours(asked), body_of(asked.value) or None, int(asked.value["version"]))

    def _drawn(self, asked: Asked) -> int:
        """The queue that the target chose at random, as its answer or its record says."""
        answer = asked.answer.get("fields") or {}
        if asked.op == "send_back":
            if asked.code not in (codes.SUCCESS, None):
                return 0  # what it may have become is another request's
            before = self.theirs.get(int(asked.fields.get("offset", -1)))
            again = None if before is None else self._again(before)
            return 0 if again is None else queue_of(again)
        if not asked.fields.get("queueId", "").startswith("-"):
            return 0
        if "queueId" in answer:
            return int(answer["queueId"])
        born = [one for one in self.theirs.values() if str(one.born_timestamp) == asked.fields.get("bornTimestamp")]
        return queue_of(born[0]) if born else 0

    def _again(self, before: Message) -> Message | None:
        """The record that a message became when it was sent back, the first that no earlier request has become."""
        for at, one in self.theirs.items():
            same = one.born_timestamp == before.born_timestamp and one.reconsume_times == before.reconsume_times + 1
            if same and at > before.physical_offset and at not in self._taken and one.topic != before.topic:
                self._taken.add(at)
                return one
        return None

    def _ours(self, asked: Asked) -> dict[str, str]:
        """The request's fields with our places instead of the target's."""
        fields = dict(asked.fields)
        for name in ("offset", "commitLogOffset"):
            if name in fields and asked.op in ("send_back", "end_transaction"):
                fields[name] = str(self.places.get(int(fields[name]), int(fields[name])))
        if asked.op == "end_transaction":
            fields["tranStateTableOffset"] = self.halves.get(fields["tranStateTableOffset"], fields["tranStateTableOffset"])
        return fields

    def _answered(self, asked: Asked, found: Command | None) -> Iterator[Difference]:
        value = asked.answer
        if found is None:
            yield Difference(asked.seq, str(asked), "answer", f"code {value['code']}", "none")
            return
        if value["code"] != found.code and asked.op == "route" and self._asks_again(asked):
            return
        if found.code == codes.REQUEST_CODE_NOT_SUPPORTED and int(asked.value["code"]) != NOBODYS:
            return  # releases serve more codes than the reference implementation
        if self._made_by_others(asked) and not value["code"] == found.code == codes.SUCCESS:
            return
        if value["code"] != found.code:
            yield Difference(asked.seq, str(asked), "code", [value["code"], value.get("remark")], [found.code, found.remark])
            return
        if not same_remark(value.get("remark"), found.remark):
            yield Difference(asked.seq, str(asked), "remark", value.get("remark"), found.remark)
        before, after = value.get("fields") or {}, found.ext_fields or {}
        shared = self._learn(before, after)
        for name in dict.fromkeys((*before, *after)):
            one, other = before.get(name), after.get(name)
            if (name == "msgId" and not self.exact) or (name == "queueOffset" and shared):
                if how_many(one) != how_many(other):
                    yield Difference(asked.seq, str(asked), name, one, other)
                continue
            if masks.varies(name, self.version) and one is not None and other is not None:
                continue
            if one != other:
                yield Difference(asked.seq, str(asked), name, one, other)
        if asked.op == "route" and value["code"] == codes.SUCCESS:
            yield from self._route(asked, found)

    def _made_by_others(self, asked: Asked) -> bool:
        """Whether another program may have made the topic: without name checks, those can be made that get no prefix."""
        topic = asked.fields.get("topic", "")
        return not self.profile.check_names and not self.names.is_mine(topic) and topic not in self.first

    def _asks_again(self, asked: Asked) -> bool:
        """Whether the same client asks for the same route next."""
        later = next((one for one in self.told.asked if one.seq > asked.seq and one.process == asked.process), None)
        return later is not None and later.op == "route" and later.fields == asked.fields

    def _learn(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Note where the answered messages are on both sides; whether they are in a topic that programs share."""
        theirs, ours = places(before), places(after)
        for one, other in zip(theirs, ours, strict=False):
            self.places[one] = other
            self.back[other] = one
        if not theirs or not ours:
            return False
        message = self.broker.store.look_message_by_offset(ours[0])
        shared = message is None or not self.names.is_mine(message.topic)
        if shared and "queueOffset" in before and "queueOffset" in after:
            self.halves[before["queueOffset"]] = after["queueOffset"]
        return shared

    def _route(self, asked: Asked, found: Command) -> Iterator[Difference]:
        """The queues that a route shows, and the addresses of brokers that only this program knows; a shared topic's are everybody's."""
        one, other = (queue_data(body) for body in (body_of(asked.answer), found.body))
        if not self.names.is_mine(asked.fields.get("topic", "")):
            return
        if one != other:
            yield Difference(asked.seq, str(asked), "queueDatas", one, other)
        one, other = (broker_data(body, self.names.is_mine) for body in (body_of(asked.answer), found.body))
        if one != other:
            yield Difference(asked.seq, str(asked), "brokerDatas", one, other)

    # What was read back

    def _topics(self) -> Iterator[Difference]:
        state = self.told.states.get("topics")
        if state is None:
            return
        table = {name: config for name, config in self.broker.topics.table.items() if self.names.is_mine(name)}
        ours = table_to_data(table, DataVersion(0))["topicConfigTable"]
        for name in dict.fromkeys((*(n for n in state["topics"] if self.names.is_mine(n)), *ours)):
            one, other = state["topics"].get(name), ours.get(name)
            if one is None or other is None:
                if one != other:
                    yield Difference(-1, f"topic {name}", "the broker's entry", one, other)
                continue
            for key, due in other.items():
                if key in one and one[key] != due:
                    yield Difference(-1, f"topic {name}", key, one[key], due)

    def _queues(self) -> Iterator[Difference]:
        self.broker.store.dispatch()
        for topic, queue, end, *_ in self.told.states.get("queues", {}).get("queues", ()):
            due = self.broker.store.max_offset(topic, queue)
            if end != due:
                yield Difference(-1, f"queue {queue} of {topic}", "next offset", end, due)

    def _records(self) -> Iterator[Difference]:
        """Each record with ours, which is known by the message's time of birth and its turn among those that have it."""
        for at in self.broken:
            yield Difference(-1, f"the record at {at}", "content", "no record", "a record")
        by_birth: dict[tuple[int, str, int], list[Message]] = {}
        for message in self.broker.store.records(0):
            by_birth.setdefault((message.born_timestamp, message.topic, message.queue_id), []).append(message)
        turns: dict[tuple[int, str, int], int] = {}
        for at, found in self.theirs.items():
            if at in self.places:
                due = self.broker.store.look_message_by_offset(self.places[at])
            else:
                key = (found.born_timestamp, found.topic, found.queue_id)
                same = by_birth.get(key, [])
                turn = turns.get(key, 0)
                turns[key] = turn + 1
                same = [one for one in same if one.physical_offset not in self.back]
                due = same[turn] if turn < len(same) else None
            where = f"the record at {at} ({found.topic}, queue {found.queue_id})"
            if due is None:
                if self.names.is_mine(found.topic):
                    yield Difference(-1, where, "content", "a record", "none")
                continue
            for name, one, other in self._fields(found, due):
                if one != other:
                    yield Difference(-1, where, name, one, other)

    def _fields(self, found: Message, due: Message) -> Iterator[tuple[str, Any, Any]]:
        yield "topic", found.topic, due.topic
        yield "queueId", found.queue_id, due.queue_id
        yield "flag", found.flag, due.flag
        yield "sysFlag", found.sys_flag, due.sys_flag
        yield "body", found.body, due.body
        yield "bodyCRC", found.body_crc, due.body_crc
        yield "reconsumeTimes", found.reconsume_times, due.reconsume_times
        yield "bornTimestamp", found.born_timestamp, due.born_timestamp
        yield "storeHost", found.store_host, due.store_host
        if self.names.is_mine(found.topic):
            yield "queueOffset", found.queue_offset, due.queue_offset
        names = dict.fromkeys((*found.properties, *due.properties))
        for name in names:
            one, other = found.properties.get(name), due.properties.get(name)
            if one is not None and other is not None and (masks.varies(name, self.version) or _MSG_ID.fullmatch(one)):
                continue
            yield f"property {name}", one, other
