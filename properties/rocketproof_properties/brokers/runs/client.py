"""One program on a running target: its clients, each with connections of its own, and everything written down before it is judged."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError
from rocketproof_impl.store import record as records
from rocketproof_model import interrupts
from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE, NOTIFY_CONSUMER_IDS_CHANGED, TOPIC_NOT_EXIST
from rocketproof_protocol.flags import COMPRESSED, NOT
from rocketproof_protocol.groups import CHECK_GROUP
from rocketproof_protocol.numbers import hexadecimal, java_boolean, java_int, java_long, whole_number
from rocketproof_protocol.properties import CHECK_TIMES
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX
from rocketproof_traces.history.exchanges import STRAY

from ...catalogue.history import OK
from ...programs.call import Context, RecordedCall, StoredPlace, may_be_held
from ...programs.parts import NAME_SERVER
from ...programs.requests import stored_bytes
from ...programs.vocabulary import Step, arguments, is_request, plain, request_of
from ..comeback import come_back
from ..connection import Connection
from ..deployment import Deployment
from .queries import offset_of
from .recording import HistoryRecorder, answer_data, call_data, wall, worded
from .waiting import until

PATIENCE: Final = 8.0
"""Seconds to wait for an answer: longer than a broker's own waits for a lock or a disk."""
LOOKS: Final = 5.0
"""Seconds between a broker's looks at the pulls that it holds, one of which may find that a pull's time is almost over."""
QUESTION: Final = 8.0
"""Seconds to wait for what a broker asks by itself: longer than it is between two rounds of its checks here."""
NOTIFIED: Final = 1.0
"""Seconds to wait for what a broker tells consumers before it answers to the one by whom their group has changed."""
REFUSED: Final = 0.5
"""Seconds to try for a connection that is refused."""
LATE: Final = 0.02
"""Seconds to listen for answers that nobody should have sent."""
SETTLING: Final = 0.01
"""Seconds for what a broker does behind its answers: requests that want none, registrations on their way."""
ARRIVED: Final = 0.001
"""Seconds to look for what has come already."""
REGISTERED: Final = ("route", "update_topic")
"""Requests that wait for registrations on their way: a name server may take that of a new topic behind that of its change."""
DISPATCHED: Final = ("max_offset", "pull", "progress", "find", "delete_topic")
DISPATCHING: Final = 0.05
"""Requests about queues, and the seconds before them in which a broker dispatches what it has stored."""
BEHIND: Final = 5.0
"""Seconds that a busy broker may need for that."""
ASKED_AGAIN: Final = 4
CHECKED: Final = (HALF_TOPIC, OP_HALF_TOPIC)
"""The topics of the two queues that the check of half messages goes through."""
MESSAGE_ID: Final = re.compile(r"[0-9A-Fa-f]{32}")
"""Of a broker: its address, and the place in the log."""


def patience(call: RecordedCall) -> float:
    """Seconds to wait for the answer to a request: longer by what a pull may be held."""
    if not may_be_held(call.op, call.fields):
        return PATIENCE
    millis = java_long(call.fields.get("suspendTimeoutMillis", ""))
    return PATIENCE + LOOKS + max(0, millis or 0) / 1000


