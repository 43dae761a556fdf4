"""Mutants of a broker's processing of a send request: checks, queue, properties, transactions, statistics."""

from __future__ import annotations

from typing import Any

from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_protocol.codes import SYSTEM_BUSY

from ..patch import Patch, Text, ValuePatch, switched

_BROKER = "rocketproof_impl.broker"
_CHECKING, _SENDING, _ANSWERING = f"{_BROKER}.checking", f"{_BROKER}.sending", f"{_BROKER}.answering"
_ILLEGAL_QUEUE = f"{_CHECKING}:is_queue_id_illegal"
_QUEUE_ID, _RANDOM = f"{_BROKER}.queue_id:queue_id_of", f"{_BROKER}.queue_id:random_queue_id"
_BY_BROKER, _BY_NAME, _NAME = f"{_CHECKING}:forbidden_by_broker", f"{_CHECKING}:forbidden_by_name", "rocketproof_impl.names:topic_problem"
_PRE_SEND, _MSG_CHECK, _CREATE = f"{_CHECKING}:pre_send", f"{_CHECKING}:msg_check", f"{_CHECKING}:create_topic"
_RESULT, _FAILURE = f"{_ANSWERING}:handle_put_message_result", f"{_ANSWERING}:failure"
_TRANSACTIONAL = f"{_BROKER}.transaction:is_transactional"

_WITHOUT_TEMPLATE = "create_topic_in_send_message_back(topic, RETRY_TOPIC_QUEUE_NUMS, READ | WRITE, sys_flag)"
_FROM_TEMPLATE = "create_topic_in_send_message(topic, header.default_topic, remote, nums, sys_flag)"
_GROUPS_NUMS = 'getattr(broker.groups.table.get(topic[len(RETRY_PREFIX) :]), "retry_queue_nums", RETRY_TOPIC_QUEUE_NUMS)'


def _exchanged(table: dict[Any, Any], first: Any, second: Any) -> dict[Any, Any]:
    return table | {first: table[second], second: table[first]}


