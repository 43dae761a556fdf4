"""A simulated broker follows a history: it is asked what the target was asked, and time passes for it.

It has the target's settings and an empty store. Where the target's messages are elsewhere in the log, places are translated: `places`
grows with each answer. Nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Final

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.checking import pre_send
from rocketproof_impl.broker.sending import message_context
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS, update_settings
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.remoting.headers import parse_request_header
from rocketproof_impl.route import BrokerData
from rocketproof_impl.simulator.scheduler import START
from rocketproof_impl.store import record as records
from rocketproof_impl.store.timers import TIMES
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import PULL_SUSPENDS
from rocketproof_protocol.numbers import java_int, whole_number
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.client import places, take_notified
from ...brokers.runs.exchanges import request_of
from ...brokers.runs.parsed import Other, ParsedHistory, held_millis
from ...brokers.runs.recording import body_of
from ...brokers.runs.sendbacks import Group, choose
from ...brokers.simulated import SimulatedConnection
from ...programs.call import command_of
from ...programs.parts import NAME_SERVER
from ...programs.settings import ALONE, while_running
from . import keys
from .cases import RecordedResponse, here
from .driver import SECONDS
from .middle import begin_log_at
from .simulated import ReplayDeployment

DELAY_STEP: Final = 100
_HEARD: Final = ("question", "notified")
"""What a client waits for on the connection over which it asks, and finds out by that the connection is lost."""
_DAY: Final = 86_400_000
_LARGEST_FILE: Final = 1 << 24
_OWN_SETTINGS: Final = ("brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir", "rocketmqHome", "storePathCommitLog")


def is_by_key(asked: Exchange) -> bool:
    """Whether records are sought under a key, which is judged when it is known where the target has them and since when."""
    return asked.op == "find" and asked.code in keys.ANSWERS and keys.sought(asked.fields) is not None


def is_timed(asked: Exchange) -> bool:
    """Whether a message names a time of its own: what becomes of it depends on the second in which it comes."""
    return not parse_properties(asked.fields.get("properties"), exact=False).keys().isdisjoint(TIMES)


def answer_of(asked: Exchange) -> RecordedResponse:
    """What the target answered."""
    return RecordedResponse(asked.outcome.get("code"), asked.outcome.get("remark"), asked.outcome.get("fields") or {})


@dataclass
class Follower:
    """`places`: the target's places in its log to ours. `until`: let time pass as it did, up to this moment; for None it stands still
    unless a program waits. `last`: of two brokers with a lost address the last one leaves; a name server has them in no order.
    """

    history: ParsedHistory
    profile: Profile
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.places: dict[int, int] = {}
        self.halves: dict[tuple[str, str], str] = {}
        self.deployment = ReplayDeployment(self.profile, self._settings(), self._clock())
        self.cluster = self.deployment.cluster
        self._connections: dict[str, SimulatedConnection] = {}
        self._lost = sorted(
            (one.seq, self._name_of(one) if isinstance(one, Exchange) else self._named(one.value["client"]))
            for one in self.history.items
            if "error" in (one.outcome if isinstance(one, Exchange) else one.value if one.op in _HEARD else {})
        )
        self._addresses = count()
        self.first = {name: config.copy() for name, config in self.broker.topics.table.items()}
        for name, value in self._configured().items():
            update_settings(self.broker.settings, f"{name}={value}")
        kept = sorted(self.history.records.items())
        decoded = {at: self.decoded(data) for at, data in kept if records.size_and_magic(data)[1] != records.BLANK_MAGIC}
        self.theirs = {at: message for at, message in decoded.items() if message is not None}
        self.broken = [at for at, message in decoded.items() if message is None]
        self._taken: set[int] = set()
        first = min((place for one in self.history.asked for place in places(one.outcome.get("fields") or {})), default=0)
        self.exact = self.history.program.needs == ALONE and first in self.theirs
        if self.exact and first:
            begin_log_at(self.broker, first)
        self._began = self.cluster.clock.now()

    def _clock(self) -> int:
        """What the target's clock showed when the program began: what the caller's did, put right by the first record that the target says
        to have stored within a day of it."""
        began = next((whole_number(one.request["at"]) - one.sent_millis for one in self.history.asked if "at" in one.request), START)
        kept = self.history.records
        for one in self.history.asked:
            for place in places(one.outcome.get("fields") or {}):
                message = self.decoded(kept[place]) if place in kept else None
                if message is not None and abs(message.store_timestamp - one.sent_millis - began) < _DAY:
                    return message.store_timestamp - one.sent_millis
        return began

    def decoded(self, data: bytes) -> Message | None:
        """The message of a record that was read back, as this release reads it."""
        return records.decode(data, exact=self.profile.exact_properties, hosts_by_flag=self.profile.hosts_by_flag)

    def _settings(self) -> BrokerSettings:
        settings = BrokerSettings(mapped_file_size_commit_log=_LARGEST_FILE)
        self.knows_address = {"brokerIP1", "listenPort"} <= self.history.settings.keys()
        if self.knows_address:
            settings.broker_ip1, settings.listen_port = (
                self.history.settings["brokerIP1"],
                whole_number(self.history.settings["listenPort"]),
            )
        hosts = [host for one in self.history.asked if (host := answer_of(one).host) is not None]
        if hosts:
            settings.broker_ip1, settings.listen_port = hosts[0][:2]
        later = self._configured()
        for name, value in {**self.history.settings, **self.history.program.settings}.items():
            if name in FIELDS and name not in _OWN_SETTINGS and name not in later:
                update_settings(settings, f"{name}={value}")
        settings.mapped_file_size_commit_log = min(settings.mapped_file_size_commit_log, _LARGEST_FILE)
        return settings

    @property
    def broker(self) -> Broker:
        """The broker that runs now; a new one behind the end of its process."""
        return self.deployment.broker

    def _configured(self) -> Mapping[str, str]:
        """The settings that were changed when the broker ran already."""
        return while_running(self.history.program.needs)

    def happen(self, item: Other) -> None:
        """Let something happen that is no request."""
        if item.op == "wait":
            self.wait(whole_number(item.value["millis"]))
        elif item.op == "restart":  # a broker that has started again is asked over a connection from another port
            self._connections.clear()
        elif item.op == "crash":
            self.dispatch()
            self.deployment.act("crash", power=False, metadata="ordered", seed=0)
            self._connections.clear()
        elif item.op == "hang_up":
            for name in [one for one in self._connections if one.endswith(f" of {item.value['client']}")]:
                self._connections.pop(name).close()
        elif item.op == "disconnect":
            address = str(item.value["address"])
            server = self.cluster.name_server
            known = [who for who in server.broker_live_table if address in (who, who[-1])]
            if known:  # else nobody registered over this connection (NS-08)
                server.broker_addr_table = self._ordered(server.broker_addr_table)
                server.remove(known[-1 if self.last else 0])
                server.broker_addr_table = self._ordered(server.broker_addr_table)

    def _ordered(self, table: dict[str, BrokerData]) -> dict[str, BrokerData]:
        """In the order in which a name server may go over it; twice is as before."""
        return dict(reversed(table.items())) if self.last else table

    def pass_to(self, millis: int) -> None:
        """Let time pass up to a moment of the history."""
        if self.until is not None:
            self.wait(self._began + millis - self.cluster.clock.now())

    def wait(self, millis: int) -> None:
        """Let time pass (ms)."""
        for _ in range(millis // DELAY_STEP):
            self.deployment.act("time", millis=DELAY_STEP)
        self.dispatch()

    def dispatch(self) -> None:
        """What the broker's threads do before the next request: they flush, they dispatch, and they answer pulls that were held for it."""
        if self.broker.settings.flush_disk_type == "SYNC_FLUSH":
            self.broker.store.flush_now()
        self.broker.store.dispatch()
        self.cluster.scheduler.settle()

    def answer(self, asked: Exchange) -> Command | None:
        """What is answered here, None if nothing is in time or nothing is wanted."""
        part, name = self._part_of(asked), self._name_of(asked)
        while self._lost and self._lost[0][0] < asked.seq:  # the client went on over another connection
            if (other := self._connections.pop(self._lost.pop(0)[1], None)) is not None:
                other.close()
        if name not in self._connections:
            self._connections[name] = self.deployment.connect(part)
            host, port = self._connections[name].remote
            self._connections[name].remote = (host, port + next(self._addresses))  # each from an address of its own
        connection = self._connections[name]
        if is_timed(asked):
            self.deployment.act("time", millis=max(0, self._began + asked.sent_millis - self.cluster.clock.now()))
        command = self._command(asked)
        self.deployment.draw.queue = self._drawn(asked)
        try:
            if not asked.one_way:
                return connection.ask(command, SECONDS)
            connection.send_one_way(command)
        except TimedOut:
            pass
        finally:
            self.dispatch()
        return None

    def _part_of(self, asked: Exchange) -> str:
        return NAME_SERVER if asked.request["to"] == NAME_SERVER else self.deployment.part

    def _name_of(self, asked: Exchange) -> str:
        return self._named(asked.process, asked.request.get("line") or self._part_of(asked))

    def _named(self, client: str, over: str | None = None) -> str:
        """What a client's connection is called here: the one to the broker, unless another is given."""
        return f"{over or self.deployment.part} of {client}"

    def questions(self, client: str) -> list[Command]:
        """What the broker has asked a producer about half messages when it has looked for them (TRX-05)."""
        self.wait(DELAY_STEP)
        connection = self._connections.get(self._named(client))
        self.cluster.scheduler.complete(self.broker.transaction_check.check())
        return [one for one in (connection.strays if connection is not None else ()) if one.code == codes.CHECK_TRANSACTION_STATE]

    def notified(self, client: str) -> list[str]:
        """The groups of which the broker has told a consumer since the last time that their consumers are others."""
        connection = self._connections.get(self._named(client))
        return take_notified(connection.strays) if connection is not None else []

    def arrive(self, asked: Exchange) -> None:
        """What a send does before it is stored: it is checked, and its topic is made, and for a retry topic its group (DLQ-02)."""
        command, channel = self._command(asked), self.deployment.connect(self.deployment.part)
        with suppress(JavaError):
            header = parse_request_header(command.code, command.ext_fields, self.profile)
            if header is not None:
                message_context(self.broker, channel, command, header)
                checked = self.cluster.scheduler.complete(pre_send(self.broker, channel, command, header))
                if checked.code == codes.UNDECIDED and header.topic.startswith(RETRY_PREFIX):
                    self.broker.groups.find(header.topic.removeprefix(RETRY_PREFIX))

    def _command(self, asked: Exchange) -> Command:
        return command_of(
            whole_number(asked.request["code"]), self._ours(asked), body_of(asked.request) or None, whole_number(asked.request["version"])
        )

    def _drawn(self, asked: Exchange) -> int:
        """The queue that the target chose at random, as its answer or its record shows."""
        answer = asked.outcome.get("fields") or {}
        if asked.op == "send_back":
            if asked.code not in (codes.SUCCESS, None):
                return 0  # what it may have become is another request's
            again = self._again(asked)
            return 0 if again is None else _queue_of(again)
        if not asked.fields.get("queueId", "").startswith("-"):
            return 0
        if (told := java_int(answer.get("queueId", ""))) is not None:
            return told
        born = [one for one in self.theirs.values() if str(one.born_timestamp) == asked.fields.get("bornTimestamp")]
        return _queue_of(born[0]) if born else self._fuller_queue(asked.fields.get("topic", ""))

    def _fuller_queue(self, topic: str) -> int:
        """A queue of which the target counts more than we have: there it put what nobody could read back. 0 if there is none."""
        counted = self.history.states.get("queues", {}).get("queues", ())
        return next((queue for name, queue, end, *_ in counted if name == topic and end > self.broker.store.max_offset(name, queue)), 0)

    def _again(self, asked: Exchange) -> Message | None:
        """The record that a message became when it was sent back, the first that no earlier request has become."""
        request = request_of(asked)
        before, config = self.theirs.get(request.offset), self.broker.groups.table.get(request.group)
        if before is None:
            return None
        group = Group() if config is None else Group(config.retry_max_times, config.retry_queue_nums)
        free = ((at, one) for at, one in self.theirs.items() if at not in self._taken)
        place = choose(request, group, before, free, asked=True)
        if place is None:
            return None
        self._taken.add(place)
        return self.theirs[place]

    def _ours(self, asked: Exchange) -> dict[str, str]:
        """The request's fields with our places instead of the target's."""
        fields = here(asked.fields, self.places)
        if (
            held_millis(asked) is not None and "suspendTimeoutMillis" in fields
        ):  # in the order of the items its time is over, or there is something
            fields["sysFlag"] = str(whole_number(fields["sysFlag"]) & ~PULL_SUSPENDS)
        if is_by_key(asked):
            fields = keys.at_any_time(fields)
        if asked.op == "end_transaction" and "tranStateTableOffset" in fields:
            offset, place = fields["tranStateTableOffset"], asked.fields.get("commitLogOffset", "")
            fields["tranStateTableOffset"] = self.halves.get((place, offset)) or self.halves.get(("", offset), offset)
        return fields

    def learn(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Note where the answered messages are on both sides; whether they are in a topic that programs share."""
        theirs, ours = places(before), places(after)
        self.places.update(zip(theirs, ours, strict=False))
        if not theirs or not ours:
            return False
        message = self.broker.store.look_message_by_offset(ours[0])
        shared = message is None or not self.history.names.is_mine(message.topic)
        if shared and "queueOffset" in before and "queueOffset" in after:
            self.halves[str(theirs[0]), before["queueOffset"]] = self.halves["", before["queueOffset"]] = after["queueOffset"]
        return shared


def _queue_of(message: Message) -> int:
    """The queue that was meant."""
    named = java_int(message.properties.get("REAL_QID", ""))
    return message.queue_id if named is None else named
