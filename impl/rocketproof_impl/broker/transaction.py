"""Transactional messages: how half messages are stored, and their commit or rollback (TRX-01 to TRX-05, request 37)."""

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

REMOVE_TAG = "d"  # the tag of an operation record, which ends its half message


# Prepare


def is_transactional(message: Message, profile: Profile) -> bool:
    """Return whether a message asks for a transaction: TRAN_MSG is "true" in any case (TRX-01), or is present (TRX-02).

    The system flag is not checked: a prepared message without the property is stored unchanged and never becomes visible (TRX-05, HAZ-12).
    A committed message that is retried still has the property. Some profiles recognise it by its delay; others make it a half message
    (HAZ-47).
    """
    if not profile.half_messages:
        return TRAN_MSG in message.properties
    if not parse_boolean(message.properties.get(TRAN_MSG)):
        return False
    return not (profile.retries_are_ordinary and message.reconsume_times > 0 and delay_level(message) > 0)


def prepare(message: Message, *, trailing: bool, named: bool = False) -> None:
    """Make the message a half message (TRX-04). Its topic becomes the half topic, and the real topic and queue become properties.

    Its transaction bits are cleared, so that the half queue counts it. With `named`, the client's message id is also the transaction id.
    WAIT is in the stored text again. A delay level remains effective: the store then overwrites REAL_TOPIC, and the real topic is lost
    (HAZ-39).
    """
    if named and message.properties.get(UNIQ_KEY):
        message.properties[TRANSACTION_ID] = message.properties[UNIQ_KEY]
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QID] = str(message.queue_id)
    message.sys_flag = message.sys_flag & ~TRANSACTION_BITS | NOT
    message.topic, message.queue_id = HALF_TOPIC, 0
    message.properties_text = properties_text(message.properties, trailing=trailing)


# Commit and rollback


class EndTransactionProcessor:
    """Serves request 37. The half message remains and is ended by an operation record, so a second commit puts the message again.

    `note` records an ended half message in profiles that gather operations.
    """

    __slots__ = ("_broker", "_note")

    def __init__(self, broker: BrokerParts, note: Callable[[Message], None]) -> None:
        self._broker = broker
        self._note = note

    async def process(self, _: Channel, request: Command) -> Command | None:
        """Commit or roll back. An unknown outcome gets no response. Raises JavaError."""
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
        """Put the real message. If it is in the log, end the half message."""
        profile = self._broker.profile
        message = committed(half, header, profile)
        result = await self._broker.store.put_message(message)
        response.code, response.remark = final_answer(result, profile, self._broker.settings.max_message_size)
        if response.code == SUCCESS:
            await self._delete(half)

    async def _delete(self, half: Message) -> None:
        """Put the operation record; its result is ignored. Some profiles gather operations instead."""
        broker = self._broker
        if broker.profile.gathers_operations:
            self._note(half)
            return
        await broker.store.put_message(operation(half, broker.clock.now(), broker.store_host, trailing=broker.profile.ends_properties))


def check_prepare_message(half: Message, header: EndTransactionRequestHeader) -> str | None:
    """Return the remark for a half message that does not match the request in group, half queue offset or log offset, or None."""
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
    """Return the message visible to consumers, with a pointer to its half message.

    The stored text is created before TRAN_MSG is removed from the map, and so contains it. In most profiles it also contains REAL_TOPIC and
    REAL_QID. The text of a delayed message is created again from the map. Raises JavaError if the half message lacks its topic or queue.
    """
    topic, queue_id = half.properties.get(REAL_TOPIC), half.properties.get(REAL_QID)
    if topic is None or queue_id is None:
        raise null_pointer()
    properties = dict(half.properties)
    dropped = () if profile.commit_keeps_place else (REAL_TOPIC, REAL_QID)
    stored = {name: value for name, value in properties.items() if name not in dropped}
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
    """Return the record that ends a half message: in the operation queue of the same number, with the half queue offset as its body."""
    return operation_record(half.queue_id, str(half.queue_offset), now, host, trailing=trailing)


def operation_record(queue_id: int, body: str, now: int, host: tuple[str, int], *, trailing: bool) -> Message:
    """Return an operation record. Its stored text contains WAIT, but its put does not wait."""
    text = properties_text({WAIT: "true", TAGS: REMOVE_TAG}, trailing=trailing)
    properties = {WAIT: "false", TAGS: REMOVE_TAG}
    return Message(OP_HALF_TOPIC, queue_id, body.encode(), 0, properties, text, 0, now, host, host)


def final_answer(result: PutResult | None, profile: Profile, max_message_size: int) -> tuple[int, str | None]:
    """Return code and remark for the put of a committed message: SUCCESS if it is in the log."""
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