PATCHES: dict[str, Patch] = {
    # The queue
    "M-01": [Text(_ILLEGAL_QUEUE, "queue_id >= max", "queue_id > max")],
    "M-02": [Text(_ILLEGAL_QUEUE, "max(config.write_queue_nums, config.read_queue_nums)", "config.write_queue_nums")],
    "M-03": [Text(_ILLEGAL_QUEUE, "max(", "min(")],
    "M-04": [Text(_ILLEGAL_QUEUE, "return queue_id >=", "return queue_id < 0 or queue_id >=")],
    "M-05a": [Text(_QUEUE_ID, "random, config.write_queue_nums", "random, config.read_queue_nums")],
    "M-05b": [Text(_QUEUE_ID, "random, config.write_queue_nums", "random, max(config.read_queue_nums, config.write_queue_nums)")],
    "M-06": [Text(_RANDOM, "absolute(remainder(random.int32(), RANDOM_MODULUS))", "absolute(random.int32())")],
    "M-07": [Text(_RANDOM, "remainder(random.int32(), RANDOM_MODULUS)", "random.int32() % RANDOM_MODULUS")],
    # The checks
    "M-08": [Text(_BY_BROKER, "writable and broker", "writable or broker")],
    "M-09": [Text(_BY_BROKER, " and broker.topics.is_order_topic(topic)", "")],
    "M-10": [
        Text(
            _MSG_CHECK,
            "forbidden_by_broker(broker, topic) or forbidden_by_name(topic, broker.profile)",
            "forbidden_by_name(topic, broker.profile) or forbidden_by_broker(broker, topic)",
        )
    ],
    "M-11": [Text(_PRE_SEND, "now() < starts", "now() <= starts")],
    "M-12": [
        Text(_PRE_SEND, "response.code = UNDECIDED\nawait msg_check(broker, channel, header, response)\n", ""),
        Text(
            _PRE_SEND,
            "if broker.clock.now() < starts:",
            "response.code = UNDECIDED\n"
            "await msg_check(broker, channel, header, response)\n"
            "if response.code == UNDECIDED and broker.clock.now() < starts:",
        ),
    ],
    "M-13": [
        Text(
            f"{_CHECKING}:refuse",
            "response.code, response.remark = code, remark",
            "response.code, response.remark, response.ext_fields = code, remark, None",
        )
    ],
    "M-14a": [Text(_NAME, "length(topic) > profile", "length(topic) - 1 > profile")],
    "M-14b": [Text(_NAME, "length(topic) > profile", "length(topic) >= profile")],
    "M-15a": [Text(_NAME, "LEGAL.fullmatch(topic)", "LEGAL.search(topic)")],
    "M-15b": [Text(_NAME, "LEGAL.fullmatch(topic)", r'LEGAL.fullmatch(topic.removesuffix("\n"))')],
    "M-16": [Text(_NAME, "LEGAL.fullmatch(topic)", '(all(c.isalnum() or c in "%|_-" for c in topic) or None)')],
    "M-17": [Text(_BY_NAME, "and topic in profile.forbidden", "and (topic == profile.template or topic in profile.forbidden)")],
    "M-18": [Text(_BY_NAME, "wrong = NO_PERMISSION", "wrong = SYSTEM_ERROR")],
    "M-19": [Text(f"{_CHECKING}:topic_sys_flag", "UNIT_SUB if topic", "UNIT_SUB if not topic")],
    "M-20": [
        Text(
            _CREATE,
            f"config = await broker.topics.{_FROM_TEMPLATE}",
            "config = None\n"
            "if topic.startswith(RETRY_PREFIX):\n"
            f"    config = await broker.topics.{_WITHOUT_TEMPLATE}\n"
            "if config is None:\n"
            f"    config = await broker.topics.{_FROM_TEMPLATE}",
        )
    ],
    "M-21": [Text(_CREATE, "if topic.startswith(RETRY_PREFIX):", "if True:")],
    "M-22": [Text(_CREATE, "RETRY_TOPIC_QUEUE_NUMS", _GROUPS_NUMS)],
    "M-23": [Text(_MSG_CHECK, "TOPIC_NOT_EXIST", "SYSTEM_ERROR")],
    # The answer
    "M-62a": [
        Text(
            _RESULT,
            "code = SENT.get(result.status)",
            "code = SYSTEM_ERROR if result.status is PutMessageStatus.FLUSH_DISK_TIMEOUT else SENT.get(result.status)",
        )
    ],
    "M-62b": [
        Text(
            _RESULT,
            "code = SENT.get(result.status)",
            "code = None if result.status is PutMessageStatus.FLUSH_DISK_TIMEOUT else SENT.get(result.status)",
        ),
        Text(
            _FAILURE,
            "status_of = PutMessageStatus",
            "status_of = PutMessageStatus\nif status is status_of.FLUSH_DISK_TIMEOUT:\n    return FLUSH_DISK_TIMEOUT, None",
        ),
    ],
    "M-63": [
        ValuePatch(
            f"{_ANSWERING}:SENT",
            lambda sent: _exchanged(sent, PutMessageStatus.FLUSH_SLAVE_TIMEOUT, PutMessageStatus.SLAVE_NOT_AVAILABLE),
        )
    ],
    "M-64": [
        Text(_FAILURE, "status in (status_of.MESSAGE_ILLEGAL, status_of.PROPERTIES_SIZE_EXCEEDED)", "status is status_of.MESSAGE_ILLEGAL")
    ],
    "M-65": [Text(_FAILURE, 'SYSTEM_ERROR, "[PC_', f'{SYSTEM_BUSY}, "[PC_')],
    "M-66": [Text(_RESULT, "return None", "return response")],
    "M-67": [Text(f"{_ANSWERING}:do_response", "if not request.is_one_way:", "if True:")],
    "M-68": [
        Text(_RESULT, "fill_success(response, code, append, sent.queue_id,", "fill_success(response, code, append, sent.message.queue_id,")
    ],
    "M-69": [
        Text(
            f"{_SENDING}:send_message",
            "result = await broker.store.put_message(message)",
            "result = await broker.store.put_message(message)\nmessage.topic = header.topic",
        )
    ],
    "M-70": [Text(f"{_ANSWERING}:count_sent", "message.topic == SCHEDULE and ", "")],
    "M-71": [
        Text(
            _RESULT,
            "note_failure(context, sent.request)",
            "note_failure(context, sent.request)\ncontext.commercial_send_times *= broker.settings.commercial_base_count",
        )
    ],
    "M-72": [Text(f"{_BROKER}.hooks:counts", "-(-size // SIZE_PER_COUNT)", "size // SIZE_PER_COUNT")],
    # Transactions and what is stored
    "M-73a": [Text(_TRANSACTIONAL, "parse_boolean(message.properties.get(TRAN_MSG))", 'message.properties.get(TRAN_MSG) == "true"')],
    "M-73b": [Text(_TRANSACTIONAL, "parse_boolean(message.properties.get(TRAN_MSG))", "bool(message.properties.get(TRAN_MSG))")],
    "M-74": [
        Text(
            _MSG_CHECK,
            "if config is None:\n    config = await create_topic(broker, channel, header)",
            "if config is None:\n"
            "    from ..message import parse_properties\n"
            "    from .transaction import is_transactional\n"
            "    properties = parse_properties(header.properties, exact=broker.profile.exact_properties)\n"
            "    if broker.settings.reject_transaction_message and is_transactional(properties, broker.profile):\n"
            "        from .sending import transaction_is_forbidden\n"
            "        refuse(response, NO_PERMISSION, transaction_is_forbidden(broker.settings))\n"
            "        return\n"
            "    config = await create_topic(broker, channel, header)",
        )
    ],
    "M-75": [Text(f"{_BROKER}.transaction:prepare", "message.sys_flag = message.sys_flag & ~TRANSACTION_BITS | NOT\n", "")],
    "M-76a": [Text(f"{_SENDING}:stored_properties", "properties.pop(WAIT, None)", "properties.get(WAIT)")],
    "M-76b": [Text(f"{_SENDING}:stored_properties", "properties[WAIT] = wait", "pass")],
    "M-77": [Text("rocketproof_impl.message:Message.waits", "text is None or java", "text is not None and java")],
    **switched("M-163", f"{_BROKER}.transaction:committed", "profile.commit_keeps_mark"),
}
