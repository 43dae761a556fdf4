"""Drives a simulated broker by the model of its device: puts, buffers of the pool, rounds of the services, a force that fails.

Puts go to the store and wait for a flush, which an action performs as the next round of its service. The action also chooses which unforced
data the device has kept; the others are wiped here. Then the broker's own recovery reads the files. All records have one size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocketproof_impl.service import Service
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.flushing import CommitRealTimeService, FlushRealTimeService, GroupCommitService
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_impl.store.service import DISK_FULL, MessageStore
from rocketproof_impl.store.threads import StoreThreads
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec.device import Device

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import SimulatedBroker
from .doubles import RECORD, ManualFlush, check_flush_timeout, filling_message, units
from .scopecluster import BLANK

TOPIC = "T"
LIMIT = 300  # maximum size of a message
THOROUGH = 10_000  # milliseconds after which every service flushes or commits even little data
ROUNDS = 10


class _ObservedFlush(FlushRealTimeService):
    """A flush service that records whether it was woken."""

    woken = False

    def wakeup(self) -> None:
        self.woken = True
        super().wakeup()


class DeviceDriver(ModelDriver):
    """A broker whose store services are run step by step."""

    def __init__(self, specification: Device, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        constants = self.constants
        chosen = replace(profile, **{name: constants[name] for name in specification.switches})
        self.size = RECORD * (specification.units - 1) + BLANK
        self.broker = SimulatedBroker(
            chosen,
            mapped_file_size_commit_log=self.size,
            max_message_size=LIMIT,
            flush_disk_type="SYNC_FLUSH" if constants["sync"] else "ASYNC_FLUSH",
            broker_role="SYNC_MASTER" if constants["slave_missing"] else "ASYNC_MASTER",
            transient_store_pool_enable=constants["buffers"] > 0,
            transient_store_pool_size=constants["buffers"],
        )
        self.cluster, self.node, self.scheduler = self.broker.cluster, self.broker.node, self.broker.cluster.scheduler
        self.folder = f"{self.node.settings.store_path_root_dir}/commitlog"
        self.acknowledged, self.place = 0, -1  # end of the last acknowledged record in units, its start in bytes
        self.faults = 0
        self._ready()

    def _ready(self) -> None:
        """Prepare the services after a start of the process."""
        services = self.store.services()
        threads = self.store.flush
        assert isinstance(threads, StoreThreads)
        kind = GroupCommitService if self.constants["sync"] else FlushRealTimeService
        require(type(threads.flush) is kind, f"{threads.flush.name} flushes: by the settings it is {kind.__name__}")
        self.woken: _ObservedFlush | None = None
        if isinstance(threads.flush, FlushRealTimeService):
            files, store = self.store.commit_log.files, self.store
            self.woken = threads.flush = _ObservedFlush(files, self.node.settings, self.cluster.clock, store.log_flushed)
        self.flush = self.store.flush = ManualFlush()
        self.flushing = self._spawn(threads.flush)
        self.committing = next((self._spawn(service) for service in services if isinstance(service, CommitRealTimeService)), None)
        self.put: SimulatedThread[PutResult] | None = None
        self.answer = "none"
        self.scheduler.settle()

    def _spawn(self, service: Service) -> SimulatedThread[None]:
        return self.scheduler.spawn(service.run(), service.name)

    @property
    def store(self) -> MessageStore:
        return self.node.running.store

    # Requests

    def _do_put(self) -> None:
        self.put = self.scheduler.spawn(self.store.put_message(filling_message(TOPIC)), "put")
        self.answer = "none"
        self.scheduler.settle()
        self._note()

    _do_refuse = _do_put

    def _note(self) -> None:
        if self.put is None or not self.put.done.done:
            return
        result, self.put = self.put.result(), None
        self.answer = result.status.name
        if result.status is PutMessageStatus.PUT_OK and result.append is not None:
            end = result.append.wrote_offset + result.append.wrote_bytes
            self.acknowledged, self.place = max(self.acknowledged, self._units(end)), result.append.wrote_offset

    def _do_reject(self) -> None:
        """Send the message over the wire: the rejection occurs before the store is called."""
        code = self.broker.call(plain("send", topic=TOPIC, body="x" * (LIMIT + 1))).code
        self.answer = codes.ANSWERS.get(code, str(code))

    _do_put_too_large = _do_reject

    def _do_look(self) -> None:
        is_stored = self.broker.call(plain("view", place=self.place)).code == codes.SUCCESS
        self.answer = "found" if is_stored else "not found"

    def _do_confirm(self) -> None:
        end, flushed = self.flush.requests[-1]
        flushed.complete(self.store.flushed_where >= end)
        self.scheduler.settle()
        self._note()

    def _do_time_out(self) -> None:
        self.scheduler.time_out(check_flush_timeout(self.put, "a put"))
        self._note()

    # Services

    def _round(self, task: SimulatedThread[None] | None, done: Callable[[], bool]) -> None:
        """Run a service until it has done what the action requires."""
        for _ in range(ROUNDS):
            if task is None or done():
                break
            self.cluster.clock.jump(THOROUGH)
            self.scheduler.time_out(task)
        require(done(), "the service finds nothing to do: the specification has something for it")

    def _do_commit(self) -> None:
        before = self._committed()
        if self.woken is not None:
            self.woken.woken = False
        self._round(self.committing, lambda: self._committed() != before)
        if self.woken is None or not self.woken.woken:
            raise Deviation("data was committed, and the flush was not woken")

    def _do_flush(self) -> None:
        before = self.store.flushed_where
        self._round(self.flushing, lambda: self.store.flushed_where != before)

    def _do_flush_fails(self) -> None:
        tried: list[str] = []

        def fails(operation: str, path: str) -> None:
            if operation == "force" and path.startswith(self.folder):
                tried.append(path)
                raise OSError(f"{operation} {path} fails")

        self.node.disk.failing = fails
        self._round(self.flushing, lambda: bool(tried))
        self.node.disk.failing = None

    # Faults

    def _do_set_flag(self, full: bool) -> None:
        self.store.flags.bits = DISK_FULL if full else 0

    def _do_crash(self) -> None:
        self.faults += 1
        self.scheduler.kill(task for task in (self.put, self.flushing, self.committing) if task is not None)
        self.cluster.crash(silent=True)
        require(self.cluster.start(self.node), "the broker refuses to start: the specification starts it")
        self._ready()

    def _do_power_loss(self, kept: int) -> None:
        file, left_units = divmod(kept, self.s.units)
        for path, content in self._files():
            start = whole_number(path.rsplit("/", 1)[1]) // self.size
            left = self.size if start < file else 0 if start > file else left_units * RECORD
            content.write(left, bytes(self.size - left))
            content.force()
        self._do_crash()

    # State

    def _files(self) -> list[tuple[str, MappedContent]]:
        files = sorted(self.node.disk.files.items())
        return [(path, content) for path, content in files if path.startswith(self.folder) and isinstance(content, MappedContent)]

    def _units(self, offset: int) -> int:
        return units(offset, self.size, self.s.units)

    def _committed(self) -> int:
        """Return the end of the data that are not only in a buffer."""
        log = self.store.commit_log.files
        buffered = next((mapped for mapped in log.files if mapped.write_buffer is not None), None)
        return self._units(self._written() if buffered is None else buffered.file_from_offset + buffered.committed_position)

    def _written(self) -> int:
        last = self.store.commit_log.files.last()
        return 0 if last is None else last.file_from_offset + last.wrote_position

    def _forced(self) -> int:
        """Return the number of leading units in the files that are unchanged on the device."""
        forced, most = 0, self._committed()
        for _, content in self._files():
            for start in range(0, self.size, RECORD):
                end = min(start + RECORD, self.size)
                if forced == most or not _is_forced(content, start, end):
                    return forced
                forced += 1
        return forced

    def seen(self) -> Seen:
        store = self.store
        pool = store.commit_log.files.pool
        return {
            "written": self._units(self._written()),
            "committed": self._committed(),
            "flushed": self._units(store.flushed_where),
            "forced": self._forced(),
            "free": self.constants["buffers"] if pool is None else pool.available,
            "writable": store.flags.writable,
            "waits": self.put is not None,
            "answer": self.answer,
            "acknowledged": self.acknowledged,
            "failed": store.statistics.put_failed,
            "faults": self.faults,
        }


def _is_forced(content: MappedContent, start: int, end: int) -> bool:
    """Return whether the device has these bytes of a file's first page unchanged."""
    device = content.unforced.get(0)
    return device is None or (device or bytes(end))[start:end] == content.read(start, end - start)
