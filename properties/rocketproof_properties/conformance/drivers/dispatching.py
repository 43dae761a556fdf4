"""Drives a broker's send processor by the model of dispatch: one request from its frame to its response.

The serving thread stops after the hooks, and after the checks if they have not decided the response, which is then read from the thread. A
check rejects because the broker is not writable at that moment. A put fails because the disk is full.
"""

from __future__ import annotations

from typing import Any, Final

from rocketproof_impl.broker.checking import APPEND
from rocketproof_impl.broker.hooks import SendMessageContext
from rocketproof_impl.broker.sending import ARRIVED
from rocketproof_impl.message import Message
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.service import DISK_FULL
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.properties import MSG_REGION, TRACE_ON
from rocketproof_spec.dispatching import HOOKS, Dispatching

from ...programs.requests import UNSUPPORTED_CODE
from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .doubles import RecordingChannel

TOPIC, OPAQUE, BODY = "T", 7, "hello"
REFUSALS = {
    codes.NO_PERMISSION: "refused",
    codes.SERVICE_NOT_AVAILABLE: "not stored",
    codes.SUCCESS: "SUCCESS",
    codes.UNDECIDED: "undecided",
}
EARLY: Final = "broker unable to service"


class _Hook:
    """A hook that keeps its contexts, and throws if `throws` is set."""

    def __init__(self) -> None:
        self.throws = False
        self.before: list[SendMessageContext] = []
        self.after = 0

    def send_message_before(self, context: SendMessageContext) -> None:
        self.before.append(context)
        if self.throws:
            raise RuntimeError("thrown by a hook")

    def send_message_after(self, context: SendMessageContext) -> None:
        self.after += 1


class _Channel(RecordingChannel):
    """A connection that keeps the commands of the written frames."""

    def write(self, command: Command) -> None:
        answer = frame.take(bytearray(frame.encode(command, command.serialisation)))
        assert answer is not None
        super().write(answer)


class DispatchingDriver(ModelDriver):
    """A broker with one topic whose processor for sends also serves a code without a header."""

    def __init__(self, specification: Dispatching, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.cluster = Cluster(profile=profile, start_accept_send_request_timestamp=2**53 if self.constants["early"] else 0)
        self.scheduler, self.broker = self.cluster.scheduler, self.cluster.broker()
        self.scheduler.stops = lambda task, pause: pause in (ARRIVED, APPEND)
        self.broker.topics.update(TopicConfig(TOPIC, order=True))
        processors = self.broker.dispatcher.processors
        processors[UNSUPPORTED_CODE] = processors[codes.SEND_MESSAGE]
        self.hooks = [_Hook() for _ in range(HOOKS if self.constants["hooks"] else 0)]
        self.broker.hooks.send += self.hooks
        self.channel = _Channel()
        self.asked: dict[str, Any] = {"kind": "send", "one_way": False, "batch": False, "whole": True, "body": True}
        self.step = "none"

    # Actions

    def _do_receive(self, **request: Any) -> None:
        """Keep the request. The next action passes it to its processor."""
        plain = request["whole"] and request["body"] and not request["batch"]
        if not plain and (request["kind"] != "send" or (request["batch"] and not request["body"])):
            raise Deviation(f"there is no such request as {request}: the specification has one")
        self.asked, self.step = request, "received"

    def _command(self) -> Command:
        if self.asked["kind"] == "send back":
            return plain("back", offset=0)
        if self.asked["kind"] == "no header":
            return plain("unknown", code=UNSUPPORTED_CODE)
        items: list[tuple[str, dict[str, str]]] | None = [(BODY, {})] if self.asked["batch"] else None
        return plain(
            "send", topic=TOPIC, body=BODY if self.asked["body"] else None, items=items, without=None if self.asked["whole"] else "topic"
        )

    def _serve(self) -> None:
        """Receive the frame, and run its thread to the next pause."""
        require(self.step == "received", "no request waits for its processor: the specification says that one does")
        command = self._command()
        command.opaque, command.flag = OPAQUE, ONE_WAY if self.asked["one_way"] else 0
        request = frame.take(bytearray(frame.encode(command)))
        assert request is not None
        self.broker.receive(self.channel, request)
        self.scheduler.settle()
        self.step = "entered" if self._running else "over"

    _do_give_back = _do_pass_over = _do_fail_to_read = _serve

    def _do_enter(self, throws: bool) -> None:
        if self.hooks:
            self.hooks[0].throws = throws
        self._serve()

    @property
    def _running(self) -> SimulatedThread[Any] | None:
        """The thread that serves the request, while it is paused."""
        running = self.cluster.node().executors["send"].running
        return running[0] if running else None

    def _continue(self) -> None:
        task = self._running
        if task is None:
            raise Deviation("no thread serves the request: the specification says that one does")
        self.scheduler.resume(task)
        self.scheduler.settle()
        self.step = "checked" if self._running else "over"

    def _do_refuse(self) -> None:
        self.broker.settings.broker_permission = READ
        self._continue()
        self.broker.settings.broker_permission = READ | WRITE

    _do_check = _do_miss_topic = _continue

    def _do_delete_topic(self) -> None:
        self.broker.topics.delete(TOPIC)

    def _do_put(self, well: bool) -> None:
        self.broker.store.flags.bits = 0 if well else DISK_FULL
        self._continue()

    # State

    def seen(self) -> Seen:
        pending = _local(self._running, "response") if self.step == "checked" else None
        answer = self.channel.written[0] if self.channel.written else pending
        fields = {} if answer is None else answer.ext_fields or {}
        contexts = [hook.before[0] for hook in self.hooks if hook.before]
        values: Seen = {f"request.{name}": value for name, value in self.asked.items()}
        return values | {
            "request.step": self.step,
            "answer.code": "none" if answer is None else self._word(answer),
            "answer.own": answer is not None and answer.opaque == OPAQUE,
            "answer.ext": {MSG_REGION, TRACE_ON} <= fields.keys(),
            "answer.place": "msgId" in fields,
            "answer.written": min(2, len(self.channel.written)),
            "seen.before": sum(len(hook.before) for hook in self.hooks),
            "seen.stats": (contexts[0].commercial_send_stats if contexts else None) or "none",
            "seen.after": sum(hook.after for hook in self.hooks),
            "stored": self._stored(),
            "topic": self.broker.topics.select(TOPIC) is not None,
        }

    def _word(self, answer: Command) -> str:
        """Return the specification's value for a response. Responses to send-backs are not modelled here."""
        if self.asked["kind"] == "send back":
            return "refused"
        if answer.code == codes.SYSTEM_ERROR:
            return "too early" if (answer.remark or "").startswith(EARLY) else "exception"
        return REFUSALS.get(answer.code, str(answer.code))

    def _stored(self) -> str:
        records: list[Message] = list(self.broker.store.records())
        if not records:
            return "nothing"
        if self.asked["batch"]:
            return "items"
        return "traced" if MSG_REGION in records[0].properties else "plain"


def _local(task: SimulatedThread[Any] | None, name: str) -> Any:
    """Return a local variable of a paused thread, from the innermost function that has it."""
    value, work = None, None if task is None else task.work
    while work is not None:
        frame_ = getattr(work, "cr_frame", None)
        value = value if frame_ is None else frame_.f_locals.get(name, value)
        work = getattr(work, "cr_await", None)
    return value
