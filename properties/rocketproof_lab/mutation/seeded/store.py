"""Mutants of the message store: queue offsets, the ends of files, records, limits, delays, and rejected writes."""

from __future__ import annotations

from struct import Struct

from rocketproof_protocol.flags import COMPRESSED, PREPARED

from ..patch import Patch, Text, ValuePatch, switched

_STORE = "rocketproof_impl.store"
_LOG, _RECORD = f"{_STORE}.commitlog:CommitLog", f"{_STORE}.record"
_APPEND, _PUT, _EXCEEDED = f"{_LOG}._append_message", f"{_LOG}.message", f"{_LOG}._exceeded"
_ENCODE, _OPEN = f"{_RECORD}:encode", f"{_RECORD}:_open"
_SCHEDULE = f"{_STORE}.delay:to_schedule_topic"
_SERVICE = f"{_STORE}.service:MessageStore"
_DURABILITY = f"{_STORE}.flush:Durability"
_GROUP, _REAL_TIME = f"{_STORE}.flushing:GroupCommitService", f"{_STORE}.flushing:FlushRealTimeService"

_COUNT = "self.topic_queue_table[key] = wrap_long(queue_offset + 1)"
_NO_ROOM = (
    "if parts.size + BLANK_SIZE > mapped.size - position:\n"
    "    return self._end_of_file(mapped, message, queue_offset, self._message_id(message, wrote_offset))\n"
)
_CRC = "record.body_crc(message.body)"
_KEEP_TOPIC = "message.properties[REAL_TOPIC] = message.topic"

