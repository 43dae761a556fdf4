"""The reference implementation is asked what the target was asked, and answers must agree.

A program runs on a simulated broker of the profile, with the target's settings and from an empty store; where the target's
messages are elsewhere in the log, places are translated. Compared are codes, remarks and fields of answers, routes, topics,
next offsets and every field of the records that were read back. What programs share (offsets in the broker's own topics) and
what two runs never share (times, hosts, ports) is left out. Programs of several clients at a time have no one order, and are
judged by the other judges alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.checking import pre_send
from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_to_data
from rocketproof_impl.broker.sending import message_context
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS, update_settings
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Host, Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.remoting.headers import parse_request_header
from rocketproof_impl.store import record as records
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_profiles import Profile
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.flags import COMMIT, PULL_SUSPENDS
from rocketproof_protocol.properties import CHECK_TIMES, REAL_TOPIC, UNIQ_KEY
from rocketproof_protocol.topics import HALF_TOPIC

from ..deployments.simulated import SimulatedConnection
from ..generators.settings import ALONE, while_running
from ..runs import looks
from ..runs.client import places
from ..runs.parsed import Asked, Other, ParsedHistory
from ..runs.recording import KEPT, body_of
from ..runs.transport import faults, is_doubled, is_lost
from ..steps.call import command_of
from ..steps.parts import NAME_SERVER
from ..steps.requests import UNSUPPORTED_CODE
from ..steps.vocabulary import plain
from . import comparison, keys, masks
from .cases import SENDS, Answer, here
from .comparison import Comparison, Difference, message_data
from .driver import SECONDS
from .middle import begin_log_at
from .orders import Arrived, Item
from .simulated import ReplayDeployment

DELAY_STEP: Final = 100
_LARGEST_FILE: Final = 1 << 24
_DISPATCHED: Final = 1000  # milliseconds behind a request for its message, by which it must be in its queue
_OWN_SETTINGS: Final = ("brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir", "rocketmqHome", "storePathCommitLog")
_TOPIC: Final = frozenset(table_to_data({"": TopicConfig("")}, DataVersion(0))["topicConfigTable"][""])
_GROUP: Final = frozenset(group_to_data(SubscriptionGroupConfig("")))
_WITHIN: Final = re.compile(r"^(extFields|group|route|topicConfig|)\.")
_PATIENT: Final = 0.9
"""Of the time that a pull may be held, as clocks differ a little."""
_TIMESTAMP: Final = "timestamp"
_TIMERS: Final = "timerWheelEnable"
NEXT_OFFSET: Final = "next offset"
_CHANGING: Final = ("update_topic", "delete_topic", "update_group", "delete_group", "commit")
NOTHING_THERE: Final[Mapping[str, tuple[int, ...]]] = {
    "pull": (codes.PULL_NOT_FOUND, codes.PULL_RETRY_IMMEDIATELY, codes.PULL_OFFSET_MOVED),
    "progress": (codes.QUERY_NOT_FOUND,),
}
"""What is answered about a queue into which nothing is dispatched yet."""
ENDS: Final = ("max_offset", "pull", "earliest")
"""Requests that answer which messages a queue has."""
OF_DISPATCH: Final = (*ENDS, "progress")
"""Requests whose answers say how far a broker has dispatched."""
ENTRY: Final = "the broker's entry"
_OF_LOG: Final = ("physOffset", "queueOffset", "storeHost", "propertiesText", "bornHost")
"""Of a message, what is where it lies."""
_BORN: Final = "bornTimestamp"
_TOLD: Final = ("cluster", "other")
"""Requests to a name server with a body in the answer that is compared."""
ANSWER: Final = "answer"
"""The field of a difference that is only a lost answer."""


def is_soon(history: ParsedHistory, asked: Asked) -> bool:
    """Whether what was sent just before a question may not be dispatched yet."""
    sent = max((one.millis for one in history.asked if one.seq < asked.seq and one.op != asked.op), default=-_DISPATCHED)
    return asked.millis < sent + _DISPATCHED


@dataclass
class Reference:
    """A simulated broker that follows a history, in the order of `items`.

    `places`: the target's places in its log to ours. `until`: let time pass as it did, up to
    this moment; for None it stands still unless a program waits. `last`: of two brokers with a lost address the last one leaves; a name
    server has them in no order.
    """

    history: ParsedHistory
    profile: Profile
    items: Sequence[Item]
    places: dict[int, int] = field(default_factory=dict)
    halves: dict[tuple[str, str], str] = field(default_factory=dict)
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.deployment = ReplayDeployment(self.profile, self._settings())
        self.cluster = self.deployment.cluster
        self._connections: dict[str, SimulatedConnection] = {}
        self._addresses = count()
        self.first = frozenset(self.broker.topics.table)
        for name, value in self._configured().items():
            update_settings(self.broker.settings, f"{name}={value}")
        self.names = self.history.names
        kept = sorted(self.history.records.items())
        decoded = {
            at: records.decode(d, exact=self.profile.exact_properties, hosts_by_flag=self.profile.hosts_by_flag)
            for at, d in kept
            if records.size_and_magic(d)[1] != records.BLANK_MAGIC
        }
        self.theirs = {at: message for at, message in decoded.items() if message is not None}
        self.broken = [at for at, message in decoded.items() if message is None]
        self.pairs: dict[int, tuple[Message, Message | None]] = {}
        self._taken: set[int] = set()
        self._of_others: set[int] = set()
        self._by_key: list[tuple[Asked, list[int]]] = []
        first = min((place for one in self.history.asked for place in places(one.answer.get("fields") or {})), default=0)
        self.exact = self.history.program.needs == ALONE and first in self.theirs
        if self.exact and first:
            begin_log_at(self.broker, first)
        version = str(self.history.origin.get("version", ""))
        version = version or ("5." if self.profile.name.startswith("P5") else "4.")
        self.same = Comparison(version, 0 if self.exact else None)

    def _settings(self) -> BrokerSettings:
        settings = BrokerSettings(mapped_file_size_commit_log=_LARGEST_FILE)
        self._knows_address = {"brokerIP1", "listenPort"} <= self.history.settings.keys()
        if self._knows_address:
            settings.broker_ip1, settings.listen_port = self.history.settings["brokerIP1"], int(self.history.settings["listenPort"])
        hosts = [host for one in self.history.asked if (host := _answer_of(one).host) is not None]
        if hosts:
            settings.broker_ip1, settings.listen_port = hosts[0][:2]
        later = self._configured()
        for name, value in {**self.history.settings, **self.history.program.settings}.items():
            if name in FIELDS and name not in _OWN_SETTINGS and name not in later:
                update_settings(settings, f"{name}={value}")
        settings.mapped_file_size_commit_log = min(settings.mapped_file_size_commit_log, _LARGEST_FILE)
        return settings

    def _configured(self) -> Mapping[str, str]:
        """The settings that were changed when the broker ran already."""
        return while_running(self.history.program.needs)

    @property
    def broker(self) -> Broker:
        """The broker that runs now; a new one behind the end of its process."""
        return self.deployment.broker

    def compare(self) -> Iterator[Difference]:
        """The differences, up to where nobody knows what the target has done; none where it is not known at which place its log began."""
        self.began = self.cluster.clock.now()
        if self.history.program.needs == ALONE and not self.exact and any(one.leaves_doubt for one in faults(self.history)):
            return
        for item in self.items:
            if isinstance(item, Arrived):
                self._arrive(item.asked)
                continue
            if isinstance(item, Asked):
                self._pass(item.millis)
            if isinstance(item, Other) and item.op == "question":
                yield from self._questioned(item)
            elif isinstance(item, Other):
                self._happen(item)
            elif item.refused:
                continue
            elif item.closed != "fail":
                found = self._answer(item)
                yield from self._compared(item, found)
                if self._is_unserved(item, found):
                    return
                if is_doubled(item) or is_lost(item):
                    return  # from here on nobody knows what the broker has done
        self._pass(self.until or 0)
        yield from self._topics()
        yield from self._groups()
        yield from self._queues()
        yield from self._records()
        for asked, there in self._by_key:
            late = set(self.theirs) if is_soon(self.history, asked) else set[int]()
            known = looks.split(body_of(asked.answer) or b"")
            answer = {**asked.answer, "places": [looks.place_of(data) for data in known]}
            yield from _within(self._found(asked.fields, there, answer, late), str(asked), asked.seq)
        yield from self._looks()
        yield from self._looked(self.history.states.get("consumed", {}).get("looks", ()))
        yield from self._deleted()

    def _happen(self, item: Other) -> None:
        if item.op == "wait":
            self._wait(int(item.value["millis"]))
        elif item.op == "restart":  # a broker that has started again is asked over a connection from another port
            self._connections.clear()
        elif item.op == "crash":
            self._dispatch()
            self.deployment.act("crash", power=False, metadata="ordered", seed=0)
            self._connections.clear()
        elif item.op == "hang_up":
            for line in [line for line in self._connections if line.endswith(f" of {item.value['client']}")]:
                self._connections.pop(line).close()
        elif item.op == "disconnect":
            address = str(item.value["address"])
            server = self.cluster.name_server
            if address in server.broker_live_table:  # else nobody registered over this connection (NS-08)
                if self.last:
                    server.broker_addr_table = dict(reversed(server.broker_addr_table.items()))
                server.remove_address(address)

    def _questioned(self, item: Other) -> Iterator[Difference]:
        """What the broker asks a producer about a half message: the message as it was meant, and where it is. Which of several comes first,
        and how often it was asked before, is chance."""
        self._wait(DELAY_STEP)
        line = self._connections.get(f"{self.deployment.part} of {item.value['client']}")
        self.cluster.scheduler.complete(self.broker.transaction_check.check())
        ours = [one for one in (line.strays if line is not None else ()) if one.code == codes.CHECK_TRANSACTION_STATE]
        where = f"event {item.seq} (question)"
        if item.value["code"] is None or not ours:
            if item.value["code"] is not None or ours:
                yield Difference("question", item.value["code"], codes.CHECK_TRANSACTION_STATE if ours else None, where, item.seq)
            return
        said = _question(item.value["fields"], body_of(item.value), self.profile)
        known = [_question(one.ext_fields or {}, one.body, self.profile) for one in ours]
        other = next((one for one in known if one.get(_BORN) == said.get(_BORN)), known[0])
        if not said or not other:
            yield Difference("question", said or "no message", other or "no message", where, item.seq)
            return
        yield from _within(self.same.record("", {name: said.get(name) for name in other}, other), where, item.seq)

    def _pass(self, millis: int) -> None:
        """Let time pass up to a moment of the history."""
        if self.until is not None:
            self._wait(self.began + millis - self.cluster.clock.now())

    def _wait(self, millis: int) -> None:
        for _ in range(millis // DELAY_STEP):
            self.deployment.act("time", millis=DELAY_STEP)
        self._dispatch()

    def _dispatch(self) -> None:
        """What the broker's threads do before the next request: they flush, they dispatch, and they answer pulls that were held for it."""
        if self.broker.settings.flush_disk_type == "SYNC_FLUSH":
            self.broker.store.flush_now()
        self.broker.store.dispatch()
        self.cluster.scheduler.settle()

    # Requests

    @staticmethod
    def _is_unserved(asked: Asked, found: Command | None) -> bool:
        """Whether the target has changed something by a request that the reference implementation does not serve."""
        refused = found is not None and found.code == codes.REQUEST_CODE_NOT_SUPPORTED
        return refused and asked.op in _CHANGING and asked.code == codes.SUCCESS

    def _compared(self, asked: Asked, found: Command | None) -> Iterator[Difference]:
        if asked.closed == "ok":
            yield from self._answered(asked, found)
        elif is_lost(asked) and found is not None:
            yield Difference(ANSWER, asked.answer.get("error"), f"code {found.code}", str(asked), asked.seq)

    def _answer(self, asked: Asked) -> Command | None:
        """What is answered here, None if nothing is in time or nothing is wanted."""
        part = NAME_SERVER if asked.value["to"] == NAME_SERVER else self.deployment.part
        line = f"{asked.value.get('line') or part} of {asked.process}"
        if line not in self._connections:
            self._connections[line] = self.deployment.connect(part)
            host, port = self._connections[line].remote
            self._connections[line].remote = (host, port + next(self._addresses))  # each from an address of its own
        connection = self._connections[line]
        command = self._command(asked)
        self.deployment.draw.queue = self._drawn(asked)
        try:
            if not asked.one_way:
                return connection.ask(command, SECONDS)
            connection.tell(command)
        except TimedOut:
            pass
        finally:
            self._dispatch()
        return None

    def _arrive(self, asked: Asked) -> None:
        """What a send does before it is stored: it is checked, and its topic is made."""
        command, channel = self._command(asked), self.deployment.connect(self.deployment.part)
        with suppress(JavaError):
            header = parse_request_header(command.code, command.ext_fields, self.profile)
            if header is not None:
                message_context(self.broker, channel, command, header)
                self.cluster.scheduler.complete(pre_send(self.broker, channel, command, header))

    def _command(self, asked: Asked) -> Command:
        return command_of(int(asked.value["code"]), self._ours(asked), body_of(asked.value) or None, int(asked.value["version"]))

    def _drawn(self, asked: Asked) -> int:
        """The queue that the target chose at random, as its answer or its record shows."""
        answer = asked.answer.get("fields") or {}
        if asked.op == "send_back":
            if asked.code not in (codes.SUCCESS, None):
                return 0  # what it may have become is another request's
            before = self.theirs.get(int(asked.fields.get("offset", -1)))
            again = None if before is None else self._again(before)
            return 0 if again is None else _queue_of(again)
        if not asked.fields.get("queueId", "").startswith("-"):
            return 0
        if "queueId" in answer:
            return int(answer["queueId"])
        born = [one for one in self.theirs.values() if str(one.born_timestamp) == asked.fields.get("bornTimestamp")]
        return _queue_of(born[0]) if born else self._fuller_queue(asked.fields.get("topic", ""))

    def _fuller_queue(self, topic: str) -> int:
        """A queue of which the target counts more than we have: there it put what nobody could read back. 0 if there is none."""
        counted = self.history.states.get("queues", {}).get("queues", ())
        return next((queue for name, queue, end, *_ in counted if name == topic and end > self.broker.store.max_offset(name, queue)), 0)

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
        fields = here(asked.fields, self.places)
        if asked.held is not None:  # in the order of the items its time is over, or there is something
            fields["sysFlag"] = str(int(fields["sysFlag"]) & ~PULL_SUSPENDS)
        if self._is_by_key(asked):
            fields = keys.at_any_time(fields)
        if asked.op == "end_transaction":
            offset, place = fields["tranStateTableOffset"], asked.fields.get("commitLogOffset", "")
            fields["tranStateTableOffset"] = self.halves.get((place, offset)) or self.halves.get(("", offset), offset)
        return fields

    def _answered(self, asked: Asked, found: Command | None) -> Iterator[Difference]:
        recorded = _answer_of(asked)
        longest = int(asked.fields["suspendTimeoutMillis"]) if asked.held is not None and recorded.code == codes.PULL_NOT_FOUND else 0
        if asked.held is not None and asked.held < _PATIENT * longest:
            yield Difference("waits", f"{asked.held} ms", f"{longest} ms", str(asked), asked.seq)
        if found is not None and not self._is_comparable(asked, recorded, found):
            return
        if found is not None and self._is_by_key(asked):
            self._by_key.append((asked, [looks.place_of(data) for data in looks.split(found.body or b"")]))
            return
        if found is not None and recorded.code != found.code:
            yield Difference("code", [recorded.code, recorded.remark], [found.code, found.remark], str(asked), asked.seq)
            return
        shared = found is not None and self._learn(recorded.fields, found.ext_fields or {})
        times = _times(recorded.fields, (found.ext_fields or {})) if found is not None and asked.op == "earliest" else None
        counted: tuple[str, ...] = ("queueOffset",) if shared else ()
        if asked.fields.get("queueId", "").startswith("-") and self._made_by_others(asked):
            counted += ("queueId",)  # of how many queues it was drawn, the program that made the topic has said
            self._of_others.update(places(recorded.fields))
        differences = list(self.same.answer(recorded, found, counted if times is None else (*counted, _TIMESTAMP)))
        if times is not None:
            differences += self._earliest(asked, *times)
        if (
            found is not None
            and asked.op == "route"
            and recorded.code == codes.SUCCESS
            and self.names.is_mine(asked.fields.get("topic", ""))
        ):
            one, other = (comparison.route(data, self.names.is_mine) for data in (body_of(asked.answer), found.body))
            differences += comparison.values("route", one, other)
            differences += self._own_address(body_of(asked.answer), found.body)
        if found is not None and recorded.code == codes.SUCCESS and asked.value["to"] == NAME_SERVER and asked.op in _TOLD:
            differences += self._told(asked, found)
        yield from _within(differences, str(asked), asked.seq)

    @staticmethod
    def _is_by_key(asked: Asked) -> bool:
        """Whether records are sought under a key, which is judged when it is known where the target has them and since when."""
        return asked.op == "find" and asked.code in keys.ANSWERS and keys.sought(asked.fields) is not None

    def _found(
        self, fields: Mapping[str, str], there: Iterable[int], answer: Mapping[str, Any], late: Collection[int] = ()
    ) -> Iterator[Difference]:
        """Whether an answer has the records that it should have under a key; `there`: the places here of all that are under it."""
        theirs = {ours.physical_offset: (place, message) for place, (message, ours) in self.pairs.items() if ours is not None}
        wanted, size = keys.sought(fields), int(answer.get("bodySize", 0))
        known = [theirs.get(place) for place in there]
        if wanted is None or None in known or size > KEPT or not self.names.is_mine(fields["topic"]):
            return
        rows = dict(one for one in known if one is not None)
        stored = {place: message.store_timestamp for place, message in rows.items()}
        places_ = [one[0] for one in known if one is not None]
        yield from keys.differences(wanted, places_, stored, answer.get("fields") or {}, answer["places"], late=late)

    def _own_address(self, *routes: bytes | None) -> Iterator[Difference]:
        """Where two routes say that the broker itself is, if both do and its settings are known."""
        if self._knows_address:
            one, other = (comparison.address(data, self.broker.settings.broker_name) for data in routes)
            if None not in (one, other) and one != other:
                yield Difference("address", one, other)

    def _told(self, asked: Asked, found: Command) -> Iterator[Difference]:
        """What a name server says in a body about what is the program's own."""
        theirs = body_of(asked.answer)
        if asked.op == "cluster":
            one, other = (comparison.clusters(data, self.names.is_mine) for data in (theirs, found.body))
            yield from comparison.values("clusters", one, other)
        else:
            other = fastjson.loads(found.body or b"{}")
            yield from comparison.values("body", comparison.fields(theirs, other), other)

    def _earliest(self, asked: Asked, theirs: int, ours: int) -> Iterator[Difference]:
        """The target has to answer with the time at which it stored what is the queue's first message here, -1 for none and soon after that
        was sent: it may not be dispatched."""
        topic, queue = asked.fields["topic"], int(asked.fields["queueId"])
        expected = ours
        if ours != -1:
            first = self.broker.store.get_message(topic, queue, self.broker.store.min_offset(topic, queue))
            place = None if first is None else next((at for at, here in self.places.items() if here == first.physical_offset), None)
            sent = next((one.millis for one in self.history.asked if place in places(one.answer.get("fields") or {})), asked.millis)
            late = theirs == -1 and asked.millis < sent + _DISPATCHED
            expected = theirs if late or place not in self.theirs else self.theirs[place].store_timestamp
        if theirs != expected and self.names.is_mine(topic):
            yield Difference(_TIMESTAMP, theirs, expected)

    def _is_comparable(self, asked: Asked, recorded: Answer, found: Command) -> bool:
        """Whether the two answers should be the same."""
        if recorded.code != found.code and asked.op == "route" and self._asks_again(asked):
            return False
        if found.code == codes.REQUEST_CODE_NOT_SUPPORTED and int(asked.value["code"]) != UNSUPPORTED_CODE:
            return False  # releases serve more codes than the reference implementation
        if asked.op in ("max_offset", *NOTHING_THERE) and self._is_behind(asked, recorded, found):
            return False
        return not self._made_by_others(asked) or recorded.code == found.code == codes.SUCCESS

    def _is_behind(self, asked: Asked, recorded: Answer, found: Command) -> bool:
        """Whether the target may not have dispatched yet what was sent just before."""
        if not is_soon(self.history, asked):
            return False
        if recorded.code != found.code:
            return recorded.code in NOTHING_THERE.get(asked.op, ())
        if asked.op == "progress":
            return False  # how far a group is was committed, and waits for nothing
        ours = found.ext_fields or {}
        return any(theirs.isdecimal() and int(theirs) < int(ours.get(name, 0)) for name, theirs in recorded.fields.items())

    def _made_by_others(self, asked: Asked) -> bool:
        """Whether another program may have made the topic: the system's own, and without name checks all that get no prefix. That a send
        is forbidden does not depend on it: the broker makes such a topic by itself."""
        topic = asked.fields.get("topic", "")
        if self.names.is_mine(topic) or topic in self.first:
            return False
        forbidden = int(asked.value["code"]) in SENDS and topic in self.profile.forbidden
        return not self.profile.check_names or (self.names.is_shared(topic) and not forbidden)

    def _asks_again(self, asked: Asked) -> bool:
        """Whether the same client asks for the same route next."""
        later = next((one for one in self.history.asked if one.seq > asked.seq and one.process == asked.process), None)
        return later is not None and later.op == "route" and later.fields == asked.fields

    def _learn(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Note where the answered messages are on both sides; whether they are in a topic that programs share."""
        theirs, ours = places(before), places(after)
        self.places.update(zip(theirs, ours, strict=False))
        if not theirs or not ours:
            return False
        message = self.broker.store.look_message_by_offset(ours[0])
        shared = message is None or not self.names.is_mine(message.topic)
        if shared and "queueOffset" in before and "queueOffset" in after:
            self.halves[str(theirs[0]), before["queueOffset"]] = self.halves["", before["queueOffset"]] = after["queueOffset"]
        return shared

    # What was read back

    def _topics(self) -> Iterator[Difference]:
        state = self.history.states.get("topics")
        if state is None:
            return
        mine = {name: config for name, config in self.broker.topics.table.items() if name and self.names.is_mine(name)}
        for name in dict.fromkeys((*(n for n in state["topics"] if self.names.is_mine(n)), *mine)):
            row = state["topics"].get(name)
            known = None if row is None else {key: value for key, value in row.items() if key in _TOPIC}
            yield from _within(comparison.topic(known, mine.get(name)), f"topic {name}")

    def _queues(self) -> Iterator[Difference]:
        self._dispatch()
        for topic, queue, end, *_ in self.history.states.get("queues", {}).get("queues", ()):
            ours = self.broker.store.max_offset(topic, queue)
            if end != ours:
                yield Difference(NEXT_OFFSET, end, ours, f"queue {queue} of {topic}")

    def _groups(self) -> Iterator[Difference]:
        state = self.history.states.get("groups")
        if state is None:
            return
        mine = {name: group_to_data(config) for name, config in self.broker.groups.table.items() if self.names.is_mine(name)}
        for name in dict.fromkeys((*state["groups"], *mine)):
            row, ours = state["groups"].get(name), mine.get(name)
            known = None if row is None else {key: value for key, value in row.items() if key in _GROUP}
            yield from _within(comparison.values("group", known, ours), f"group {name}")

    def _paired(self) -> Iterator[tuple[int, Message, Message | None]]:
        """Each record with ours, None if we have none.

        An acknowledged one is known by its place; any other by the message's time of birth and its turn among those that have it, or else
        by its turn among those of its queue that are left on both sides.
        """
        acknowledged = set(self.places.values())
        left: dict[tuple[str, int], list[Message]] = {}
        for message in self.broker.store.records(0):
            if message.physical_offset not in acknowledged:
                left.setdefault((message.topic, message.queue_id), []).append(message)
        odd: list[tuple[int, Message]] = []
        for at, found in self.theirs.items():
            here_ = left.get((found.topic, found.queue_id), [])
            ours = self.broker.store.look_message_by_offset(self.places[at]) if at in self.places else None
            if at not in self.places:
                ours = next((one for one in here_ if one.born_timestamp == found.born_timestamp), None)
                if ours is None and here_ and self.names.is_mine(found.topic):
                    odd.append((at, found))
                    continue
                if ours is not None:
                    here_.remove(ours)
            yield at, found, ours
        for at, found in odd:
            here_ = left[found.topic, found.queue_id]
            yield at, found, here_.pop(0) if here_ else None

    def _records(self) -> Iterator[Difference]:
        """Each field of each record, and whether there is one where an answer said so."""
        for at in self.broken:
            yield Difference("content", "no record", "a record", f"the record at {at}")
        self.pairs = {at: (found, ours) for at, found, ours in self._paired()}
        stored = {ours.physical_offset: (at, ours) for at, (_, ours) in self.pairs.items() if ours is not None}
        hosts: dict[Host, Host] = {}
        for at, (found, ours) in sorted(self.pairs.items()):
            where = f"the record at {at} ({found.topic}, queue {found.queue_id})"
            mine = self.names.is_mine(found.topic)
            if ours is None:
                if mine:
                    yield Difference("content", "a record", "none", where)
                continue
            one, other = ({**message_data(message), "body": message.body} for message in (found, ours))
            # The half message, which was born with it: a client's own flag may say of any message that it is a commit.
            half = stored.get(ours.prepared_transaction_offset)
            born_with_it = half is not None and half[0] != at and half[1].born_timestamp == ours.born_timestamp
            # A copy of one that is asked about was born with it, too, and is no commit; at place 0 here lies whatever was first.
            commits = born_with_it and ours.transaction == COMMIT
            if half is not None and commits and (_is_half(half[1]) or found.prepared_transaction_offset == half[0]):
                other["preparedTxOffset"] = half[0]
            elif ours.prepared_transaction_offset and found.prepared_transaction_offset:
                other["preparedTxOffset"] = found.prepared_transaction_offset
            if not mine:
                del one["queueOffset"]
            if at in self._of_others:
                del one["queueId"]
            yield from _within(self.same.record("", one, other), where)
            yield from _born(hosts, found, ours, where)
        yield from self._missing()

    def _missing(self) -> Iterator[Difference]:
        """Acknowledged messages of which nothing is at the place that the answer gave; whatever is given out by its place."""
        rows = self.history.states.get("records", {}).get("records", ())
        if not rows or "unread" in self.history.states:
            return
        seen = {int(row["at"]) for row in rows}
        for at, ours in self.places.items():
            if at not in seen and self.broker.store.look_message_by_offset(ours) is not None:
                yield Difference("content", "nothing", "a record", f"the record at {at}, where an answer says that it is")

    def _looks(self) -> Iterator[Difference]:
        """What else was asked when the program was over, and whether asking has changed anything."""
        state = self.history.states.get("looks")
        if state is None:
            return
        if self.history.program.settles:
            for one, other in state["twice"]:
                twice = _within(comparison.values("", one, other), _asked(one))
                yield from (replace(each, beside="to the same question again") for each in twice)
            for topic, queue, before, after in state["moved"]:
                yield Difference(NEXT_OFFSET, before, after, f"queue {queue} of {topic}", beside="behind questions")
            for topic in state["changed"]:
                yield Difference(ENTRY, "one", "another one", f"topic {topic}", beside="behind questions")
        elif state["moved"]:
            return
        yield from self._looked(state["looks"])

    def _deleted(self) -> Iterator[Difference]:
        """What the broker answers when its topics are deleted at the end, and what is left of them."""
        state = self.history.states.get("deleted")
        if state is None or "looks" not in state or self.history.settings.get(_TIMERS) == "false":
            return  # a 5.x without timers throws where it takes away theirs
        yield from self._looked(state["looks"])
        ours = {name for name in self.broker.topics.table if self.names.is_mine(name)}
        for name in sorted(ours.symmetric_difference(state["left"])):
            one, other = ("an entry", "none") if name in state["left"] else ("none", "an entry")
            yield Difference(ENTRY, one, other, f"topic {name}, deleted")

    def _looked(self, answers: Iterable[Mapping[str, Any]]) -> Iterator[Difference]:
        connection = self.deployment.connect(self.deployment.part)
        for one in answers:
            name, args = one["name"], one["args"]
            by_key = name == "find" and one["code"] in keys.ANSWERS
            made_up = self._made_up() if by_key else {}
            if by_key and masks.made_up(args["key"]) and args["key"] not in made_up:
                continue  # of a record that is too long to be kept
            here_ = keys.all_of(args, made_up) if by_key else args
            found = looks.said(connection.ask(plain(name, **here_), SECONDS))
            fields = plain(name, **args).ext_fields or {}
            differing = self._found(fields, found["places"], one) if by_key else self._look(one, found)
            yield from _within(differing, _asked(one))

    def _made_up(self) -> dict[str, str]:
        """Unique keys that the target has made up, with those that were made up here for the same messages."""
        pairs = [(found.properties, ours.properties) for found, ours in self.pairs.values() if ours is not None]
        unique = [(theirs.get(UNIQ_KEY, ""), ours.get(UNIQ_KEY, "")) for theirs, ours in pairs]
        return {theirs: ours for theirs, ours in unique if masks.made_up(theirs, ours)}

    def _look(self, recorded: Mapping[str, Any], found: dict[str, Any]) -> Iterator[Difference]:
        """One question: what both sides share of the answers, with the target's places and times for ours."""
        theirs = {ours.physical_offset: message for message, ours in self.pairs.values() if ours is not None}

        def stored(topic: str, queue: int, last: int) -> int | None:
            """When the target has stored the message that is here at an offset of a queue; None where that is not known."""
            ours = self.broker.store.get_message(topic, queue, last)
            other = None if ours is None else theirs.get(ours.physical_offset)
            return None if other is None else other.store_timestamp

        args, fields = recorded["args"], found["fields"]
        if found["code"] == codes.PULL_OFFSET_MOVED:
            fields.pop("nextBeginOffset")  # where to go on behind the end is the end in 4.9.4 and 5.x, and was the begin in 4.9.2
        if recorded["code"] != found["code"]:
            yield Difference("code", [recorded["code"], recorded["remark"]], [found["code"], found["remark"]])
            return
        if not masks.same_remark(recorded["remark"], found["remark"]):
            yield Difference("remark", recorded["remark"], found["remark"])
        if _TIMESTAMP in fields and fields[_TIMESTAMP] != "-1":
            first = self.broker.store.min_offset(args["topic"], args["queue"])
            fields[_TIMESTAMP] = str(stored(args["topic"], args["queue"], first) or recorded["fields"].get(_TIMESTAMP))
        yield from comparison.values("extFields", {name: recorded["fields"].get(name) for name in fields}, fields)
        for queue, ends in (found.get("queues") or {}).items():
            told = recorded.get("queues", {}).get(queue, {})
            if ends["lastUpdateTimestamp"] > 0:
                known = stored(args["topic"], int(queue), ends["maxOffset"] - 1)
                ends["lastUpdateTimestamp"] = told.get("lastUpdateTimestamp") if known is None else known
            yield from comparison.values(f"queue {queue}", {name: told.get(name) for name in ends}, ends)
        if "places" in found:
            known_ = [theirs[at].physical_offset if at in theirs else None for at in found["places"]]
            if None not in known_ and recorded.get("places") != known_:
                yield Difference("records", recorded.get("places"), known_)


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
        "counts": times.isdecimal() and int(times) > 0,
        **{name: fields.get(name) == message.properties.get(UNIQ_KEY) for name in ("msgId", "transactionId")},
        "commitLogOffset": fields.get("commitLogOffset") == place,
        "tranStateTableOffset": fields.get("tranStateTableOffset") == str(message.queue_offset),
    }


