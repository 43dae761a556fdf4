"""A simulated broker that follows a history: it gets the requests that the target got, and time passes for it.

It has the target's settings and an empty store. Positions of messages in the target's log are translated to positions in this broker's log:
`places` grows with each response. Nothing is compared here.
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
from rocketproof_impl.nameserversettings import NameServerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.remoting.headers import parse_request_header
from rocketproof_impl.routeinfo import RouteInfoManager
from rocketproof_impl.simulator.scheduler import START
from rocketproof_impl.store import record as records
from rocketproof_impl.store.timers import TIMES
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import PULL_SUSPENDS
from rocketproof_protocol.numbers import java_int, whole_number
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange, places

from ...brokers.runs.claimhistory import request_of
from ...brokers.runs.client import take_notified
from ...brokers.runs.parsed import ParsedHistory, held_millis
from ...brokers.runs.recording import body_of
from ...brokers.runs.sendbacks import Group, choose
from ...brokers.settings import NAME_SERVER_FIELDS, name_server_settings
from ...brokers.simulated import SimulatedConnection
from ...programs.call import command_of
from ...programs.parts import NAME_SERVER
from ...programs.settings import ALONE, of_name_server, while_running
from . import keys
from .comparison import RecordedResponse, translated
from .driver import SECONDS
from .simulated import ReplayDeployment, begin_log_at

DELAY_STEP: Final = 100
_FAILING: Final = ("question", "notified")
"""Events in which a client waits on its connection for a message of the broker, and notices by it that the connection is lost."""
_DAY: Final = 86_400_000
_LARGEST_FILE: Final = 1 << 24
_OWN_SETTINGS: Final = ("brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir", "rocketmqHome", "storePathCommitLog")


def is_by_key(exchange: Exchange) -> bool:
    """Whether a request searches records by key.

    Its response is judged at the end, when the positions and store times of the target's records are known.
    """
    return exchange.op == "find" and exchange.code in keys.ANSWERS and keys.sought(exchange.fields) is not None


def is_timed(exchange: Exchange) -> bool:
    """Whether a message names a delivery time. Its effect depends on the second in which it arrives."""
    return not parse_properties(exchange.fields.get("properties"), exact=False).keys().isdisjoint(TIMES)


def answer_of(exchange: Exchange) -> RecordedResponse:
    """Return the target's response."""
    return RecordedResponse(exchange.outcome.get("code"), exchange.outcome.get("remark"), exchange.outcome.get("fields") or {})


