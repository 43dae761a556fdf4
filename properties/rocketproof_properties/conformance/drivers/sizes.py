"""Drives a simulated broker by the model of sizes: its checks, log and dispatcher, and a restart on its files.

All records have one size, so that places in the log correspond to the specification's. A body fills its record, and maxMessageSize makes it
smaller, equal or larger than the limit. Messages that are given up precede the first place, and so does one message in the queue of the
others: HAZ-52 concerns queues that begin after an unreadable record. The size of the broker's own properties is measured on a separate
broker. A request waits on the wire until an action delivers it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import properties_text
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster, Node
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store import record
from rocketproof_impl.store.consumequeue import ENTRY_SIZE
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import BORN_IPV6
from rocketproof_protocol.properties import CLUSTER
from rocketproof_protocol.topics import DLQ_PREFIX
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.sizes import OWN, Sizes

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import start

RECORD = 36_000
FILE = 1 << 19
_SMALL = 10  # bytes of a body that is measured
_NAMES = {"fits": "n" * NAME_LIMIT, "more bytes": "é" + "n" * (NAME_LIMIT - 1), "more characters": "n" * (NAME_LIMIT + 1)}
_WHERE = {record.RecordLengths.UNREADABLE: "unreadable", record.RecordLengths.UNEQUAL: "unequal"}
_ANSWERS = {
    codes.MESSAGE_ILLEGAL: "MESSAGE_ILLEGAL",
    codes.SYSTEM_ERROR: "SYSTEM_ERROR",
    codes.SUBSCRIPTION_GROUP_NOT_EXIST: "illegal group",
}


@dataclass(frozen=True)
class SizedRequest:
    """A request in the specification's terms. `sizes`: bytes of the body of a message, or of the two items of a batch."""

    kind: str
    topic: str
    text: str
    longer: bool
    sizes: tuple[int, int] = (_SMALL, _SMALL)

    @property
    def name(self) -> str:
        """The topic; for a send-back the group, whose dead-letter topic has the required length."""
        name = _NAMES[self.topic]
        return name[: -len(DLQ_PREFIX)] if self.kind == "send-back" else name

    def command(self, own: int, offset: int) -> Command:
        """Return the request for a broker that adds `own` bytes to properties. `offset`: the place of the message that is given up."""
        flag = BORN_IPV6 if self.longer else 0
        if self.kind == "send-back":
            return plain("back", offset=offset, group=self.name, level=-1)
        properties, (first, second) = self.properties(own), self.sizes
        if self.kind == "message":
            return plain("send", topic=self.name, body="b", size=first, properties=properties, sys_flag=flag)
        items: list[tuple[str, dict[str, str]]] = [("b" * first, {}), ("b" * second, properties)]
        return plain("send", topic=self.name, items=items, sys_flag=flag)

    def properties(self, own: int) -> dict[str, str]:
        """Return the sender's properties: on the required side of the limit in characters and in bytes."""
        free = TEXT_LIMIT - own - len(properties_text({"k": ""}, trailing=False))
        match self.text:
            case "odd":
                return {"k": "v" * (free - 100), CLUSTER: "mine", "none": ""}
            case "near":
                return {"k": "v" * (min(free, free + own - OWN) + 1)}
            case "more bytes":
                return {"k": "é" * (own + 1) + "v" * (free - own - 1)}
            case "more characters":
                return {"k": "v" * TEXT_LIMIT}
            case _:
                return {"k": "v" * free}


def _node(cluster: Cluster) -> Node:
    return cluster.add(BrokerSettings(name_servers=(NAME_SERVER,), mapped_file_size_commit_log=FILE, max_message_size=FILE))


@cache
def own_bytes(profile: str, kind: str) -> int:
    """Return the bytes that a broker of the profile adds to the properties of a message, or of a batch's item."""
    cluster = Cluster(0, profile=profile)
    node = _node(cluster)
    sent = {"k": "v"}
    cluster.call(plain("send", items=[("a", sent)]) if kind == "batch" else plain("send", properties=sent))
    (stored,) = node.running.store.records()
    return len(stored.properties_text or "") - len(properties_text(sent, trailing=False))


@cache
def _filled(profile: str, request: SizedRequest) -> SizedRequest:
    """Return the request with bodies that fill its records; unchanged if nothing of it is stored."""
    cluster = Cluster(0, profile=profile)
    node = _node(cluster)
    cluster.call(plain("send", body="b" * _SMALL))
    store = node.running.store
    places = [store.max_phy_offset]
    cluster.call(request.command(own_bytes(profile, request.kind), 0))
    while places[-1] < store.max_phy_offset:
        size, _ = record.size_and_magic(store.commit_log.data_from(places[-1], record.BLANK_SIZE) or b"")
        places.append(places[-1] + size)
    sizes = [_SMALL + RECORD - (end - begin) for begin, end in itertools.pairwise(places)]
    return SizedRequest(request.kind, request.topic, request.text, request.longer, (sizes[0], sizes[-1])) if sizes else request