PATCHES: dict[str, Patch] = {
    # Queue offsets
    "M-78": [Text(_APPEND, f"if counted:\n    {_COUNT}", "self.topic_queue_table[key] += 1")],
    "M-79": [Text(_APPEND, "if counted:", "if message.transaction == NOT:")],
    "M-80": [Text(_APPEND, "queue_offset = 0", "pass")],
    "M-81": [
        Text(
            _APPEND,
            "return self._end_of_file(",
            "if counted:\n    self.topic_queue_table[key] = queue_offset + 1\nreturn self._end_of_file(",
        )
    ],
    # The ends of files
    "M-82": [
        Text(_APPEND, _NO_ROOM, ""),
        Text(
            _APPEND,
            "mapped.write(position, record.encode(message, parts))",
            "data, left = record.encode(message, parts), mapped.size - position\n"
            "mapped.write(position, data[:left])\n"
            "if len(data) > left:\n"
            "    mapped.wrote_position = mapped.size\n"
            "    mapped = self.files.last_or_next()\n"
            "    mapped.write(0, data[left:])\n"
            "    mapped.wrote_position = -left  # the size of the whole record is added below",
        ),
    ],
    "M-83a": [Text(_APPEND, "parts.size + BLANK_SIZE > mapped.size", "parts.size + BLANK_SIZE >= mapped.size")],
    "M-83b": [Text(_APPEND, "parts.size + BLANK_SIZE > mapped.size", "parts.size > mapped.size")],
    "M-84": [Text(f"{_LOG}._end_of_file", "where,\nleft,", "where,\nBLANK_SIZE,")],
    # Records
    "M-85a": [
        Text(
            f"{_RECORD}:body_crc",
            "zlib.crc32(body) & 0x7FFFFFFF",
            'int.from_bytes(zlib.crc32(body).to_bytes(4, "big"), "big", signed=True)',
        )
    ],
    "M-85b": [Text(_PUT, _CRC, 'record.body_crc((message.body or b"") + (message.properties_text or "").encode())')],
    "M-85c": [
        Text(
            _PUT,
            f"message.body_crc = {_CRC}",
            "import zlib\n"
            f"compressed = message.body is not None and message.sys_flag & {COMPRESSED}\n"
            "message.body_crc = record.body_crc(zlib.decompress(message.body) if compressed else message.body)",
        )
    ],
    "M-86": [ValuePatch(f"{_RECORD}:_FIXED", lambda fixed: Struct(fixed.format.replace(">", "<")))],
    "M-87": [
        Text(
            _ENCODE,
            "born_host,\nmessage.store_timestamp,\nstore_host,",
            "store_host,\nmessage.store_timestamp,\nborn_host,",
        )
    ],
    "M-88": [
        ValuePatch(f"{_RECORD}:FIXED_SIZE", lambda size: size - 8),
        ValuePatch(f"{_RECORD}:_FIXED", lambda fixed: Struct(fixed.format.replace("8sq8s", "8s8s"))),
        Text(_ENCODE, "message.store_timestamp,\n", ""),
        Text(_OPEN, "_Fixed._make(layout.unpack_from(data))", "_Fixed._make((*(v := layout.unpack_from(data))[:10], 0, *v[10:]))"),
    ],
    # Limits
    "M-89": [Text(_EXCEEDED, "parts.size if self._profile.limits_record else len(parts.body)", "len(parts.body)")],
    "M-90": [Text(_EXCEEDED, "len(parts.properties)", 'len(parts.properties.decode("utf-8", "replace"))')],
    # Delays
    "M-91": [Text(_SCHEDULE, "message.queue_id = level - 1", "message.queue_id = level")],
    "M-92a": [Text(_SCHEDULE, "if level > MAX_LEVEL:", "if False:")],
    "M-92b": [Text(_SCHEDULE, "message.properties[DELAY] = str(level)", "pass")],
    "M-93a": [Text(_SCHEDULE, _KEEP_TOPIC, "pass")],
    "M-93b": [Text(_SCHEDULE, _KEEP_TOPIC, f"message.topic = SCHEDULE\n{_KEEP_TOPIC}")],
    "M-94": [Text(_SCHEDULE, "not in (NOT, COMMIT)", f"not in (NOT, COMMIT, {PREPARED})")],
    # Rejected writes
    "M-95": [Text(f"{_SERVICE}.is_os_page_cache_busy", "< in_lock < BUSY_BEFORE", "< in_lock")],
    "M-96": [
        Text(
            f"{_SERVICE}._refusal",
            "if self.shutdown",
            "if length(message.topic) > TOPIC_LIMIT:\n    return PutMessageStatus.MESSAGE_ILLEGAL\nif self.shutdown",
        )
    ],
    # Flush and replicas
    "M-97": [
        Text(
            f"{_DURABILITY}._one_by_one",
            "not await awaited.fulfilled(awaited.millis)",
            "not await awaited.fulfilled(awaited.millis) and put.status is PutMessageStatus.PUT_OK",
        ),
        Text(f"{_DURABILITY}._together", "if awaited in failed", "if awaited in failed and put.status is PutMessageStatus.PUT_OK"),
    ],
    "M-98": [Text(f"{_DURABILITY}.ask_flush", " and message.waits", "")],
    "M-99": [Text(f"{_DURABILITY}.slave_ok", "behind < self", "behind <= self")],
    **switched("M-131", f"{_GROUP}._flush_to", "self._profile.rechecks_after_flush"),
    "M-132a": [Text(f"{_GROUP}._commit", "self._requests_read.clear()", "self._requests_write.clear()")],
    "M-132b": [Text(f"{_GROUP}.finish", "await sleep(GROUP_WAIT)\nawait self._commit()", "pass")],
    "M-133a": [
        Text(f"{_REAL_TIME}.round", "flush_concurrently(self._run_blocking, least_pages)", "flush_concurrently(self._run_blocking)")
    ],
    "M-133b": [Text(f"{_REAL_TIME}.round", "least_pages = 0", "pass")],
    "M-134": [
        Text(
            f"{_STORE}.flushing:CommitRealTimeService.round",
            "if not self._files.commit(least_pages):",
            "if self._files.commit(least_pages):",
        )
    ],
    "M-135": [
        Text(f"{_STORE}.ha:GroupTransferService._transferred", "while self._ha", "while False and self._ha"),
        Text(
            f"{_STORE}.ha:GroupTransferService._transferred", "return self._ha.push2_slave_max_offset >= request.next_offset", "return True"
        ),
    ],
    "M-166a": [Text(f"{_SERVICE}._keeps_queues", "self._profile.keeps_system_queues", "True")],
    "M-166b": [Text(f"{_SERVICE}._keeps_queues", "self._profile.keeps_system_queues", "False")],
    "M-167a": [Text(f"{_STORE}.timers:TimerMessageStore._key", "if self._by_topic", "if True")],
    "M-167b": [Text(f"{_STORE}.timers:TimerMessageStore._key", "if self._by_topic", "if False")],
    "M-136": [Text(f"{_SERVICE}._dispatch", "if message.transaction in (NOT, COMMIT):", "if True:")],
}
