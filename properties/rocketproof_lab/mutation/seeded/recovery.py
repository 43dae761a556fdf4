"""Mutants of the store's start: where recovery begins and ends, what it truncates and rebuilds, the index, the checkpoint."""

from __future__ import annotations

from ..patch import Patch, Text, ValuePatch

_STORE = "rocketproof_impl.store"
_RECOVERY, _SERVICE = f"{_STORE}.recovery", f"{_STORE}.service:MessageStore"
_QUEUE = f"{_STORE}.consumequeue:ConsumeQueue"
_FILE, _INDEX = f"{_STORE}.indexfile:MappedIndexFile", f"{_STORE}.index:IndexService"
_WRITE = "rocketproof_impl.persistence:overwrite"

PATCHES: dict[str, Patch] = {
    "M-141a": [ValuePatch(f"{_RECOVERY}:LAST_FILES", lambda files: files - 1)],
    "M-141b": [ValuePatch(f"{_STORE}.consumequeue:LAST_FILES", lambda files: files - 1)],
    "M-142a": [Text(f"{_STORE}.record:is_whole", "(not opened.body or opened.fixed.body_crc == body_crc(opened.body))", "True")],
    "M-142b": [Text(f"{_STORE}.record:is_whole", "opened.fixed.magic == MESSAGE_MAGIC", "True")],
    "M-143a": [Text(f"{_RECOVERY}:recover", "if known >= end:", "if False:")],
    "M-143b": [Text(f"{_RECOVERY}:recover", "log.files.truncate(end)", "log.files.truncate(log.files.max_offset)")],
    "M-144a": [Text(f"{_SERVICE}.load", "clean = self._disk.size(self._abort) is None", "clean = True")],
    "M-144b": [Text(f"{_SERVICE}.load", "clean = self._disk.size(self._abort) is None", "clean = False")],
    "M-145a": [Text(f"{_SERVICE}.stop", "self._disk.delete(self._abort)", "pass")],
    "M-145b": [Text(f"{_SERVICE}.stop", "if self.flags.writable and self.behind() == 0:", "if True:")],
    "M-146a": [Text(f"{_RECOVERY}:_is_older", "0 < stored <= timestamp", "0 < stored < timestamp")],
    "M-146b": [Text(f"{_RECOVERY}:_is_older", "0 < stored <= timestamp", "stored <= timestamp")],
    "M-147a": [ValuePatch(f"{_STORE}.checkpoint:MARGIN", lambda margin: 0)],
    "M-147b": [
        Text(
            f"{_STORE}.checkpoint:StoreCheckpoint.min_timestamp",
            "min(self.physic_msg_timestamp, self.logics_msg_timestamp)",
            "max(self.physic_msg_timestamp, self.logics_msg_timestamp)",
        )
    ],
    "M-148": [Text(f"{_RECOVERY}:_scan", "return position, True", "return mapped.size, True")],
    "M-149": [Text(f"{_SERVICE}._recover_topic_queue_table", "queue.max_offset", "queue.max_offset + 1")],
    "M-150a": [Text(f"{_QUEUE}.truncate", "entry.physical_offset < physical_offset", "entry.physical_offset <= physical_offset")],
    "M-150b": [Text(f"{_QUEUE}.recover", "self.max_physical_offset = entry.physical_offset + entry.size", "pass")],
    "M-151a": [Text(f"{_FILE}.put", "seconds, previous)", "seconds, 0)")],
    "M-151b": [Text(f"{_FILE}.put", "_SLOT.pack(number)", "_SLOT.pack(number - 1)")],
    "M-152a": [Text(f"{_INDEX}.build", " or message.transaction == ROLLBACK", "")],
    "M-152b": [Text(f"{_INDEX}.build", "message.physical_offset < file.header.end_physical_offset or ", "")],
    "M-153": [Text(f"{_INDEX}.load", "if not clean and", "if False and")],
    "M-154": [Text(f"{_STORE}.files:MappedFileQueue.load", "if length == self.file_size:", "if length is not None:")],
    "M-155a": [Text(_WRITE, 'if previous is not None:\n    disk.write(path + ".bak", previous)', "pass")],
    "M-155b": [
        Text(
            _WRITE,
            "disk.write(path, utf8(text))",
            'disk.write(path + ".tmp", utf8(text))\ndisk.delete(path)\ndisk.rename(path + ".tmp", path)',
        )
    ],
}
