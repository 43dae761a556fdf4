"""Transactional messages: half messages on their way in, and their commit or rollback (TRX-01 to TRX-05, request 37)."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE, SLAVE_NOT_AVAILABLE, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import COMMIT, NOT, ROLLBACK, TRANSACTION_BITS
from rocketproof_protocol.properties import (
    PGROUP,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TRAN_MSG,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
)
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC

from ..java import null_pointer, parse_boolean, parse_int
from ..message import Message, properties_text
from ..remoting.command import Command, response_to
from ..remoting.headers import EndTransactionRequestHeader, read
from ..remoting.ports import Channel
from ..store.delay import delay_level
from ..store.result import PutMessageStatus, PutResult
from .answering import SENT, illegal_remark
from .checking import refuse
from .parts import BrokerParts

REMOVE_TAG = "d"  # of an operation record: its half message needs no check any more


# On the way in


def is_transactional(message: Message, profile: Profile) -> bool:
    """Whether a message asks for a transaction: TRAN_MSG is "true" in any case (TRX-01), or is there at all (TRX-02).

    The system flag is not asked: a prepared one without the property is put as it is, and nobody will ever see it (TRX-05,
    HAZ-12). A transaction's message that its consumer sends again to be retried has the property still, and some profiles know it by
    its delay; others make a half message of it (HAZ-47).
    """
    if not profile.half_messages:
        return TRAN_MSG in message.properties
    if not parse_boolean(message.properties.get(TRAN_MSG)):
        return False
    return not (profile.retries_are_ordinary and message.reconsume_times > 0 and delay_level(message) > 0)


def prepare(message: Message, *, trailing: bool, named: bool = False) -> None:
    """Make it a half message: another topic, the real one kept as properties, no transaction bits, so that the half queue
    counts it (TRX-04). `named`: the client's id of the message is that of the transaction too.

    WAIT is in the stored text again. A delay level still counts: the store puts REAL_TOPIC over, and the topic that was meant
    is lost (HAZ-39).
    """
    if named and message.properties.get(UNIQ_KEY):
        message.properties[TRANSACTION_ID] = message.properties[UNIQ_KEY]
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QID] = str(message.queue_id)
    message.sys_flag = message.sys_flag & ~TRANSACTION_BITS | NOT
    message.topic, message.queue_id = HALF_TOPIC, 0
    message.properties_text = properties_text(message.properties, trailing=trailing)


# On the way out


class EndTransactionProcessor:
    """Request 37. The half message stays; what it is removed with is an operation record, so a second commit puts the message
    a second time. `note` remembers that one is done with, where operations are gathered."""

    __slots__ = ("_broker", "_note")

    def __init__(self, broker: BrokerParts, note: Callable[[Message], None]) -> None:
        self._broker = broker
        self._note = note

    async def process(self, _: Channel, request: Command) -> Command | None:
        """Commit or roll back; nothing is answered to a transaction whose outcome is not known. Raises JavaError."""
        response = response_to(request)
        header = read(EndTransactionRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if self._broker.settings.broker_role == "SLAVE":
            response.code = SLAVE_NOT_AVAILABLE
            return response
        if header.commit_or_rollback == NOT:
            return None
        half = self._broker.store.look_message_by_offset(header.commit_log_offset)
        if half is None:
            refuse(response, SYSTEM_ERROR, "Find prepared transaction message failed")
            return response
        problem = check_prepare_message(half, header)
        if problem is not None:
            refuse(response, SYSTEM_ERROR, problem)
            return response
        response.code = SUCCESS
        if header.commit_or_rollback == COMMIT:
            await self._commit(half, header, response)
        elif header.commit_or_rollback == ROLLBACK:
            await self._delete(half)
        return response

    async def _commit(self, half: Message, header: EndTransactionRequestHeader, response: Command) -> None:
        """Put the real message; only if it is in the log, remove the half one."""
        profile = self._broker.profile
        message = committed(half, header, profile)
        result = await self._broker.store.put_message(message)
        response.code, response.remark = final_answer(result, profile, self._broker.settings.max_message_size)
        if response.code == SUCCESS:
            await self._delete(half)

    async def _delete(self, half: Message) -> None:
        """Put the operation record; what becomes of it changes no answer. Some profiles leave that for later."""
        broker = self._broker
        if broker.profile.gathers_operations:
            self._note(half)
            return
        await broker.store.put_message(operation(half, broker.clock.now(), broker.store_host, trailing=broker.profile.ends_properties))


def check_prepare_message(half: Message, header: EndTransactionRequestHeader) -> str | None:
    """What does not fit the half message that was found: group, offset in the half queue, offset in the log."""
    group = half.properties.get(PGROUP)
    if group is None:
        raise null_pointer()
    if group != header.producer_group:
        return "The producer group wrong"
    if half.queue_offset != header.tran_state_table_offset:
        return "The transaction state table offset wrong"
    if half.physical_offset != header.commit_log_offset:
        return "The commit log offset wrong"
    return None


def committed(half: Message, header: EndTransactionRequestHeader, profile: Profile) -> Message:
    """The message that consumers will see, with a pointer to its half message.

    The stored text is made before TRAN_MSG leaves the map, and so keeps it; REAL_TOPIC and REAL_QID, too, in most profiles. What waits is
    written again, from the map. Raises JavaError if the half message does not name its topic and queue.
    """
    topic, queue_id = half.properties.get(REAL_TOPIC), half.properties.get(REAL_QID)
    if topic is None or queue_id is None:
        raise null_pointer()
    properties = dict(half.properties)
    place = () if profile.commit_keeps_place else (REAL_TOPIC, REAL_QID)
    stored = {name: value for name, value in properties.items() if name not in place}
    message = Message(
        topic,
        parse_int(queue_id),
        half.body,
        half.flag,
        properties,
        properties_text(stored, trailing=profile.ends_properties),
        half.sys_flag & ~TRANSACTION_BITS | header.commit_or_rollback,
        half.born_timestamp,
        half.born_host,
        half.store_host,
        half.reconsume_times,
        prepared_transaction_offset=header.commit_log_offset,
    )
    for name in (REAL_TOPIC, REAL_QID, *(() if profile.commit_keeps_mark else (TRAN_MSG,))):
        del message.properties[name]
    return message


def operation(half: Message, now: int, host: tuple[str, int], *, trailing: bool) -> Message:
    """The record that ends a half message: in the operation topic's queue of the same number, its body the offset in the half
    queue."""
    return operation_record(half.queue_id, str(half.queue_offset), now, host, trailing=trailing)


def operation_record(queue_id: int, body: str, now: int, host: tuple[str, int], *, trailing: bool) -> Message:
    """The stored text has WAIT, but nobody waits."""
    text = properties_text({WAIT: "true", TAGS: REMOVE_TAG}, trailing=trailing)
    properties = {WAIT: "false", TAGS: REMOVE_TAG}
    return Message(OP_HALF_TOPIC, queue_id, body.encode(), 0, properties, text, 0, now, host, host)


def final_answer(result: PutResult | None, profile: Profile, max_message_size: int) -> tuple[int, str | None]:
    """Code and remark for the put of a committed message: in the log is in the log."""
    if result is None:
        return SYSTEM_ERROR, "store putMessage return null"
    if result.status in SENT:
        return SUCCESS, None
    if result.status is PutMessageStatus.CREATE_MAPEDFILE_FAILED:
        return SYSTEM_ERROR, "Create mapped file failed."
    if result.status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
        return MESSAGE_ILLEGAL, f"The {illegal_remark(profile, max_message_size)}"
    if result.status is PutMessageStatus.SERVICE_NOT_AVAILABLE:
        return SERVICE_NOT_AVAILABLE, "Service not available now."
    if result.status is PutMessageStatus.OS_PAGECACHE_BUSY:
        return SYSTEM_ERROR, "OS page cache busy, please try another machine"
    if result.status is PutMessageStatus.UNKNOWN_ERROR:
        return SYSTEM_ERROR, "UNKNOWN_ERROR"
    return SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT"
