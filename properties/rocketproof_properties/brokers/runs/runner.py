"""Runs many programs on one target concurrently, within bounds on time, request rate and concurrency.

Every program has a history file of its own, written as it runs. If a run ends early, the recorded events stay.
"""

from __future__ import annotations

import itertools
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_traces.history.exchanges import OVER

from ...programs.call import Context
from ...programs.names import ProgramNames
from ...programs.program import Program
from ...programs.vocabulary import ENDS_PROCESS
from .. import probe
from ..comeback import NotBack
from ..deployment import Deployment, TargetError
from .client import SETTLING, ProgramClient
from .parsed import readable, unreadable
from .performing import perform
from .queries import consumption, run_queries
from .readback import SECONDS, Ends, Reader, clean_up, late_ends, read_back
from .recording import HistoryRecorder, last_number, wall
from .waiting import until

Done = Callable[[Program, Path], None]
AWAY: Final = 5.0
"""Seconds without a response after which a broker counts as gone."""


class Gone(TargetError):
    """The broker does not answer any more."""


@dataclass
class Bounds:
    """The bounds of a run: total `seconds`, `rate` of requests per second, `workers` concurrent programs. None: no bound."""

    workers: int = 4
    rate: float | None = None
    seconds: float | None = None
    _began: float = field(default_factory=time.monotonic)
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def over(self) -> bool:
        return self.ended.is_set() or (self.seconds is not None and time.monotonic() - self._began > self.seconds)

    def wait(self) -> None:
        """Wait until the next request may be sent."""
        if self.rate is None:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 1 / self.rate
        interrupts.pause(turn - now)


@dataclass
class ProgramRun:
    """A running program. `before`: the ends of the queues of delayed messages at its start, None if it delays no message."""

    program: Program
    context: Context
    recording: HistoryRecorder
    clients: dict[int, ProgramClient]
    path: Path
    before: Ends | None

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.recording.close()


