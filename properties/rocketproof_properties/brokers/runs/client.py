"""The clients of one program on a running target, each with connections of its own. All events are recorded before they are judged."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError
from rocketproof_impl.store import record as records
from rocketproof_model import interrupts
from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE, NOTIFY_CONSUMER_IDS_CHANGED, TOPIC_NOT_EXIST
from rocketproof_protocol.flags import COMPRESSED, NOT
from rocketproof_protocol.groups import CHECK_GROUP
from rocketproof_protocol.numbers import java_boolean, java_int, java_long
from rocketproof_protocol.properties import CHECK_TIMES
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX
from rocketproof_traces.history.exchange import places
from rocketproof_traces.history.exchanges import STRAY
from rocketproof_traces.stored.record import place_of, record_at, records_in

from ...catalogue.history import OK
from ...programs.call import Context, RecordedCall, StoredPlace, may_be_held
from ...programs.corruption import corrupt
from ...programs.parts import NAME_SERVER
from ...programs.requests import stored_bytes
from ...programs.vocabulary import ENDS_PROCESS, Step, arguments, is_request, plain, request_of
from ..comeback import come_back
from ..connection import Connection
from ..deployment import Deployment
from ..stoppedstore import StoppedStore
from .parsed import CORRUPTED
from .queries import offset_of
from .recording import HistoryRecorder, answer_data, call_data, wall, worded
from .sendbacks import group_in
from .waiting import until

PATIENCE: Final = 8.0
"""Seconds to wait for a response: longer than a broker waits for a lock or a disk."""
LOOKS: Final = 5.0
"""Seconds between a broker's checks of held pulls. A check may occur just before a pull's hold time ends."""
QUESTION: Final = 8.0
"""Seconds to wait for a broker's own request: longer than the interval of its transaction checks here."""
NOTIFIED: Final = 1.0
"""Seconds to wait for notifications, which a broker sends before it answers the request that changed the group."""
REFUSED: Final = 0.5
"""Seconds for which a rejected connection is retried."""
LATE: Final = 0.02
"""Seconds to listen for unexpected responses."""
SETTLING: Final = 0.01
"""Seconds for work that a broker does after its response: one-way requests, registrations on their way."""
ARRIVED: Final = 0.001
"""Seconds to check for commands that have arrived already."""
REGISTERED: Final = ("route", "update_topic")
"""Requests that wait for registrations: a name server may process the registration of a new topic after that of its change."""
DISPATCHED: Final = ("max_offset", "pull", "progress", "find", "delete_topic")
DISPATCHING: Final = 0.05
"""Requests about queues, and the seconds before them in which a broker dispatches stored messages."""
BEHIND: Final = 5.0
"""Seconds that a busy broker may need to dispatch."""
ASKED_AGAIN: Final = 4
CHECKED: Final = (HALF_TOPIC, OP_HALF_TOPIC)
"""The topics of the two queues that the check of half messages reads."""


def patience(call: RecordedCall) -> float:
    """Return the seconds to wait for the response, including the time for which a pull may be held."""
    if not may_be_held(call.op, call.fields):
        return PATIENCE
    millis = java_long(call.fields.get("suspendTimeoutMillis", ""))
    return PATIENCE + LOOKS + max(0, millis or 0) / 1000