class ProgramClient:
    """One client: at most one request under way; `wait` is called before each, to keep within a rate."""

    def __init__(
        self, number: int, deployment: Deployment, context: Context, recording: HistoryRecorder, wait: Callable[[], None] = lambda: None
    ) -> None:
        self.process = f"client {number}"
        self._deployment = deployment
        self._context = context
        self._recording = recording
        self._wait = wait
        self._lines: dict[str, Connection] = {}
        self._asked: dict[tuple[str, int], int] = {}
        self._tells = False
        self._slowest = 0.0
        self.lost = 0

    def step(self, step: Step) -> None:
        """Do one step of a program; errors of the connection are part of what happens."""
        name, _ = step
        if name == "lose":
            self._lose(**arguments(step))
        elif name == "hang_up":
            self._hang_up()
        elif name == "question":
            self._write_heard(name, _question, code=None)
        elif name == "checked":
            self._wait_for_check()
        elif name == "notified":
            self._write_heard(name, _notified)
        elif name == "crash":
            self._end_process()
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

    def _lose(self, address: str, *, overlap: bool) -> None:
        """Close the connection of a broker that is not there, and leave the name server some time to see it unless connections overlap."""
        key = self._context.names.address(address)
        line = self._lines.pop(key, None)
        if line is None:
            return
        if overlap:
            self._line(key, NAME_SERVER)
        self._recording.add("info", self.process, "disconnect", {"address": key, "at": wall()})
        line.close()
        if not overlap:
            interrupts.pause(LATE)

    def _hang_up(self) -> None:
        """Close the connections but those of brokers that are not there, and leave the others some time to see it."""
        for key in [key for key in self._lines if key in (self._context.broker, NAME_SERVER)]:
            self._drop(key)
        self._recording.add("info", self.process, "hang_up", {"client": self.process, "at": wall()})
        interrupts.pause(LATE)

    def _write_heard(self, event: str, hear: Callable[[Connection], Mapping[str, Any]], **told: Any) -> None:
        """Write down what a broker asks or tells this client by itself, or `told` alone where nothing can be heard any more."""
        line = self._lines.get(self._context.broker)
        if line is None:
            return
        told |= {"client": self.process, "at": wall()}
        try:
            told |= hear(line)
        except RemotingError as error:
            self._drop(self._context.broker)
            told["error"] = worded(error)
        self._recording.add("info", self.process, event, told)

    def _wait_for_check(self) -> None:
        """Wait until the check of half messages is as far as both of its queues are long now, and write down how far it is, how long they
        were before and are behind that, and how often the messages that this client was asked about were by then."""
        broker, told = self._context.broker, dict[str, Any](at=wall())
        interrupts.pause(DISPATCHING)  # what was stored last is in its queue then, and the check has to come to it
        try:
            with self._deployment.connect(broker) as line:

                def read(step: str, **given: Any) -> dict[str, int | None]:
                    answers = {topic: line.ask(plain(step, topic=topic, **given), PATIENCE) for topic in CHECKED}
                    return {topic: offset_of(answer) for topic, answer in answers.items()}

                def far() -> dict[str, int | None]:
                    return read("progress", group=CHECK_GROUP)

                before = read("max_offset")
                reached = until(far, lambda found: all((found[topic] or 0) >= (before[topic] or 0) for topic in CHECKED), QUESTION, LATE)
                told |= {"before": before, "reached": reached, "after": read("max_offset")}
        except RemotingError as error:
            told["error"] = worded(error)
        told["asked"] = self._asked_times()
        self._recording.add("info", self.process, "checked", {**told, "client": self.process})

    def _asked_times(self) -> list[str]:
        """Of each question that came to this client and that no step has waited for, the number of checks that its message has."""
        line = self._lines.get(self._context.broker)
        if line is None:
            return []
        with suppress(RemotingError):
            line.listen(LATE)
        exact = self._context.profile.exact_properties
        messages = (records.decode(one.body or b"", exact=exact) for one in line.strays if _is_question(one))
        return [one.properties.get(CHECK_TIMES, "") for one in messages if one is not None]

    def _end_process(self) -> None:
        """End the broker's process at once, and start it again. Raises NotBack where it does not start, TargetError."""
        broker = self._context.broker
        self._recording.add("crash", broker, "crash", {"at": wall()})
        for line in self._lines.values():
            line.close()
        self._lines.clear()
        self._deployment.kill(broker)
        come_back(self._deployment, broker)

    def _route(self, call: RecordedCall) -> None:
        """Ask for a route, and again if the name server has none, later each time: a registration may be on its way."""
        for again in range(ASKED_AGAIN):
            if again:
                interrupts.pause(max(SETTLING, 2 * self._slowest) * 2**again)
            answer = self.call(call)
            if answer is None or answer.code != TOPIC_NOT_EXIST:
                return

    def call(self, call: RecordedCall) -> Command | None:
        """Send a request and write down what comes; None where there is no answer."""
        self._wait()
        if call.op in REGISTERED:
            interrupts.pause(max(SETTLING, self._slowest))
        elif call.op in DISPATCHED:
            interrupts.pause(DISPATCHING)
        if self._deployment.address(call.to) is None:
            return None
        invoked = self._recording.add("invoke", self.process, call.op, call_data(call))
        command = call.command()
        try:
            line = self._line(call.line or call.to, call.to)
            if call.one_way:
                line.tell(command, PATIENCE)
                self._tells = True
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
        self.lost = 0
        self._note(call.line or call.to, command.opaque, invoked.seq)
        self._recording.add("ok", self.process, call.op, answer_data(answer))
        self._learn(call, answer)
        self._write_strays(call.line or call.to)
        return answer

    def _wait_for_dispatch(self, broker: str) -> None:
        """Wait until all acknowledged messages are in their queues: one that comes there behind the deletion of its topic begins a queue
        anew, and of a topic that is made again messages are missing in it (HAZ-62)."""
        last, self._context.last = self._context.last, None
        if last is None:
            return
        topic, queue, offset = last
        with suppress(RemotingError), self._deployment.connect(broker) as line:

            def dispatched() -> bool:
                self._wait()
                told = line.ask(plain("max_offset", topic=topic, queue=queue), PATIENCE)
                end = java_long((told.ext_fields or {}).get("offset", ""))
                return told.code not in OK or end is None or end > offset

            until(dispatched, bool, BEHIND, ARRIVED)

    def _line(self, key: str, part: str) -> Connection:
        if key not in self._lines:
            self._lines[key] = self._connect(part)
        return self._lines[key]

    def _connect(self, part: str) -> Connection:
        """A new connection; one that is refused had no effect, and is tried again for a moment."""

        def connect() -> Connection | ConnectFailed:
            try:
                return self._deployment.connect(part)
            except ConnectFailed as problem:
                return problem

        found = until(connect, lambda one: not isinstance(one, ConnectFailed), REFUSED, SETTLING)
        if isinstance(found, ConnectFailed):
            raise found
        return found

    def _note(self, key: str, opaque: int, seq: int) -> None:
        self._asked[key, opaque] = seq

    def _learn(self, call: RecordedCall, answer: Command) -> None:
        """Keep where acknowledged messages are: later steps act on them."""
        fields = answer.ext_fields or {}
        self._context.sent_back += call.op == "send_back" and answer.code in OK
        if call.op not in ("send", "batch") or answer.code not in OK or "msgId" not in fields:
            return
        properties = parse_properties(call.fields.get("properties"), exact=False)
        half = java_boolean(properties.get("TRAN_MSG")) and call.op == "send"
        found = places(fields)
        offset = java_long(fields.get("queueOffset", "")) or 0
        topic = call.fields.get("topic", "")
        visible = not half and "DELAY" not in properties
        self._context.end = found[0] + stored_bytes(self._context, call) if found and visible else None
        self._context.known += [StoredPlace(place, offset, half, visible, topic) for place in found]
        queue = java_int(fields.get("queueId", ""))
        if visible and found and queue is not None and _is_placed(call, properties):
            self._context.last = topic, queue, offset + len(found) - 1

    def _write_strays(self, key: str) -> None:
        """Write down what nobody waited for; what a broker asks or tells its clients by itself is no answer."""
        line = self._lines.get(key)
        for answer in [one for one in line.strays if one.is_response] if line is not None else ():
            of = self._asked.get((key, answer.opaque))
            self._recording.add("info", self.process, STRAY, {"of": of, **answer_data(answer)})
        if line is not None:
            line.strays[:] = [one for one in line.strays if not one.is_response]

    def _drop(self, key: str) -> None:
        self._write_strays(key)
        line = self._lines.pop(key, None)
        if line is not None:
            line.close()

    def listen(self) -> None:
        """After one-way requests: write down what comes all the same."""
        if self._tells:
            for key, line in list(self._lines.items()):
                try:
                    line.listen(max(LATE, 3 * self._slowest))
                except RemotingError:
                    self._drop(key)
                    continue
                self._write_strays(key)

    def look(self) -> None:
        """Write down what has come in the meantime: second answers, answers to nobody."""
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
    """Wait until a change of a topic is over that was answered before: a broker makes one at a time, so that it has made this one when it
    answers to another. That names no topic, and is refused."""
    with suppress(RemotingError):
        line.ask(replace(change, fields={}).command(), PATIENCE)