class Runner:
    """Runs programs on a running deployment. `mark` is the prefix of this run's names. Program numbers continue over all runs.

    `clean`: the brokers are used by no one else, so that topics may be deleted after a program. `unserved`: queries that are not sent, by
    step name.
    """

    def __init__(
        self,
        deployment: Deployment,
        folder: Path,
        origin: Mapping[str, Any],
        bounds: Bounds,
        mark: str,
        settings: Mapping[str, str] | None = None,
        numbers: Iterator[int] | None = None,
        clean: bool = False,
        unserved: Collection[str] = (),
    ) -> None:
        self.clean = clean
        self._unserved = unserved
        self.folder = folder
        self.bounds = bounds
        self.mark = mark
        self._numbers = numbers if numbers is not None else itertools.count(1 + last_number(folder))
        self._given = settings or {}
        self._source = origin
        self._profile = PROFILES[str(origin.get("profile", "P49"))]
        self.settle(deployment)

    def settle(self, deployment: Deployment) -> None:
        """Continue with another deployment. Raises Gone if it does not return its settings."""
        self.deployment = deployment
        self._readers = threading.local()
        self._all_readers: list[Reader] = []
        reader = self.reader(next(iter(deployment.brokers)))
        known = reader.settings()
        if known is None:
            raise Gone(f"{reader.broker} at {deployment.brokers[reader.broker]} did not tell its settings: {reader.faults[-1]}")
        self.reported_settings = known
        reported = {**known, **self._given}
        self.unreadable = unreadable(reported)
        self.settings = readable(reported)
        self._origin = {**self._source, "brokers": dict(deployment.brokers), "settings": self.settings}
        self._origin |= {"unreadable": self.unreadable} if self.unreadable else {}
        self._shared = {broker: self._shared_topics(broker) for broker in deployment.brokers} if self.clean else {}

    def _shared_topics(self, broker: str) -> dict[str, Any] | None:
        """Return the topics that programs share, before the first program; None if the broker does not answer."""
        table = self.reader(broker).topics()
        return None if table is None else {name: config for name, config in table.items() if self._names(0, broker).is_shared(name)}

    def _names(self, number: int, broker: str) -> ProgramNames:
        cluster, name = self.settings.get("brokerClusterName", "DefaultCluster"), self.settings.get("brokerName", broker)
        own = frozenset({name, cluster, f"{cluster}_REPLY_TOPIC"})
        return ProgramNames(f"{self.mark}{number}-", number, cluster, own, zlib.crc32(self.mark.encode()) >> 8, self._profile.template)

    def reader(self, broker: str) -> Reader:
        """Return this thread's connection for queries to a broker."""
        readers: dict[str, Reader] = self._readers.__dict__.setdefault("of", {})
        if broker not in readers:
            readers[broker] = Reader(self.deployment, broker, unsupported={*self._unserved})
            self._all_readers.append(readers[broker])
        return readers[broker]

    def close(self) -> None:
        """Close the connections for queries. The runner may continue with new ones."""
        for reader in self._all_readers:
            reader.close()

    def run(
        self, programs: Sequence[Program], done: Done = lambda program, path: None, *, workers: int | None = None
    ) -> list[tuple[Program, Path]]:
        """Run programs until all are done or a bound is reached. Return those that were done, in order. Raises Gone.

        With several workers, as many again run the programs that let time pass, because these need no CPU time meanwhile.
        """
        workers = workers or self.bounds.workers
        lanes = [programs] if workers == 1 else [[p for p in programs if p.waits], [p for p in programs if not p.waits]]
        finished: dict[int, tuple[Program, Path]] = {}
        todo = [iter(lane) for lane in lanes]
        pool = ThreadPoolExecutor(workers * len(lanes), thread_name_prefix="program")
        busy: dict[Future[Path], tuple[Program, int]] = {}
        try:
            while True:
                for lane, more in enumerate(todo):
                    free = workers - sum(used == lane for _, used in busy.values())
                    for program in itertools.islice(more, 0 if self.bounds.over else free):
                        busy[pool.submit(self.perform, program)] = program, lane
                if not busy:
                    break
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    program, _ = busy.pop(future)
                    path = future.result()
                    finished[program.number] = (program, path)
                    done(program, path)
        except BaseException:
            self.bounds.ended.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [finished[number] for number in sorted(finished)]

    def perform(self, program: Program, folder: Path | None = None) -> Path:
        """Run one program with fresh names. Return the file of its history.

        Raises Gone if the broker does not answer any more, NotBack if it does not restart after the program has killed it.
        """
        under_way = self.begin(program, folder)
        self.carry_out(under_way)
        return under_way.path

    def carry_out(self, under_way: ProgramRun) -> None:
        """Perform the steps of a program that has begun, read back the state, and close the history. Raises Gone, NotBack."""
        program = under_way.program
        try:
            perform(program.steps, under_way.clients, self.bounds.ended.is_set)
            self.end(under_way)
            if not self.bounds.ended.is_set():
                under_way.recording.add("info", "program", OVER, {})
        except NotBack as problem:
            problem.steps = program.steps
            raise
        finally:
            under_way.close()

    def begin(self, program: Program, folder: Path | None = None) -> ProgramRun:
        """Create clients with fresh names, and start the history. The clients may perform other steps than the program's."""
        number = next(self._numbers)
        brokers = list(self.deployment.brokers)
        broker = brokers[program.number % len(brokers)]
        names = self._names(number, broker)
        size = whole_number(self.settings.get("mappedFileSizeCommitLog", 0))
        context = Context(names, broker, file_size=size, profile=self._profile, settings=self.settings, now=wall)
        path = (folder or self.folder) / f"{number:05}.ndjson"
        origin = {**self._origin, "program": program.data(), "prefix": names.prefix, "number": number, "broker": broker}
        origin |= {"cluster": names.cluster, "shared": self._shared.get(broker)}
        recording = HistoryRecorder(path, origin)
        clients = {n: ProgramClient(n, self.deployment, context, recording, self.bounds.wait) for n in range(program.clients)}
        reader = self.reader(broker)
        reader.take()
        delays = any(name == "back" or "DELAY" in _text(args) for name, args in program.steps)
        before = late_ends(reader) if delays else None
        return ProgramRun(program, context, recording, clients, path, before)

    def end(self, under_way: ProgramRun) -> None:
        """Read back the state after the program. Raises Gone."""
        program, context, recording = under_way.program, under_way.context, under_way.recording
        names, broker = context.names, context.broker
        reader = self.reader(broker)
        for client in under_way.clients.values():
            client.listen()
        if any(name in ENDS_PROCESS for name, _ in program.steps):
            reader.close()
        named = _named(program, names)
        places = [message.place for message in context.known]
        # Which of several clients' changes of a group was the last is unknown.
        sent_back = context.sent_back - (0 if program.concurrent else context.discarded)
        queues: list[tuple[str, int, int]] = []
        ended, groups = any(name == "end" for name, _ in program.steps), _groups(program, names)
        before, births = under_way.before, context.births
        for op, value in read_back(reader, names, named, places, before, births, sent_back, groups, gone=context.gone, ended=ended):
            recording.add("state", broker, op, value)
            if op == "topics":
                named |= set(value["topics"])
            elif op == "queues":
                queues = [(topic, queue, end) for topic, queue, end, _ in value["queues"] if end]
        for client in under_way.clients.values():
            client.record_late()
        if any(client.lost for client in under_way.clients.values()):
            if not answers(self.deployment, broker):
                raise Gone(f"{broker} at {self.deployment.brokers[broker]} does not answer any more; what was recorded is kept")
            recording.add("state", broker, "alive", {})
        elif self.clean and program.settles:
            if queues:
                (topic, queue, end), group = queues[0], names.group("consumers")
                results = run_queries(reader, consumption(topic, queue, end, group))
                named.add(RETRY_PREFIX + group)
                if not any(reader.take()):  # closing the connection has removed the subscriber
                    recording.add("state", broker, "consumed", {"looks": results})
            mine, groups_ = sorted(t for t in named if names.is_mine(t)), sorted(_groups(program, names))
            left = clean_up(reader, names, mine, groups_, [(topic, queue) for topic, queue, _ in queues])
            recording.add("state", broker, "deleted", left)