@dataclass
class Follower:
    """A simulated broker that follows a history.

    Parameters:

    - `until`: with a number, time passes as recorded (`pass_to`). With None it passes only while a program waits.
    - `last`: if two brokers have the address of a lost connection, the name server removes the last broker instead of the first. It
      iterates over them in no defined order.

    Attributes:

    - `places`: maps positions in the target's log to positions in this broker's log.
    - `halves`: maps a half message's position and queue offset on the target to its queue offset here. A key with the position "" matches
      any position.
    - `theirs`: the target's records that were read back, by position. `broken`: the positions of those that cannot be decoded.
    - `first`: the topics at the start.
    - `exact`: both logs have equal positions. `knows_address`: the history has the target's address.
    """

    history: ParsedHistory
    profile: Profile
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.places: dict[int, int] = {}
        self.halves: dict[tuple[str, str], str] = {}
        self.deployment = ReplayDeployment(self.profile, self._settings(), self._clock(), self._name_server_settings())
        self.deployment.is_mine = self.history.names.is_mine
        self.cluster = self.deployment.cluster
        self._connections: dict[str, SimulatedConnection] = {}
        self._lost = sorted(
            (item.seq, self._name_of(item) if isinstance(item, Exchange) else self._named(item.value["client"]))
            for item in self.history.items
            if "error" in (item.outcome if isinstance(item, Exchange) else item.value if item.op in _FAILING else {})
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
        first = min((place for exchange in self.history.exchanges for place in exchange.places), default=0)
        self.exact = self.history.program.needs == ALONE and first in self.theirs
        if self.exact and first:
            begin_log_at(self.broker, first)
        self._began = self.cluster.clock.now()

    def _clock(self) -> int:
        """Return the target's clock at the start of the program. It is the caller's clock, corrected by the first stored record whose time
        is within a day of it."""
        began = next(
            (
                whole_number(exchange.request["at"]) - exchange.sent_millis
                for exchange in self.history.exchanges
                if "at" in exchange.request
            ),
            START,
        )
        records_kept = self.history.records
        for exchange in self.history.exchanges:
            for place in exchange.places:
                message = self.decoded(records_kept[place]) if place in records_kept else None
                if message is not None and abs(message.store_timestamp - exchange.sent_millis - began) < _DAY:
                    return message.store_timestamp - exchange.sent_millis
        return began

    def decoded(self, data: bytes) -> Message | None:
        """Return the message of a record that was read back, decoded as in this release."""
        return records.decode(data, exact=self.profile.exact_properties, hosts_by_flag=self.profile.hosts_by_flag)

    def _settings(self) -> BrokerSettings:
        settings = BrokerSettings(mapped_file_size_commit_log=_LARGEST_FILE)
        self.knows_address = {"brokerIP1", "listenPort"} <= self.history.settings.keys()
        if self.knows_address:
            settings.broker_ip1, settings.listen_port = (
                self.history.settings["brokerIP1"],
                whole_number(self.history.settings["listenPort"]),
            )
        hosts = [host for exchange in self.history.exchanges if (host := answer_of(exchange).host) is not None]
        if hosts:
            settings.broker_ip1, settings.listen_port = hosts[0][:2]
        later = self._configured()
        for name, value in {**self.history.settings, **self.history.program.settings}.items():
            if name in FIELDS and name not in _OWN_SETTINGS and name not in later:
                update_settings(settings, f"{name}={value}")
        settings.mapped_file_size_commit_log = min(settings.mapped_file_size_commit_log, _LARGEST_FILE)
        return settings

    def _name_server_settings(self) -> NameServerSettings:
        """Return the settings that the name server was started with, without those that the implementation does not have."""
        given = (self.history.origin.get("given") or {}).get("nameServer") or {}
        wanted = {**of_name_server(self.history.program.needs), **given}
        return name_server_settings({name: value for name, value in wanted.items() if name in NAME_SERVER_FIELDS})

    @property
    def broker(self) -> Broker:
        """The running broker. A crash replaces it by a new one."""
        return self.deployment.broker

    def _configured(self) -> Mapping[str, str]:
        """Return the settings that were changed while the broker was running."""
        return while_running(self.history.program.needs)

    def happen(self, item: Event) -> None:
        """Perform an event that is not a request."""
        if item.op == "wait":
            self.wait(whole_number(item.value["millis"]))
        elif item.op == "restart":  # clients of a restarted broker connect from another port
            self._connections.clear()
        elif item.op in ("crash", "stop"):
            self.dispatch()
            if "corrupt" in item.value:
                self.deployment.act("corrupt", **item.value["corrupt"], kill=item.op == "crash")
            elif item.op == "stop":
                self.deployment.act("restart", settings=item.value.get("settings"), clock=item.value.get("clock", 0))
            else:
                self.deployment.act("crash", power=False, metadata="ordered", seed=0)
            self._connections.clear()
        elif item.op == "hang_up":
            for name in [name for name in self._connections if name.endswith(f" of {item.value['client']}")]:
                self._connections.pop(name).close()
        elif item.op == "disconnect":
            address = str(item.value["address"])
            server = self.cluster.name_server
            known = [who for who in server.broker_live_table if address in (who, who[-1])]
            if known:  # else nobody registered over this connection (NS-08)
                self._order_tables(server)
                server.remove(known[-1 if self.last else 0])
                self._order_tables(server)

    def _order_tables(self, server: RouteInfoManager) -> None:
        """Reverse the tables if a name server may iterate over them in that order. Applying this twice restores the order."""
        if self.last:
            server.broker_addr_table = dict(reversed(server.broker_addr_table.items()))
            server.cluster_addr_table = dict(reversed(server.cluster_addr_table.items()))

    def pass_to(self, millis: int) -> None:
        """Let time pass until a moment of the history."""
        if self.until is not None:
            self.wait(self._began + millis - self.cluster.clock.now())

    def wait(self, millis: int) -> None:
        """Let time pass (ms)."""
        for _ in range(millis // DELAY_STEP):
            self.deployment.act("time", millis=DELAY_STEP)
        self.dispatch()

    def dispatch(self) -> None:
        """Do the work of the broker's threads before the next request: flush, dispatch, answer held pulls."""
        if self.broker.settings.flush_disk_type == "SYNC_FLUSH":
            self.broker.store.flush_now()
        self.broker.store.dispatch()
        self.cluster.scheduler.settle()

    def answer(self, exchange: Exchange) -> Command | None:
        """Return this broker's response; None if it is not in time or the request is one-way."""
        part, name = self._part_of(exchange), self._name_of(exchange)
        while self._lost and self._lost[0][0] < exchange.seq:  # the client continued over another connection
            if (other := self._connections.pop(self._lost.pop(0)[1], None)) is not None:
                other.close()
        if name not in self._connections:
            self._connections[name] = self.deployment.connect(part)
            host, port = self._connections[name].remote
            self._connections[name].remote = (host, port + next(self._addresses))  # each connection has its own address
        connection = self._connections[name]
        if is_timed(exchange):
            self.deployment.act("time", millis=max(0, self._began + exchange.sent_millis - self.cluster.clock.now()))
        command = self._command(exchange)
        self.deployment.draw.queue = self._drawn(exchange)
        try:
            if not exchange.one_way:
                return connection.ask(command, SECONDS)
            connection.send_one_way(command)
        except TimedOut:
            pass
        finally:
            self.dispatch()
        return None

    def _part_of(self, exchange: Exchange) -> str:
        return NAME_SERVER if exchange.request["to"] == NAME_SERVER else self.deployment.part

    def _name_of(self, exchange: Exchange) -> str:
        return self._named(exchange.process, exchange.request.get("line") or self._part_of(exchange))

    def _named(self, client: str, over: str | None = None) -> str:
        """Return the name of a client's connection, by default to the broker."""
        return f"{over or self.deployment.part} of {client}"

    def questions(self, client: str) -> list[Command]:
        """Wait 100 ms, run the transaction check, and return all check requests that the producer's connection has received (TRX-05)."""
        self.wait(DELAY_STEP)
        connection = self._connections.get(self._named(client))
        self.cluster.scheduler.complete(self.broker.transaction_check.check())
        return [stray for stray in (connection.strays if connection is not None else ()) if stray.code == codes.CHECK_TRANSACTION_STATE]

    def notified(self, client: str) -> list[str]:
        """Return the groups whose consumers changed according to notifications since the last call."""
        connection = self._connections.get(self._named(client))
        return take_notified(connection.strays) if connection is not None else []

    def arrive(self, exchange: Exchange) -> None:
        """Perform the part of a send before it is stored: check it, create its topic, and for a retry topic its group (DLQ-02)."""
        command, channel = self._command(exchange), self.deployment.connect(self.deployment.part)
        with suppress(JavaError):
            header = parse_request_header(command.code, command.ext_fields, self.profile)
            if header is not None:
                message_context(self.broker, channel, command, header)
                checked = self.cluster.scheduler.complete(pre_send(self.broker, channel, command, header))
                if checked.code == codes.UNDECIDED and header.topic.startswith(RETRY_PREFIX):
                    self.broker.groups.find(header.topic.removeprefix(RETRY_PREFIX))

    def _command(self, exchange: Exchange) -> Command:
        return command_of(
            whole_number(exchange.request["code"]),
            self._ours(exchange),
            body_of(exchange.request) or None,
            whole_number(exchange.request["version"]),
        )

    def _drawn(self, exchange: Exchange) -> int:
        """Return the queue that the target chose at random, according to its response or its record."""
        answer = exchange.outcome.get("fields") or {}
        if exchange.op == "send_back":
            if exchange.code not in (codes.SUCCESS, None):
                return 0  # a record like it belongs to another request
            sent_back = self._record_sent_back(exchange)
            return 0 if sent_back is None else _queue_of(sent_back)
        if not exchange.fields.get("queueId", "").startswith("-"):
            return 0
        if (queue := java_int(answer.get("queueId", ""))) is not None:
            return queue
        born = [message for message in self.theirs.values() if str(message.born_timestamp) == exchange.fields.get("bornTimestamp")]
        return _queue_of(born[0]) if born else self._fuller_queue(exchange.fields.get("topic", ""))

    def _fuller_queue(self, topic: str) -> int:
        """Return a queue that is longer on the target than here: it contains the record that could not be read back. 0 if there is none."""
        counted = self.history.states.get("queues", {}).get("queues", ())
        return next((queue for name, queue, end, *_ in counted if name == topic and end > self.broker.store.max_offset(name, queue)), 0)

    def _record_sent_back(self, exchange: Exchange) -> Message | None:
        """Return the record that a send-back stored: the first that no earlier request stored."""
        request = request_of(exchange)
        before, config = self.theirs.get(request.offset), self.broker.groups.table.get(request.group)
        if before is None:
            return None
        group = Group() if config is None else Group(config.retry_max_times, config.retry_queue_nums)
        free = ((at, message) for at, message in self.theirs.items() if at not in self._taken)
        place = choose(request, group, before, free, asked=True)
        if place is None:
            return None
        self._taken.add(place)
        return self.theirs[place]

    def _ours(self, exchange: Exchange) -> dict[str, str]:
        """Return the request's fields with our places instead of the target's."""
        fields = translated(exchange.fields, self.places)
        if (
            held_millis(exchange) is not None and "suspendTimeoutMillis" in fields
        ):  # at this point of the order the pull times out or finds a message
            fields["sysFlag"] = str(whole_number(fields["sysFlag"]) & ~PULL_SUSPENDS)
        if is_by_key(exchange):
            fields = keys.at_any_time(fields)
        if exchange.op == "end_transaction" and "tranStateTableOffset" in fields:
            offset, place = fields["tranStateTableOffset"], exchange.fields.get("commitLogOffset", "")
            fields["tranStateTableOffset"] = self.halves.get((place, offset)) or self.halves.get(("", offset), offset)
        return fields

    def learn(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Record the places of the stored messages on both sides. Return whether they are in a topic that programs share."""
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
    """Return the queue that the sender named."""
    named = java_int(message.properties.get("REAL_QID", ""))
    return message.queue_id if named is None else named