def _is_placed(call: RecordedCall, properties: Mapping[str, str]) -> bool:
    """Whether the answer to a message that waits for nothing says where it is: what goes to a retry topic may be a dead letter (HAZ-15)."""
    prepared = call.fields.get("sysFlag", "0") not in (str(NOT), str(COMPRESSED))
    return not (prepared or call.fields.get("topic", "").startswith(RETRY_PREFIX) or any(name.startswith("TIMER_") for name in properties))


def _question(line: Connection) -> Mapping[str, Any]:
    """The first question about a half message that a broker asks a producer, as soon as it comes; nothing if none comes in time."""

    def heard() -> Command | None:
        line.listen(LATE)
        return next(filter(_is_question, line.strays), None)

    found = until(heard, lambda one: one is not None, QUESTION, 0)
    if found is None:
        return {}
    line.strays.remove(found)
    return answer_data(found)


def _notified(line: Connection) -> Mapping[str, Any]:
    """Of which groups the broker has told a consumer by now that their consumers are others."""

    def heard() -> list[str]:
        line.listen(LATE)
        return notified(line.strays)

    until(heard, bool, NOTIFIED, 0)
    heard()
    return {"groups": take_notified(line.strays)}


def notified(strays: Iterable[Command]) -> list[str]:
    """The groups of which a broker has said that their consumers are others."""
    return sorted({(one.ext_fields or {}).get("consumerGroup", "") for one in strays if _is_notification(one)})


