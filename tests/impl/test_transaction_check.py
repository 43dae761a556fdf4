"""The broker asks producers for the outcome of their transactions, as a real 4.9.4 does."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from sending import FakeChannel, Stand
from simulated import present

from rocketproof_impl.broker.transactioncheck import first_open
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.store import record
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.flags import BORN_IPV6, HOSTS_IPV6, READ, STORE_IPV6, WRITE
from rocketproof_protocol.groups import CHECK_GROUP
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC

COMMIT, ROLLBACK = 8, 12
TRANSACTION = {"TRAN_MSG": "true", "PGROUP": "pg"}


class Checked(Stand):
    """A broker that dispatches at once, and a producer of the group pg on its own connection."""

    def __init__(self, profile: str = "P494", **settings: Any) -> None:
        super().__init__(profile, **settings)
        self.producer = FakeChannel()
        self.broker.receive(self.producer, Command(34, None, b'{"clientID":"p","producerDataSet":[{"groupName":"pg"}]}'))
        self.scheduler.settle()
        self.producer.written.clear()

    def half(self, body: bytes = b"t", born: int = 0, **properties: str) -> dict[str, str]:
        """Send a half message, born this many milliseconds from now; return the answer's fields. Advance the clock by 10 seconds."""
        fields = {"sys_flag": 4, "flag": 7, "queue_id": 2, "born_timestamp": self.clock.now() + born}
        answer = self.send(body=body, properties=TRANSACTION | {"UNIQ_KEY": body.decode()} | properties, **fields)
        assert answer.code == 0 and answer.ext_fields is not None
        return answer.ext_fields

    def end(self, outcome: int, half: Message) -> None:
        fields = {"producerGroup": "pg", "msgId": "m", "tranStateTableOffset": half.queue_offset}
        assert self.call(37, None, **fields, commitLogOffset=half.physical_offset, commitOrRollback=outcome).code == 0

    def round(self) -> list[Command]:
        """Run one round, a second later; return the requests to the producer."""
        self.scheduler.advance(1000)
        self.broker.store.dispatch()
        self.producer.written.clear()
        self.scheduler.complete(self.broker.transaction_check.check())
        self.broker.store.dispatch()
        return self.producer.written

    def halves(self) -> list[Message]:
        return [message for message in self.stored() if message.topic == HALF_TOPIC]

    def offsets(self) -> tuple[int | None, int | None]:
        """Return the offsets of the half queue and the operation queue."""
        query = self.broker.offsets.query
        return query(CHECK_GROUP, HALF_TOPIC, 0), query(CHECK_GROUP, OP_HALF_TOPIC, 0)


def known(request: Command) -> Message:
    return present(record.decode(request.body or b"", exact=False))


@pytest.fixture
def stand() -> Checked:
    return Checked()


def test_old_half_message_is_copied_and_its_producer_asked(stand: Checked) -> None:
    stand.half()
    (asked,) = stand.round()
    first, again = stand.halves()
    assert (asked.code, asked.flag, asked.ext_fields) == (
        39,
        ONE_WAY,
        {
            "tranStateTableOffset": "1",
            "commitLogOffset": str(again.physical_offset),
            "offsetMsgId": again.msg_id,
            "msgId": "t",
            "transactionId": "t",
        },
    )
    assert again.properties == first.properties | {"TRANSACTION_CHECK_TIMES": "1"}
    assert (again.body, again.born_timestamp, again.store_host, again.queue_offset) == (b"t", first.born_timestamp, first.store_host, 1)
    message = known(asked)
    assert (message.topic, message.queue_id, message.flag, message.queue_offset) == ("T", 2, 7, 1)
    assert message.properties == again.properties | {"WAIT": "false"}
    assert stand.offsets() == (1, None)


def test_check_loses_the_messages_flag(stand: Checked) -> None:
    stand.half()
    stand.round()
    first, again = stand.halves()
    assert (first.flag, again.flag) == (7, 0)
    stand.end(COMMIT, again)
    assert next(message for message in stand.stored() if message.topic == "T").flag == 0


def test_copied_half_message_keeps_its_compression(stand: Checked) -> None:
    born = stand.clock.now() - 10_000
    stand.send(body=zlib.compress(b"t"), properties=TRANSACTION, sys_flag=5, born_timestamp=born)
    stand.round()
    assert [half.sys_flag & 1 for half in stand.halves()] == [1, 1]