def _asked(look: Mapping[str, Any]) -> str:
    """A question in words."""
    said = [f"{name} {value}" for name, value in look["args"].items() if name != "topic"]
    return " ".join([str(look["name"]), "of", str(look["args"].get("topic", "a group")), *said])


def _is_half(message: Message) -> bool:
    """Whether this is a half message, be it one with a delay (HAZ-39), which is stored among those that wait."""
    return HALF_TOPIC in (message.topic, message.properties.get(REAL_TOPIC))


def _born(hosts: dict[Host, Host], found: Message, ours: Message, where: str) -> Iterator[Difference]:
    """Whether messages that came from one address, here, came from one there: `hosts` has what is known of our addresses by now."""
    if not hosts:
        hosts[ours.store_host] = found.store_host
    known = hosts.get(ours.born_host)
    if known is None and found.born_host in hosts.values():
        known = (found.born_host[0], 0)
    if hosts.setdefault(ours.born_host, found.born_host) != found.born_host or known not in (None, found.born_host):
        yield Difference("bornHost", list(found.born_host), list(known or ()), where)


def _within(differences: Iterable[Difference], where: str, seq: int = -1) -> Iterator[Difference]:
    """The differences of one request, topic or record, by the names that a report's findings have."""
    for one in differences:
        name = _WITHIN.sub("", one.field)
        name = f"property {name.removeprefix('props.')}" if name.startswith("props.") else name
        yield replace(one, field=ENTRY if name == "topicConfig" else name, where=where, seq=seq)


def _times(recorded: Mapping[str, str], found: Mapping[str, str]) -> tuple[int, int] | None:
    """The two times that a queue's first message was stored at; None unless both answers have one."""
    try:
        return int(recorded[_TIMESTAMP]), int(found[_TIMESTAMP])
    except (KeyError, ValueError):
        return None


def _answer_of(asked: Asked) -> Answer:
    return Answer(asked.answer.get("code"), asked.answer.get("remark"), asked.answer.get("fields") or {})


def _queue_of(message: Message) -> int:
    """The queue that was meant."""
    return int(message.properties.get("REAL_QID", message.queue_id))