def take_notified(strays: list[Command]) -> list[str]:
    """The same, and it is no stray any more."""
    told = notified(strays)
    strays[:] = [one for one in strays if not _is_notification(one)]
    return told


def _is_notification(command: Command) -> bool:
    return command.code == NOTIFY_CONSUMER_IDS_CHANGED and not command.is_response


def _is_question(command: Command) -> bool:
    """Whether a broker asks with it what became of a half message."""
    return command.code == CHECK_TRANSACTION_STATE and not command.is_response


def places(fields: Mapping[str, str]) -> list[int]:
    """Where in the log the answered messages are; an id that is none names no place."""
    return [hexadecimal(one[16:]) for one in fields.get("msgId", "").split(",") if MESSAGE_ID.fullmatch(one)]


def rounds(steps: Sequence[Step]) -> Iterator[dict[int, list[Step]]]:
    """The steps by client, up to each place where the clients meet."""
    found: dict[int, list[Step]] = {}
    for step in steps:
        if step[0] == "meet":
            if found:
                yield found
            found = {}
        else:
            found.setdefault(whole_number(step[1].get("client", 0)), []).append(step)
    if found:
        yield found


def perform(steps: Sequence[Step], clients: Mapping[int, ProgramClient], enough: Callable[[], bool]) -> None:
    """Do a program: each client its own steps in order, the clients of a round at the same time. `enough` ends it early."""

    def work(client: ProgramClient, mine: Sequence[Step]) -> None:
        for step in mine:
            if enough() or client.lost > 2:
                return
            client.step(step)

    for round_ in rounds(steps):
        if len(round_) == 1:
            ((number, mine),) = round_.items()
            work(clients[number], mine)
            continue
        problems: list[BaseException] = []
        start = threading.Barrier(len(round_))

        def run(number: int, mine: Sequence[Step], start: threading.Barrier = start, problems: list[Any] = problems) -> None:
            try:
                start.wait()  # for threads of our own, not for the target: however busy the machine is, all of them come
                work(clients[number], mine)
            except (Exception, KeyboardInterrupt) as problem:  # noqa: BLE001 - raised again in the thread that waits
                problems.append(problem)

        threads = [threading.Thread(target=run, args=item, daemon=True) for item in round_.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