def test_half_message_with_a_known_outcome_is_skipped(stand: Checked) -> None:
    for body in (b"a", b"b", b"c"):
        stand.half(body)
    a, b, c = stand.halves()
    stand.end(ROLLBACK, b)
    stand.end(COMMIT, a)
    (asked,) = stand.round()
    assert known(asked).body == b"c"
    assert stand.offsets() == (3, 2)
    stand.end(COMMIT, stand.halves()[-1])
    assert stand.round() == []
    assert stand.offsets() == (4, 3)
    assert c.queue_offset == 2


def test_an_operation_record_waits_for_its_half_message(stand: Checked) -> None:
    """It is needed until the round reaches its half message, which follows a message that is too young."""
    stand.half(b"a")
    stand.half(b"b")
    stand.end(COMMIT, stand.halves()[1])
    stand.broker.offsets.commit(CHECK_GROUP, OP_HALF_TOPIC, 0, 0)
    assert stand.clock.now() - stand.halves()[0].born_timestamp == 30_000
    stand.settings.transaction_time_out = 40_000
    assert stand.round() == []
    assert stand.offsets() == (None, 0)
    stand.scheduler.advance(10_000)
    assert [known(asked).body for asked in stand.round()] == [b"a"]
    assert stand.offsets() == (2, 1)


def test_a_young_half_message_ends_the_round() -> None:
    stand = Checked(transaction_time_out=15_000)
    stand.half(b"old")
    stand.half(b"young")
    assert [known(asked).body for asked in stand.round()] == [b"old"]
    assert stand.offsets() == (1, None)
    stand.scheduler.advance(5001)
    assert [known(asked).body for asked in stand.round()] == [b"young", b"old"]


def test_check_is_repeated_up_to_the_maximum() -> None:
    stand = Checked(transaction_check_max=3)
    stand.half()
    for times in ("1", "2", "3"):
        (asked,) = stand.round()
        assert known(asked).properties["TRANSACTION_CHECK_TIMES"] == times
    assert stand.round() == []
    given_up = stand.last()
    assert (given_up.topic, given_up.queue_id, given_up.body) == ("TRANS_CHECK_MAX_TIME_TOPIC", 0, b"t")
    assert stand.broker.topics.table["TRANS_CHECK_MAX_TIME_TOPIC"].write_queue_nums == 1
    count = len(stand.stored())
    assert stand.round() == []
    assert len(stand.stored()) == count
    assert stand.offsets() == (4, None)


def test_message_older_than_the_retention_is_dropped() -> None:
    stand = Checked(file_reserved_time=1)
    stand.half(born=-3_600_000)
    assert stand.round() == []
    assert (stand.last().topic, stand.last().flag) == ("TRANS_CHECK_MAX_TIME_TOPIC", 7)


def test_message_can_postpone_its_check(stand: Checked) -> None:
    """During that time it moves to the end of the queue and remembers its first position.

    A commit in the meantime is not detected: its operation record has an offset that the round has already passed.
    """
    stand.half(CHECK_IMMUNITY_TIME_IN_SECONDS="30")
    for count in (2, 3):
        assert stand.round() == []
        assert len(stand.halves()) == count
        again = stand.halves()[-1]
        assert (again.properties["TRAN_PREPARED_QUEUE_OFFSET"], again.properties["WAIT"]) == ("0", "false")
    stand.end(COMMIT, stand.halves()[0])
    stand.scheduler.advance(30_000)
    assert len(stand.round()) == 1


def test_copy_is_done_with_its_original_message(stand: Checked) -> None:
    """This uses up the operation record of the original, so the original is checked if it is reached later."""
    stand.half(b"copy", CHECK_IMMUNITY_TIME_IN_SECONDS="60", TRAN_PREPARED_QUEUE_OFFSET="1")
    stand.half(b"first")
    stand.end(COMMIT, stand.halves()[1])
    assert [known(asked).body for asked in stand.round()] == [b"first"]
    assert (len(stand.halves()), stand.offsets()) == (3, (2, 1))


IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"


@pytest.mark.parametrize(("born", "properties"), [(0, {IMMUNITY: "x"}), (0, {IMMUNITY: "-1"}), (100_000, {})])
def test_invalid_check_time_is_the_default(stand: Checked, born: int, properties: dict[str, str]) -> None:
    stand.half(born=born, **properties)
    assert len(stand.round()) == 1


def test_without_a_producer_no_check_is_sent(stand: Checked) -> None:
    stand.half()
    stand.broker.channel_closed(stand.producer)
    assert stand.round() == []
    assert len(stand.halves()) == 2


