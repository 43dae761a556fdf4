"""Drives a simulated broker by the model of the topic file: persisting step by step, kills, errors and power losses.

Persisting is one call of the implementation that cannot be interrupted between its steps. For each step of the specification, the whole
call is therefore repeated on the original files. The process ends one disk operation later than before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.pretty import pretty
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.content import PlainContent
from rocketproof_impl.simulator.disk import ProcessEnded
from rocketproof_impl.topic import DataVersion, TopicConfig, table_from_data, table_to_data
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_spec.persistence import Persistence

from .base import Deviation, ModelDriver, Seen, require

GARBAGE = bytes(8)
FILES = {"main": "", "bak": ".bak", "tmp": ".tmp"}
PHASES = {
    ("truncate", "tmp"): ("tmp truncated",),
    ("write", "tmp"): ("tmp half", "tmp written"),
    ("truncate", "bak"): ("bak truncated",),
    ("write", "bak"): ("bak half", "bak written"),
    ("delete", "main"): ("main deleted",),
    ("truncate", "main"): ("main truncated",),
    ("write", "main"): ("main half",),
}
"""The phase after a disk operation; the second of two equal ones leads to the second phase."""

_Content = tuple[str, frozenset[int]]  # the kind of a file's text, and its topics
_ABSENT: _Content = ("missing", frozenset())


@dataclass
class _Persist:
    """An unfinished persist: the files at its start, the disk operations so far, and which of them fail."""

    before: dict[str, bytes | None]
    old: _Content
    backup: _Content
    new: frozenset[int]
    steps: list[tuple[str, str]] = field(default_factory=list)
    failing: set[int] = field(default_factory=set)

    @property
    def phase(self) -> str:
        if not self.steps:
            return "begun"
        last = self.steps[-1]
        names = PHASES.get(last)
        times = self.steps.count(last)
        if names is None or times > len(names):
            raise Deviation(f"step {len(self.steps)} of persist is {' '.join(last)}: the specification has no such step there")
        return names[times - 1]


class PersistenceDriver(ModelDriver):
    """A broker with the file of its topic table, in the specification's initial state."""

    def __init__(self, specification: Persistence, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.names = [f"topic-{t.args[0]}" for t in specification.Topic]
        self.cluster = Cluster(0, profile=profile)
        settings = BrokerSettings(broker_name="broker-a", name_servers=(NAME_SERVER,))
        self.node = self.cluster.add(settings, start=False)
        self.path = f"{settings.store_path_root_dir}/config/topics.json"
        self.paths = {name: self.path + suffix for name, suffix in FILES.items()}
        if self.constants["earlier"]:
            text = pretty(table_to_data({self.names[0]: TopicConfig(self.names[0])}, DataVersion(self.cluster.clock.now())))
            self._put("main", text.encode())
        self.cluster.start(self.node)
        self.life = "runs"
        self.persist: _Persist | None = None
        self.dirty: set[str] = set()
        self.promised = self._memory()
        self.written = self.constants["earlier"]
        self.count = {"crashes": 0, "errors": 0, "powers": 0}

    # Actions

    def _other(self, **values: Any) -> None:
        """Take the next step of the persist: every action without a method."""
        del values
        self._continue_persist()

    def _performed(self) -> None:
        self.written = self.written or any(self._content(name)[0] == "whole" for name in FILES)

    def _do_create(self, t: int) -> None:
        topics = self.node.running.topics
        before = {name: self.node.disk.read(path) for name, path in self.paths.items()}
        old, backup = self._content("main"), self._content("bak")
        self.persist = _Persist(before, old, backup, frozenset())
        if self._until(0, lambda: topics.update(TopicConfig(self.names[t]))):
            raise Deviation("persist returned without a step on the disk: the specification has its steps")
        self.persist.new = self._memory()

    def _continue_persist(self) -> None:
        """Take the next step of the unfinished persist."""
        persist = self._under_way()
        done = len(persist.steps)
        for name, content in persist.before.items():
            self._put(name, content)
        returned = self._until(done + 1, self.node.running.topics.persist)
        if len(persist.steps) <= done:
            raise Deviation(f"persist ends after {done} steps: the specification has a further one")
        self._mark_dirty(*persist.steps[-1], failed=done in persist.failing)
        if returned:
            self.promised |= self._memory()
            self.persist = None

    def _until(self, steps: int, work: Callable[[], None]) -> bool:
        """Run the work for at most this number of disk operations. Return whether it returned before the limit."""
        persist, disk = self._under_way(), self.node.disk
        persist.steps = []
        kinds = {path: name for name, path in self.paths.items()}

        def step(operation: str, path: str) -> None:
            if operation == "read" or path not in kinds:
                return
            if len(persist.steps) == steps:
                raise ProcessEnded(f"before {operation} {path}")
            persist.steps.append((operation, kinds[path]))
            if len(persist.steps) - 1 in persist.failing:
                raise OSError(f"{operation} {path} fails")

        disk.failing = step
        try:
            work()
        except ProcessEnded:
            return False
        except OSError as error:
            raise Deviation(f"persist raises {error!r}: the specification says that nobody hears of an error") from None
        finally:
            disk.failing = None
        return True

    def _under_way(self) -> _Persist:
        if self.persist is None:
            raise Deviation("no persist is under way: the specification has one")
        return self.persist

    def _mark_dirty(self, operation: str, name: str, *, failed: bool) -> None:
        """Update which files' bytes are not on the device."""
        if failed:
            return
        if operation == "delete":
            self.dirty.discard(name)
        elif operation == "rename":
            self.dirty.add("main")
        elif name in ("bak", "main"):
            self.dirty.add(name)

    def _fail(self) -> None:
        persist = self._under_way()
        persist.failing.add(len(persist.steps))
        self.count["errors"] += 1
        self._continue_persist()

    _do_disk_full = _do_delete_fails = _do_rename_fails = _fail

    def _do_register(self) -> None:
        self.cluster.scheduler.complete(self.node.running.registration.register_all(False, True, True), "registration")
        self.cluster.scheduler.settle()

    def _do_crash(self) -> None:
        self._end()
        self.count["crashes"] += 1

    def _do_power_loss(self, main: str, bak: str) -> None:
        """Lose power. The action chooses what the device has kept of each file; unforced bytes may be lost in any way."""
        for name, fate in (("main", main), ("bak", bak)):
            if fate != "kept" and name not in self.dirty:
                raise Deviation(f"the device has the {name} file as it is: the specification says that it is {fate}")
        self._end()
        self.count["powers"] += 1
        for name, fate in (("main", main), ("bak", bak)):
            if fate != "kept":
                self._put(name, b"" if fate == "emptied" else GARBAGE)
        self.dirty.clear()

    def _end(self) -> None:
        require(self.node.broker is not None, "no process runs that could end: the specification has one")
        self.cluster.crash(silent=True)
        self.life = "down"

    def _do_write_back(self) -> None:
        self.dirty.clear()

    def _do_start(self) -> None:
        """Start the process at a later time, because a data version contains the time."""
        require(self.node.broker is None, "the broker runs already: the specification starts it")
        self.cluster.scheduler.advance(1)
        self.life = "runs" if self.cluster.start(self.node, register=False) else "refused"
        self.persist = None

    # State

    def _put(self, name: str, content: bytes | None) -> None:
        path = self.paths[name]
        if content is None:
            self.node.disk.files.pop(path, None)
        else:
            self.node.disk.files[path] = PlainContent(content)

    def _topics(self, names: Any) -> frozenset[int]:
        return frozenset(t for t, name in enumerate(self.names) if name in names)

    def _memory(self) -> frozenset[int]:
        return self._topics(self.node.broker.topics.table if self.node.broker else ())

    def _content(self, name: str) -> _Content:
        content = self.node.disk.read(self.paths[name])
        if content is None:
            return _ABSENT
        if not content:
            return "empty", frozenset()
        try:
            table, _ = table_from_data(json.loads(content))
        except ValueError:
            return "broken", frozenset()
        return "whole", self._topics(table)

    def seen(self) -> Seen:
        persist = self.persist
        values: Seen = {
            "life": self.life,
            "phase": persist.phase if persist else "idle",
            "memory": self._memory(),
            "new": persist.new if persist else frozenset(),
            "promised": self.promised,
            "registered": self._topics(self.cluster.name_server.topic_queue_table),
            "written": self.written,
            "dirty_main": "main" in self.dirty,
            "dirty_bak": "bak" in self.dirty,
            **self.count,
        }
        contents = {name: self._content(name) for name in FILES}
        contents |= {"old": persist.old if persist else _ABSENT, "backup": persist.backup if persist else _ABSENT}
        for name, (text, topics) in contents.items():
            values[f"{name}.text"], values[f"{name}.topics"] = text, topics
        return values