class ProgramClient:
    """One client with at most one outstanding request. `wait` is called before each request, to limit the rate."""

    def __init__(
        self, number: int, deployment: Deployment, context: Context, recording: HistoryRecorder, wait: Callable[[], None] = lambda: None
    ) -> None:
        self.process = f"client {number}"
        self._deployment = deployment
        self._context = context
        self._recording = recording
        self._wait = wait
        self._lines: dict[str, Connection] = {}
        self._restarts = Counter[str]()
        self._asked: dict[tuple[str, int], int] = {}
        self._sent_one_way = False
        self._slowest = 0.0
        self.lost = 0
        self.performed: list[list[int]] = []
        """For each step that this client has begun, the numbers of the events that it recorded for the step's requests and observations."""

    def step(self, step: Step) -> None:
        """Perform one step of a program. Connection errors are recorded as events."""
        name, _ = step
        self.performed.append([])
        if name == "lose":
            self._lose(**arguments(step))
        elif name == "hang_up":
            self._hang_up()
        elif name == "question":
            self._record_received(name, _question, code=None)
        elif name == "checked":
            self._wait_for_check()
        elif name == "notified":
            self._record_received(name, _notified)
        elif name in ENDS_PROCESS:
            self._end_process(name, self._context.part(step[1].get("broker", "")), arguments(step))
        elif not is_request(name):
            wanted = arguments(step)
            self._recording.add("info", self.process, {"time": "wait"}.get(name, name), {**wanted, "at": wall()})
            self._deployment.act(name, **wanted)
        else:
            call = request_of(step, self._context)
            if call is not None and call.op == "route":
                self._route(call)
            elif call is not None:
                self.call(call)

    def _lose(self, address: str, *, overlap: bool, pause: bool) -> None:
        """Close the connection of a fictitious broker.

        Give the name server time to notice, unless connections overlap or `pause` is false.
        """
        key = self._context.names.address(address)
        line = self._lines.pop(key, None)
        if line is None:
            return
        if overlap:
            self._line(key, NAME_SERVER)
        self._recording.add("info", self.process, "disconnect", {"address": key, "at": wall()})
        line.close()
        if pause and not overlap:
            interrupts.pause(LATE)

    def _hang_up(self) -> None:
        """Close all connections except those of fictitious brokers, and give the other side time to notice."""
        for key in [key for key in self._lines if key in (self._context.broker, NAME_SERVER)]:
            self._drop(key)
        self._recording.add("info", self.process, "hang_up", {"client": self.process, "at": wall()})
        interrupts.pause(LATE)

    def _record_received(self, event: str, receive: Callable[[Connection], Mapping[str, Any]], **value: Any) -> None:
        """Record what a broker sends to this client by itself, or only `value` if the connection breaks."""
        line = self._lines.get(self._context.broker)
        if line is None:
            return
        value |= {"client": self.process, "at": wall()}
        try:
            value |= receive(line)
        except RemotingError as error:
            self._drop(self._context.broker)
            value["error"] = worded(error)
        self._observe(event, value)

    def _observe(self, event: str, value: Mapping[str, Any]) -> None:
        """Record what a step has observed without a request of its own."""
        self.performed[-1].append(self._recording.add("info", self.process, event, value).seq)

    def _wait_for_check(self) -> None:
        """Wait until the check of half messages has reached the present ends of both of its queues.

        Records the offsets of the check and the ends of the queues before and afterwards. Also records the check counts of the messages
        that this client was asked about.
        """
        broker, value = self._context.broker, dict[str, Any](at=wall())
        interrupts.pause(DISPATCHING)  # the last stored messages are then in their queues, where the check has to read them
        try:
            with self._deployment.connect(broker) as line:

                def read(step: str, **arguments: Any) -> dict[str, int | None]:
                    answers = {topic: line.ask(plain(step, topic=topic, **arguments), PATIENCE) for topic in CHECKED}
                    return {topic: offset_of(answer) for topic, answer in answers.items()}

                def checked() -> dict[str, int | None]:
                    return read("progress", group=CHECK_GROUP)

                before = read("max_offset")
                reached = until(
                    checked, lambda offsets: all((offsets[topic] or 0) >= (before[topic] or 0) for topic in CHECKED), QUESTION, LATE
                )
                value |= {"before": before, "reached": reached, "after": read("max_offset")}
        except RemotingError as error:
            value["error"] = worded(error)
        value["asked"] = self._asked_times()
        self._observe("checked", {**value, "client": self.process})

    def _asked_times(self) -> list[str]:
        """Return the number of checks of each message that this client was asked about and that no step has waited for."""
        line = self._lines.get(self._context.broker)
        if line is None:
            return []
        with suppress(RemotingError):
            line.listen(LATE)
        exact = self._context.profile.exact_properties
        messages = (records.decode(command.body or b"", exact=exact) for command in line.strays if _is_question(command))
        return [message.properties.get(CHECK_TIMES, "") for message in messages if message is not None]

    def _end_process(self, name: str, broker: str, wanted: Mapping[str, Any]) -> None:
        """Kill the broker's process, or stop it, and start it again: with some settings or its clock changed, or with a corrupted file.

        Raises NotBack if it does not start, TargetError.
        """
        deployment, settings, clock = self._deployment, wanted.get("settings"), wanted.get("clock", 0)
        kill = name == "crash" or bool(wanted.get("kill"))
        place = {key: wanted[key] for key in ("file", "place", "how")} if name == "corrupt" else None
        damage = None
        if place is not None:
            damage = partial(corrupt, StoppedStore(deployment.store(broker)), **place, is_mine=self._context.names.is_mine)
            interrupts.pause(DISPATCHING)  # the last record then has its queue entry
        deployment.set_clock(broker, clock)
        changes = {"settings": settings, "clock": clock, "corrupt": place}
        value = {"at": wall(), **{key: change for key, change in changes.items() if change}}
        self._recording.add("crash", broker, "crash" if kill else "stop", value)
        for line in self._lines.values():
            line.close()
        self._lines.clear()
        if kill:
            deployment.kill(broker)
        if damage is not None:
            if not kill:
                deployment.stop(broker)
            changed = damage()
            self._recording.add("info", self.process, CORRUPTED, {} if changed is None else changed._asdict())
        come_back(deployment, broker, settings)
        self._context.restarts[broker] += 1

    def _route(self, call: RecordedCall) -> None:
        """Query a route. If the name server has none, retry with growing pauses, because a registration may be on its way."""
        for attempt in range(ASKED_AGAIN if call.again else 1):
            if attempt:
                interrupts.pause(max(SETTLING, 2 * self._slowest) * 2**attempt)
            answer = self.call(call)
            if answer is None or answer.code != TOPIC_NOT_EXIST:
                return

    def call(self, call: RecordedCall) -> Command | None:
        """Send a request and record the result. Return the response, None if there is none."""
        self._wait()
        if call.op in REGISTERED:
            interrupts.pause(max(SETTLING, self._slowest))
        elif call.op in DISPATCHED:
            interrupts.pause(DISPATCHING)
        if self._deployment.address(call.to) is None:
            return None
        invoked = self._recording.add("invoke", self.process, call.op, call_data(call))
        if self.performed:
            self.performed[-1].append(invoked.seq)
        command = call.command()
        earlier = self._lines.pop(call.line or call.to, None) if call.anew else None
        try:
            line = self._line(call.line or call.to, call.to)
            if call.one_way:
                line.send_one_way(command, PATIENCE)
                self._sent_one_way = True
                self._note(call.line or call.to, command.opaque, invoked.seq)
                self._recording.add("info", self.process, call.op, {"oneWay": True, "at": wall()})
                interrupts.pause(max(SETTLING, self._slowest))
                return None
            if call.op == "delete_topic":
                self._wait_for_dispatch(call.to)
            began = time.monotonic()
            answer = line.ask(command, patience(call))
            self._slowest = max(time.monotonic() - began, self._slowest / 2)
            if call.op == "update_topic" and answer.code in OK and not self._context.profile.answers_when_changed:
                _wait_for_change(line, call)
        except ConnectFailed as error:
            self.lost += 1
            self._recording.add("fail", self.process, call.op, {"error": str(error), "at": wall()})
            return None
        except RemotingError as error:
            self.lost += 1
            self._recording.add("info", self.process, call.op, {"error": worded(error), "at": wall()})
            self._drop(call.line or call.to)
            return None
        finally:
            if earlier is not None:
                earlier.close()
                interrupts.pause(LATE)
        self.lost = 0
        self._note(call.line or call.to, command.opaque, invoked.seq)
        self._recording.add("ok", self.process, call.op, answer_data(answer))
        self._learn(call, answer)
        self._write_strays(call.line or call.to)
        return answer

    def _wait_for_dispatch(self, broker: str) -> None:
        """Wait until all acknowledged messages are in their queues.

        A message that is dispatched after the deletion of its topic starts a new queue. If the topic is created again, messages are missing
        in it (HAZ-62).
        """
        last, self._context.last = self._context.last, None
        if last is None:
            return
        topic, queue, offset = last
        with suppress(RemotingError), self._deployment.connect(broker) as line:

            def dispatched() -> bool:
                self._wait()
                answer = line.ask(plain("max_offset", topic=topic, queue=queue), PATIENCE)
                end = java_long((answer.ext_fields or {}).get("offset", ""))
                return answer.code not in OK or end is None or end > offset

            until(dispatched, bool, BEHIND, ARRIVED)

    def _line(self, key: str, part: str) -> Connection:
        if self._restarts[part] != self._context.restarts[part]:  # another client has restarted it
            self._restarts[part] = self._context.restarts[part]
            if key in self._lines:
                self._lines.pop(key).close()
        if key not in self._lines:
            self._lines[key] = self._connect(part)
        return self._lines[key]

    def _connect(self, part: str) -> Connection:
        """Return a new connection. A rejected connection has no effect and is retried for a moment."""

        def connect() -> Connection | ConnectFailed:
            try:
                return self._deployment.connect(part)
            except ConnectFailed as problem:
                return problem

        connection = until(connect, lambda result: not isinstance(result, ConnectFailed), REFUSED, SETTLING)
        if isinstance(connection, ConnectFailed):
            raise connection
        return connection

    def _note(self, key: str, opaque: int, seq: int) -> None:
        self._asked[key, opaque] = seq

    def _learn(self, call: RecordedCall, answer: Command) -> None:
        """Remember the places of acknowledged messages, because later steps refer to them."""
        fields = answer.ext_fields or {}
        if call.op == "pull" and answer.code in OK:
            found = (record_at(data, place_of(data)) for data in records_in(answer.body or b""))
            for row in filter(None, found):
                self._context.pulled.append(StoredPlace(row.at, row.queue_offset, False, True, row.topic))
                self._context.store_times[call.to, row.topic, row.queue_id][row.queue_offset] = row.store_timestamp
        if answer.code in OK:
            self._learn_change(call)
        if call.op not in ("send", "batch") or answer.code not in OK or "msgId" not in fields:
            return
        properties = parse_properties(call.fields.get("properties"), exact=False)
        half = java_boolean(properties.get("TRAN_MSG")) and call.op == "send"
        stored = places(fields)
        offset = java_long(fields.get("queueOffset", "")) or 0
        topic = call.fields.get("topic", "")
        visible = not half and "DELAY" not in properties
        self._context.end = stored[0] + stored_bytes(self._context, call) if stored and visible else None
        self._context.known += [StoredPlace(place, offset, half, visible, topic) for place in stored]
        queue = java_int(fields.get("queueId", ""))
        if visible and stored and queue is not None and _is_placed(call, properties):
            self._context.last = topic, queue, offset + len(stored) - 1

    def _learn_change(self, call: RecordedCall) -> None:
        """Remember what an acknowledged request other than a send changes."""
        context = self._context
        if call.op == "send_back":
            context.sent_back += 1
            context.discarded += call.fields.get("group", "") in context.silent
        elif call.op == "delete_topic":
            context.gone |= {message.place for message in context.known if message.topic == call.fields.get("topic")}
            for queue in [queue for queue in context.store_times if queue[:2] == (call.to, call.fields.get("topic"))]:
                del context.store_times[queue]
        elif call.op == "update_group":
            name, group = group_in(call.body)
            if group.silent:
                context.silent.add(name)
            else:
                context.silent.discard(name)
        elif call.op == "delete_group":
            context.silent.discard(call.fields.get("groupName", ""))

    def _write_strays(self, key: str) -> None:
        """Record unexpected responses. Requests that a broker sends to its clients are not responses."""
        line = self._lines.get(key)
        for answer in [command for command in line.strays if command.is_response] if line is not None else ():
            seq = self._asked.get((key, answer.opaque))
            self._recording.add("info", self.process, STRAY, {"of": seq, **answer_data(answer)})
        if line is not None:
            line.strays[:] = [command for command in line.strays if not command.is_response]

    def _drop(self, key: str) -> None:
        self._write_strays(key)
        line = self._lines.pop(key, None)
        if line is not None:
            line.close()

    def listen(self) -> None:
        """After one-way requests, record responses that arrive nevertheless."""
        if self._sent_one_way:
            for key, line in list(self._lines.items()):
                try:
                    line.listen(max(LATE, 3 * self._slowest))
                except RemotingError:
                    self._drop(key)
                    continue
                self._write_strays(key)

    def record_late(self) -> None:
        """Record responses that have arrived in the meantime: second responses, and responses without a request."""
        for key, line in list(self._lines.items()):
            try:
                line.listen(ARRIVED)
            except RemotingError:
                self._drop(key)
            else:
                self._write_strays(key)

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()