class SizesDriver(ModelDriver):
    """A broker without threads: puts are on the device, and an action dispatches them."""

    def __init__(self, specification: Sizes, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.profile = profile
        self.cluster = Cluster(0, profile=profile)
        self.node = _node(self.cluster)
        self.given_up: dict[str, int] = {}
        for topic in _NAMES:
            request = _filled(profile.name, SizedRequest("send-back", topic, "fits", longer=False))
            self.given_up[topic] = self.node.running.store.max_phy_offset
            self.cluster.call(plain("send", body="b" * request.sizes[0]))
        self.cluster.call(plain("send", topic=_NAMES["fits"]))
        self.base = self.node.running.store.max_phy_offset
        self.node.running.store.dispatch()
        self.asked = SizedRequest("message", "fits", "fits", longer=False)
        self.body = "fits"
        self.call: SimulatedThread[Command] | None = None
        self.answer = "none"
        self.log: list[str] = []
        self.written = 0
        self.is_offset_repeated = False
        self.cluster.network.plan = self._plan

    def _plan(self, packet: Packet) -> list[int] | str:
        return HOLD if packet.target == self.node.settings.address and not packet.answer else [0]

    # Actions

    def _do_request(self, kind: str, topic: str, text: str, body: str, *, longer: bool) -> None:
        self.asked, self.body = _filled(self.profile.name, SizedRequest(kind, topic, text, longer)), body
        command = self.asked.command(own_bytes(self.profile.name, kind), self.given_up[topic])
        sent = len(command.body or b"") or RECORD
        self.node.settings.max_message_size = {"fits": 2 * RECORD, "limit": sent, "more": sent - 1}[body]
        self.call = self.cluster.calling(command)
        self.answer = "none"

    def _other(self, **values: object) -> None:
        """Deliver the request and record the response, whatever the specification's reason is."""
        if values or self.call is None:
            super()._other(**values)
            return
        (packet,) = self.cluster.network.held
        before = self.node.running.store.max_phy_offset
        self.cluster.network.deliver(packet)
        self.cluster.scheduler.settle()
        self.answer = self._read(self.call.result(), before)
        self.call, self.asked, self.body = None, SizedRequest("message", "fits", "fits", longer=False), "fits"

    def _read(self, answer: Command, before: int) -> str:
        if answer.code == codes.SUCCESS:
            data = self.node.running.store.commit_log.select(before) or b""
            sent = properties_text(self.asked.properties(own_bytes(self.profile.name, self.asked.kind)), trailing=False)
            unchanged = self.asked.text != "odd" or all(item.encode() in data for item in sent.split("\x02"))
            return "stored" if unchanged else "stored otherwise"
        if answer.code == self.profile.illegal_code and (answer.remark or "").startswith("The specified topic"):
            return "illegal name"
        require(answer.code in _ANSWERS, f"the request is answered {answer.code} {answer.remark}: the specification has no such answer")
        return _ANSWERS[answer.code]

    def _do_dispatch(self) -> None:
        require(self.node.running.store.dispatch(1) == 1, "the dispatcher finds no record: the specification has one for it")

    def _do_skip(self) -> None:
        require(self.node.running.store.dispatch(1) == 0, "the dispatcher reads a record: in the specification it cannot")

    _do_overshoot = _do_skip

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the step is possible. The specification has no queue offsets, and gives each record before the end its entry.

        A start finds records again after which an earlier start ended the log. Such a record gets no entry if a record since has its queue
        offset (REC-04).
        """
        return action.name != "start" or not self.is_offset_repeated

    def _do_end(self, *, clean: bool) -> None:
        self.seen()
        self.is_offset_repeated = self._repeats_offset()
        if clean:
            self.cluster.scheduler.complete(self.node.running.stop())
        self.cluster.crash(silent=True)

    def _do_start(self) -> None:
        start(self.cluster, self.node)

    # State

    def _places(self) -> list[str]:
        """Return the content of each place of a running broker's log, including places after its end."""
        store = self.node.running.store
        entries = {
            entry.physical_offset
            for queue in store.queues.queues.values()
            for index in range(queue.files.max_offset // ENTRY_SIZE)
            if (entry := queue.entry(index)) is not None
        }
        contents = []
        for offset, data in self._data():
            shape = record.shape(data, hosts_by_flag=self.profile.hosts_by_flag)
            contents.append(_WHERE.get(shape, "built" if offset in entries else "new") if any(data) else "none")
        return contents

    def _data(self) -> Iterator[tuple[int, bytes]]:
        """Yield the offset in the log and the bytes of each place."""
        region = self.node.running.store.commit_log.files.files[0].region
        return ((offset, region.read(offset, RECORD)) for offset in range(self.base, self.base + RECORD * self.s.places, RECORD))

    def _repeats_offset(self) -> bool:
        """Return whether two records that a start would find have one queue offset. It finds those before the first unreadable one."""
        found: set[tuple[str, int, int]] = set()
        for content, (_, data) in zip(self.log, self._data(), strict=True):
            message = record.decode(data, exact=self.profile.exact_properties) if content in ("new", "built") else None
            if message is None:
                return False
            key = (message.topic, message.queue_id, message.queue_offset)
            if key in found:
                return True
            found.add(key)
        return False

    def _place(self, offset: int) -> int:
        places, more = divmod(offset - self.base, RECORD)
        if more or places < 0:
            raise Deviation(f"{offset} is inside a record: they have {RECORD} bytes each, from {self.base} on")
        return places

    def seen(self) -> Seen:
        store = self.node.broker.store if self.node.broker else None
        if store is not None:
            self.written = self._place(store.max_phy_offset)
            self.log = self._places()
        request = self.asked
        values: Seen = {
            "job.arrived": self.call is not None,
            "job.kind": request.kind,
            "job.topic": request.topic,
            "job.text": request.text,
            "job.body": self.body,
            "job.longer": request.longer,
            "job.answer": self.answer,
            "up": store is not None,
            "written": self.written,
            "dispatched": self._place(store.dispatched_to) if store is not None else 0,
        }
        for place in self.s.Place.codes():
            values["log", place] = self.log[place]
        return values