def test_without_a_producer_the_round_continues(stand: Checked) -> None:
    for body in (b"a", b"b"):
        stand.half(body)
    stand.broker.channel_closed(stand.producer)
    assert stand.round() == []
    assert [half.body for half in stand.halves()] == [b"a", b"b", b"a", b"b"]
    assert stand.offsets() == (2, None)


def test_message_without_its_topic_is_not_checked(stand: Checked) -> None:
    message = Message(HALF_TOPIC, body=b"x", properties_text="PGROUP\x01pg\x02")
    stand.scheduler.complete(stand.broker.store.put_message(message))
    assert stand.round() == []
    assert stand.offsets() == (1, None)


def test_unavailable_store_ends_the_round_after_a_minute(stand: Checked) -> None:
    stand.half()
    stand.put_gives(PutResult(PutMessageStatus.SERVICE_NOT_AVAILABLE))
    began = stand.clock.now()
    assert stand.round() == []
    assert 60_000 < stand.clock.now() - began < 62_000
    assert stand.offsets() == (None, None)


def test_round_creates_the_half_topic_with_one_queue(stand: Checked) -> None:
    assert HALF_TOPIC not in stand.known()
    assert stand.round() == []
    assert stand.broker.topics.table[HALF_TOPIC] == TopicConfig(HALF_TOPIC, 1, 1, READ | WRITE, topic_sys_flag=0)


def test_other_records_in_the_operation_queue_are_skipped(stand: Checked) -> None:
    for text, body in (("TAGS\x01x", b"0"), ("TAGS\x01d", b"nonsense")):
        message = Message(OP_HALF_TOPIC, body=body, properties_text=text)
        stand.scheduler.complete(stand.broker.store.put_message(message))
    stand.half()
    stand.round()
    assert len(stand.producer.written) == 1


def test_many_operation_records_are_read_in_batches(stand: Checked) -> None:
    for number in range(70):
        stand.half(str(number).encode())
    for half in stand.halves():
        stand.end(ROLLBACK, half)
    stand.half(b"last")
    (asked,) = stand.round()
    assert known(asked).body == b"last"
    assert stand.offsets() == (71, 70)


def test_offset_before_the_queue_is_corrected(stand: Checked) -> None:
    stand.half()
    stand.broker.offsets.commit(CHECK_GROUP, HALF_TOPIC, 0, 50)
    assert stand.round() == []
    assert stand.offsets()[0] == 1


def test_a_store_that_is_shut_down_ends_the_round(stand: Checked) -> None:
    stand.half()
    stand.broker.store.shutdown = True
    assert stand.round() == []


def test_service_runs_its_rounds() -> None:
    stand = Checked(transaction_check_interval=1000)
    (service,) = stand.broker.services()
    stand.scheduler.spawn(service.run(), service.name)
    stand.half()
    stand.broker.store.dispatch()
    stand.scheduler.advance(1000)
    assert len(stand.producer.written) == 1
    service.stop()
    stand.scheduler.settle()
    assert service.ended.done


def test_brokers_that_do_not_check() -> None:
    assert Stand("P40").broker.services() == ()
    assert Stand("P494", broker_role="SLAVE").broker.services() == ()


def test_first_unfinished_offset() -> None:
    assert first_open({3, 4, 6}, 3) == 5
    assert first_open({4}, 3) == 3


@pytest.mark.parametrize("profile", ["P440", "P452", "P45"])
@pytest.mark.parametrize("flags", [BORN_IPV6, STORE_IPV6, HOSTS_IPV6])
def test_release_without_ipv6_checks_messages_with_an_ipv6_flag(profile: str, flags: int) -> None:
    stand = Checked(profile)
    stand.send(body=b"t", properties=TRANSACTION | {"UNIQ_KEY": "t"}, sys_flag=4 | flags, born_timestamp=stand.clock.now())
    (asked,) = stand.round()
    message = present(record.decode(asked.body or b"", exact=False, hosts_by_flag=False))
    assert (message.topic, message.body, message.sys_flag & flags) == ("T", b"t", flags)


def test_producer_is_asked_about_an_ipv6_clients_half_message() -> None:
    stand = Checked("P494")
    stand.channel.remote = ("2001:0db8:0000:0000:0000:0000:0000:0001", 50001)
    stand.half()
    (asked,) = stand.round()
    assert known(asked).born_host == stand.channel.remote