def _wait_for_change(line: Connection, change: RecordedCall) -> None:
    """Wait until a topic change is complete that the broker has already acknowledged.

    A broker performs one change at a time: when it answers the next, the first is complete. The next one names no topic and is rejected.
    """
    with suppress(RemotingError):
        line.ask(replace(change, fields={}).command(), PATIENCE)


def _is_placed(call: RecordedCall, properties: Mapping[str, str]) -> bool:
    """Return whether the response states where the message is stored. A message to a retry topic may become a dead letter (HAZ-15)."""
    prepared = call.fields.get("sysFlag", "0") not in (str(NOT), str(COMPRESSED))
    return not (prepared or call.fields.get("topic", "").startswith(RETRY_PREFIX) or any(name.startswith("TIMER_") for name in properties))


def _question(line: Connection) -> Mapping[str, Any]:
    """Return the first transaction check that a broker sends to a producer, as soon as it arrives; nothing after the timeout."""

    def received() -> Command | None:
        line.listen(LATE)
        return next(filter(_is_question, line.strays), None)

    check = until(received, lambda command: command is not None, QUESTION, 0)
    if check is None:
        return {}
    line.strays.remove(check)
    return answer_data(check)


def _notified(line: Connection) -> Mapping[str, Any]:
    """Return the groups whose change the broker has announced to a consumer so far."""

    def received() -> list[str]:
        line.listen(LATE)
        return notified(line.strays)

    until(received, bool, NOTIFIED, 0)
    received()
    return {"groups": take_notified(line.strays)}


def notified(strays: Iterable[Command]) -> list[str]:
    """Return the groups whose change a broker has announced."""
    return sorted({(command.ext_fields or {}).get("consumerGroup", "") for command in strays if _is_notification(command)})


def take_notified(strays: list[Command]) -> list[str]:
    """Return the same, and remove the notifications from `strays`."""
    groups = notified(strays)
    strays[:] = [command for command in strays if not _is_notification(command)]
    return groups


def _is_notification(command: Command) -> bool:
    return command.code == NOTIFY_CONSUMER_IDS_CHANGED and not command.is_response


def _is_question(command: Command) -> bool:
    """Return whether the command is a transaction check."""
    return command.code == CHECK_TRANSACTION_STATE and not command.is_response