def answers(deployment: Deployment, part: str) -> bool:
    """Return whether a part answers within a while: it may be restarting."""

    def responds() -> bool:
        with suppress(RemotingError), deployment.connect(part) as connection:
            connection.ask(probe.question(), SECONDS)
            return True
        return False

    return until(responds, bool, AWAY, SETTLING)


def _text(args: Mapping[str, Any]) -> str:
    """Return the properties of a step's message in any form."""
    return f"{args.get('properties')}{args.get('altered')}"


def _named(program: Program, names: ProgramNames) -> set[str]:
    """Return the topics that the steps name, and those that send-backs would create."""
    topics = set()
    for _, args in program.steps:
        for key in ("topic", "default"):
            if key in args:
                topics.add(names.topic(args[key]))
        if "group" in args:
            topics |= {head + names.group(args["group"]) for head in (RETRY_PREFIX, DLQ_PREFIX)}
        topics |= {names.topic(topic) for topic in args.get("topics") or ()}
    topics |= {DLQ_PREFIX + topic.removeprefix(RETRY_PREFIX) for topic in topics if topic.startswith(RETRY_PREFIX)}
    return topics or {names.topic("A")}


def _groups(program: Program, names: ProgramNames) -> set[str]:
    groups = {names.group(args["group"]) for _, args in program.steps if "group" in args}
    retried = [args["topic"] for _, args in program.steps if str(args.get("topic", "")).startswith(RETRY_PREFIX)]
    return groups | {names.group(topic.removeprefix(RETRY_PREFIX)) for topic in retried}
