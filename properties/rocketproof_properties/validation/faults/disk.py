"""Disk faults: the disk of a broker is broken, slow or full for a while, and then works again.

strace is attached to a broker under load. The broker's system calls then fail or take long, until strace is detached. The broker flushes
synchronously, so that its responses promise durability that the disk cannot provide. When the disk works again, dispatch, delivery of
delayed messages and responses must continue. The broker's files are small, so that it needs new files during the fault.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.simulator.content import PAGE
from rocketproof_model import interrupts
from rocketproof_protocol.codes import SUCCESS
from rocketproof_traces.stored.record import records_in

from ...brokers import strace
from ...brokers.deployment import SMALL_INDEX, ValidationTarget
from ...brokers.runs.recording import wall
from ...brokers.runs.waiting import until
from ...brokers.strace import traceable
from ...programs.vocabulary import plain
from .found import FaultTests
from .kinds import DISK
from .rounds import RoundPlan, each
from .store import BROKER, Loaded, Mix, PromisedStore

CLIENTS: Final = 3
SETTINGS: Final = {
    **SMALL_INDEX,
    "flushDiskType": "SYNC_FLUSH",
    "syncFlushTimeout": "1000",
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "2000",
    "flushDelayOffsetInterval": "500",
}
_DELIVERIES: Final[tuple[Mapping[str, str], ...]] = ({}, {"enableScheduleAsyncDeliver": "true"})
"""Settings for the delivery of delayed messages, which alternate between stores."""
_MIX: Final = Mix((200, 5000, 20000), 4)
_SLOW: Final = 2.5  # seconds per flush
_LONG: Final = 3.0  # seconds per fault
_BACK: Final = 20.0  # seconds within which a broker must work again


@dataclass(frozen=True)
class DiskFault:
    """A fault, with its description and strace's `inject` expression.

    `fails`: no flush succeeds during the fault. `slow`: seconds before which no flush succeeds. `full`: instead of `inject`, a pattern of
    files in the store that get no new pages.
    """

    name: str
    inject: str = ""
    fails: bool = False
    slow: float = 0.0
    full: str = ""


_FLUSHES: Final = "msync,fsync,fdatasync"
FAULTS: Final = (
    DiskFault("every flush fails (EIO)", f"{_FLUSHES}:error=EIO", fails=True),
    DiskFault(f"every flush takes {_SLOW:g} s", f"{_FLUSHES}:delay_enter={int(_SLOW * 1e6)}", slow=_SLOW),
    DiskFault("no file gets room (ENOSPC)", "ftruncate,mkdir,rename:error=ENOSPC"),
    DiskFault("no file is made or renamed (EROFS)", "ftruncate,mkdir,rename,unlink:error=EROFS"),
    DiskFault("the index gets no more pages (SIGBUS)", full="index/*"),
)


def run(target: ValidationTarget, results: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Inject `rounds` disk faults, all kinds in turn. Raises TargetError, NotOffered."""
    assert results.kind == DISK
    plan = RoundPlan(lambda first: {**SETTINGS, **_DELIVERIES[first // len(FAULTS) % len(_DELIVERIES)]}, len(FAULTS), _MIX)
    each(target, results, rounds, plan, lambda store: DiskRound(store, FAULTS).run(), seed=seed, over=over)


@contextmanager
def full(files: Iterable[Path]) -> Iterator[None]:
    """Truncate mapped files after the last page that has data.

    A write beyond it gets SIGBUS, as in a sparse file on a full disk. No data is lost.
    """
    sizes = {path: path.stat().st_size for path in files}
    for path, size in sizes.items():
        used = len(path.read_bytes().rstrip(b"\0"))
        os.truncate(path, min(size, -(-used // PAGE) * PAGE))
    try:
        yield
    finally:
        for path, size in sizes.items():
            os.truncate(path, size)


class DiskRound:
    """One round with one of the faults, which alternate."""

    def __init__(self, store: PromisedStore, faults: Sequence[DiskFault]) -> None:
        self._store, self._running = store, traceable(store.running)
        self._fault = faults[store.results.rounds % len(faults)]
        self._output = store.folder / f"{store.results.rounds}.inject"
        store.where = f"fault {store.results.rounds + 1}: {self._fault.name}"
        self._from = self._to = 0

    def run(self) -> bool:
        """Load the broker, inject the fault, kill and restart the broker, and check it. Return whether the broker is usable."""
        store = self._store
        loaded = store.load(CLIENTS, self._strike, (0.3, 1.3))
        self._check_confirmations(loaded)
        silent = sum(exchange.op == "send" and exchange.closed != "ok" for exchange in loaded.asked)
        store.report("answered", [f"{silent} of {len(loaded.asked)} requests"] if silent else [])
        store.record_acknowledged(loaded, refused=False)
        if not self._works_again():
            return False
        self._check_deliveries()
        self._running.kill(BROKER)
        if not store.restart():
            return False
        store.results.states += 1
        store.check(loaded.open)
        return True

    def _strike(self) -> None:
        with self._active_fault():
            self._from = wall()
            if self._fault.slow:
                self._check_early_delivery()
            interrupts.pause(_LONG)
            self._to = wall()

    def _active_fault(self) -> AbstractContextManager[None]:
        """Return a context in which the fault is active."""
        if self._fault.full:
            return full(self._running.store(BROKER).glob(self._fault.full))
        return strace.failing(self._running.pid(BROKER), self._fault.inject, self._output)

    def _check_early_delivery(self) -> None:
        """Report a message that is delivered before any flush can have completed."""
        topic = f"early{self._store.results.rounds}"
        with self._running.connect(BROKER) as sender, self._running.connect(BROKER) as reader:
            began = time.monotonic()
            sender.send_one_way(plain("send", topic=topic, body="early"))

            def delivery_time() -> float:
                """Return the seconds until the message was delivered, 0 if it was not delivered in time."""
                answer = reader.ask(plain("pull", topic=topic, queue=0, offset=0), self._fault.slow)
                seconds = time.monotonic() - began
                return seconds if answer.code == SUCCESS and list(records_in(answer.body or b"")) and seconds < self._fault.slow else 0.0

            if early := until(delivery_time, bool, self._fault.slow - 0.5, 0.05):
                self._store.report("delivered", [f"a message is pulled {early:.2f} s after it was sent"])

    def _check_confirmations(self, loaded: Loaded) -> None:
        """Report messages that were sent and acknowledged while no flush succeeded."""
        if self._fault.fails:
            sent = [
                exchange
                for exchange in loaded.asked
                if exchange.op == "send" and exchange.request["at"] > self._from and exchange.closed == "ok"
            ]
            answers = Counter(exchange.code for exchange in sent if exchange.outcome["at"] < self._to)
            if answers[SUCCESS]:
                self._store.report("confirmed", [f"{answers[SUCCESS]} of {answers.total()} messages are answered 0"])

    def _works_again(self) -> bool:
        """Return whether the broker stores and dispatches a message again within a while."""
        topic, last = f"back{self._store.results.rounds}", ""

        def taken() -> bool:
            nonlocal last
            try:
                last = "a send is not answered"
                with self._running.connect(BROKER) as line:
                    answer = line.ask(plain("send", topic=topic, body="back"), 6.0)
                    last = f"a send is answered {answer.code} {answer.remark}"
                    if answer.code != SUCCESS:
                        return False
                    last = "a pull is not answered"
                    read = line.ask(plain("pull", topic=topic, queue=0, offset=0), 6.0)
                    last = "a message is not dispatched"
                    return read.code == SUCCESS and bool(read.body)
            except RemotingError as problem:
                last = f"{last}: {problem}"
                return False

        if until(taken, bool, _BACK, 0.2):
            return True
        self._store.report("back", [f"{_BACK:g} s later {last}"])
        return False

    def _check_deliveries(self) -> None:
        """Report delayed messages that are not delivered exactly once."""
        missing = until(self._store.undelivered, lambda text: not text, _BACK, 0.5)
        self._store.report("delayed", [missing] if missing else [])
