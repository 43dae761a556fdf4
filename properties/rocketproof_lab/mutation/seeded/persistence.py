"""Mutants of the topic table's file: the steps of writing it, and how a start reads it."""

from __future__ import annotations

from ..patch import Patch, Text

_PERSISTENCE = "rocketproof_impl.persistence"
_WRITE, _LOAD, _BACKUP = f"{_PERSISTENCE}:string_to_file", f"{_PERSISTENCE}:load", f"{_PERSISTENCE}:_load_backup"
_DECODE = "rocketproof_impl.broker.topics:TopicConfigManager._decode"

_REPLACE = 'with suppress(OSError):\n    disk.delete(path)\nwith suppress(OSError):\n    disk.rename(path + ".tmp", path)'

PATCHES: dict[str, Patch] = {
    "M-52": [
        Text(_WRITE, 'disk.write(path + ".tmp", utf8(text))\n', ""),
        Text(_WRITE, _REPLACE, "disk.write(path, utf8(text))"),
    ],
    "M-53": [Text(_WRITE, _REPLACE, 'if disk.read(path) is None:\n    disk.rename(path + ".tmp", path)\ndisk.delete(path)')],
    "M-54": [Text(_WRITE, '.bak", previous)', '.bak", utf8(text))')],
    "M-55": [Text(_WRITE, 'disk.write(path + ".bak", previous)', "pass")],
    "M-56": [Text(_BACKUP, '_text(disk, path + ".bak")', '_text(disk, path + ".tmp") or _text(disk, path + ".bak")')],
    "M-57": [Text(_BACKUP, "if text:", "if text is None:\n    return False\nif text:")],
    "M-58": [Text(_LOAD, "return _load_backup(disk, path, decode)", "else:\n    return _load_backup(disk, path, decode)\nreturn True")],
    "M-59": [Text(_WRITE, "if previous is not None:", "if previous:")],
    "M-60": [
        Text(
            _DECODE,
            "self.table.update(stored)",
            "self.table.update({name: config for name, config in stored.items() if name not in self.table})",
        )
    ],
    "M-61": [Text(_DECODE, "self.data_version = version or DataVersion(self._clock.now())", "pass")],
}
