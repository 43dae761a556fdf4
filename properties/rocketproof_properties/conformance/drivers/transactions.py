"""Drives a broker by the model of transactions: one message, the copies of its half message, and the check.

A round of the check processes one copy, because the copy that it puts is too young. The producer is a connection that keeps the broker's
requests.
"""

from __future__ import annotations

from rocketproof_impl.broker.transactioncheck import MAX_TIME_TOPIC
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PREPARED
from rocketproof_protocol.groups import CHECK_GROUP
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_spec.transactions import Transactions

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import DrivenBroker, SimulatedBroker
from .delays import TOPIC, goes_to
from .doubles import RecordingChannel

GROUP_OF_PRODUCERS = "producers"
OLD = 10_000  # milliseconds after which a half message may be checked
LEVEL = 18


class TransactionsDriver(ModelDriver):
    """The half queue and the topic of one message.

    `broker`: the driven broker, by default a simulated one.
    """

    def __init__(self, specification: Transactions, instance: Instance, profile: Profile, broker: DrivenBroker | None = None) -> None:
        super().__init__(instance)
        self.s = specification
        self.broker = broker or SimulatedBroker(
            profile, transaction_check_max=specification.checks, reject_transaction_message=self.constants["rejects"]
        )
        self.producer = RecordingChannel()
        if self.constants["connected"]:
            self.broker.connect(self.producer, plain("heartbeat", group=GROUP_OF_PRODUCERS))
        self.sent: Seen = {"place": "none", "tran": "absent", "delayed": False, "answered": -1}
        self.decided = "none"
        self.noted: set[int] = set()  # copies that the producer has ended
        self.asked = 0

    # Actions

    def _send(self, body: str, sys_flag: int = 0, **properties: str) -> Command:
        answer = self.broker.call(plain("send", topic=TOPIC, body=body, sys_flag=sys_flag, properties=properties))
        self.broker.dispatch()
        return answer

    def _do_put_other(self) -> None:
        self._send("other")

    def _do_put_half(self, tran: str, delayed: bool = False, *, prepared: bool = True) -> None:
        """Send the message, and record where it was stored and the response."""
        before = len(self.broker.records())
        properties = (
            {PGROUP: GROUP_OF_PRODUCERS} | ({} if tran == "absent" else {TRAN_MSG: tran}) | ({DELAY: str(LEVEL)} if delayed else {})
        )
        answer = self._send("message", PREPARED if prepared else 0, **properties)
        stored = self.broker.records()[before:]
        place = _place(stored[0]) if stored else "refused" if answer.code == codes.NO_PERMISSION else "none"
        offset = whole_number((answer.ext_fields or {})["queueOffset"]) if stored else -1
        self.sent = {"place": place, "tran": tran, "delayed": delayed, "answered": offset}

    _do_refuse = _do_put_prepared = _do_put_half

    def _do_put_own(self, tran: str) -> None:
        self._do_put_half(tran, prepared=False)

    def _do_commit(self, c: int) -> None:
        self._end(c, "commit")

    def _do_roll_back(self, c: int) -> None:
        self._end(c, "rollback")

    def _end(self, c: int, outcome: str) -> None:
        half = self._copies()[c]
        commits = outcome == "commit"
        self.broker.accepted("end", commit=commits, offset=half.physical_offset, queue_offset=half.queue_offset)
        self.broker.dispatch()
        self.decided = outcome
        self.noted.add(c)

    def _round(self, c: int) -> list[Command]:
        """Run one round of the check when the copy is old enough. Return the requests to the producer."""
        require(self._looked() == c, f"the check is at copy {self._looked()}: the specification looks at {c}")
        self.broker.advance(OLD)
        self.producer.written.clear()
        self.broker.run(lambda broker: broker.transaction_check.check())
        self.broker.dispatch()
        return self.producer.written

    def _do_ask(self, c: int) -> None:
        questions = self._round(c)
        self.asked += 1
        if len(questions) != whole_number(self.constants["connected"]):
            raise Deviation(f"the producer is asked {len(questions)} times: the specification asks it once, if it is there")
        for question in questions:
            self._names_newest_copy(question)

    def _names_newest_copy(self, question: Command) -> None:
        """Check that the request names the place of the newest copy."""
        place = whole_number((question.ext_fields or {})["commitLogOffset"])
        newest = [message for message in self.broker.records() if message.topic in (HALF_TOPIC, SCHEDULE)][-1]
        require(place == newest.physical_offset, f"the producer is asked about {place}: the new copy is at {newest.physical_offset}")

    def _do_pass_over(self, c: int) -> None:
        require(not self._round(c), "the producer is asked about a copy that has ended")

    _do_give_up = _do_pass_over

    def _do_write_operations(self) -> None:
        self.broker.run(lambda broker: broker.operations.write())
        self.broker.dispatch()

    # State

    def _copies(self) -> list[Message]:
        messages = [self.broker.message(HALF_TOPIC, 0, offset) for offset in range(self.broker.max_offset(HALF_TOPIC))]
        return [message for message in messages if message is not None]

    def _looked(self) -> int:
        return self.broker.offset(CHECK_GROUP, HALF_TOPIC) or 0

    def _ended(self) -> set[int]:
        """Return the copies that operation records name."""
        bodies = [message.body or b"" for message in self.broker.records() if message.topic == OP_HALF_TOPIC]
        return {whole_number(number) for body in bodies for number in body.decode().split(",") if number}

    def seen(self) -> Seen:
        records, ended = self.broker.records(), self._ended()
        values: Seen = {f"message.{name}": value for name, value in self.sent.items()}
        values |= {
            "message.topic": TOPIC in self.broker.topics(),
            "message.decided": self.decided,
            "message.given_up": any(goes_to(message) == MAX_TIME_TOPIC for message in records),
            "log.counted": self.broker.next_offset(TOPIC),
            "log.stored": sum(message.topic == TOPIC and message.transaction == COMMIT for message in records),
            "log.written": len(self._copies()),
            "log.scheduled": self.broker.max_offset(SCHEDULE, LEVEL - 1),
            "log.looked": self._looked(),
            "log.asked": self.asked,
        }
        for c in self.s.Copy.codes():
            values["half", c] = "ended" if c in ended else "noted" if c in self.noted else "open"
        return values


def _place(message: Message) -> str:
    """Return where a message has just been stored."""
    if goes_to(message) == HALF_TOPIC:
        return "half"
    return "prepared" if message.transaction == PREPARED else "own"
