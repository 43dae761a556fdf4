"""The disk of a broker is broken, slow or full for a while, and is well again.

strace is attached to a broker under load: its calls fail then, or take long, until it is detached. The broker flushes synchronously, so
that an answer promises something while the disk cannot keep it; and dispatch, deliveries of delayed messages and answers have to go on when
the disk does. Its files are small, so that it needs new ones meanwhile.
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

from ...brokers import strace
from ...brokers.deployment import SMALL_INDEX, ValidationTarget
from ...brokers.runs.queries import split
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
"""How delayed messages are delivered, store by store."""
_MIX: Final = Mix((200, 5000, 20000), 4)
_SLOW: Final = 2.5  # seconds of one flush
_LONG: Final = 3.0  # seconds of a fault
_BACK: Final = 20.0  # seconds in which a broker has to work again


@dataclass(frozen=True)
class DiskFault:
    """A fault in words, and as strace's `inject` has it. `fails`: no flush goes through while it lasts; `slow`: none before so
    many seconds. `full`: a pattern of files below the store that get no page which they have not got yet, in place of `inject`."""

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


def run(target: ValidationTarget, found: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Let the disk have a fault so many times, all kinds in turn. Raises TargetError, NotOffered."""
    assert found.kind == DISK
    plan = RoundPlan(lambda first: {**SETTINGS, **_DELIVERIES[first // len(FAULTS) % len(_DELIVERIES)]}, len(FAULTS), _MIX)
    each(target, found, rounds, plan, lambda store: DiskRound(store, FAULTS).run(), seed=seed, over=over)


@contextmanager
def full(files: Iterable[Path]) -> Iterator[None]:
    """Let files that are mapped end behind the last page in which something is written. Who writes into them further on gets SIGBUS, as
    where a file has holes and the disk has no more room. Nothing of them is lost."""
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
    """One round under a fault of these, which come in turn."""

    def __init__(self, store: PromisedStore, faults: Sequence[DiskFault]) -> None:
        self._store, self._running = store, traceable(store.running)
        self._fault = faults[store.found.rounds % len(faults)]
        self._output = store.folder / f"{store.found.rounds}.inject"
        store.where = f"fault {store.found.rounds + 1}: {self._fault.name}"
        self._from = self._to = 0

    def run(self) -> bool:
        """Load, a fault, its end, a kill, a start and a look; whether the broker can be worked with."""
        store = self._store
        loaded = store.load(CLIENTS, self._strike, (0.3, 1.3))
        self._unconfirmed(loaded)
        silent = sum(one.op == "send" and one.closed != "ok" for one in loaded.asked)
        store.wrong("answered", [f"{silent} of {len(loaded.asked)} requests"] if silent else [])
        store.take(loaded, refused=False)
        if not self._back():
            return False
        self._deliveries()
        self._running.kill(BROKER)
        if not store.restart():
            return False
        store.found.states += 1
        store.look(loaded.open)
        return True

    def _strike(self) -> None:
        with self._lasting():
            self._from = wall()
            if self._fault.slow:
                self._early()
            interrupts.pause(_LONG)
            self._to = wall()

    def _lasting(self) -> AbstractContextManager[None]:
        """The fault, for as long as the context lasts."""
        if self._fault.full:
            return full(self._running.store(BROKER).glob(self._fault.full))
        return strace.failing(self._running.pid(BROKER), self._fault.inject, self._output)

    def _early(self) -> None:
        """Whether a message is delivered before any flush that began behind it can have ended."""
        topic = f"early{self._store.found.rounds}"
        with self._running.connect(BROKER) as sender, self._running.connect(BROKER) as reader:
            began = time.monotonic()
            sender.send_one_way(plain("send", topic=topic, body="early"))

            def took() -> float:
                """Seconds to an answer that has the message, 0 where none has it in time."""
                answer = reader.ask(plain("pull", topic=topic, queue=0, offset=0), self._fault.slow)
                seconds = time.monotonic() - began
                return seconds if answer.code == SUCCESS and list(split(answer.body or b"")) and seconds < self._fault.slow else 0.0

            if early := until(took, bool, self._fault.slow - 0.5, 0.05):
                self._store.wrong("delivered", [f"a message is pulled {early:.2f} s after it was sent"])

    def _unconfirmed(self, loaded: Loaded) -> None:
        """Messages that were sent and acknowledged while no flush went through."""
        if self._fault.fails:
            sent = [one for one in loaded.asked if one.op == "send" and one.request["at"] > self._from and one.closed == "ok"]
            answers = Counter(one.code for one in sent if one.outcome["at"] < self._to)
            if answers[SUCCESS]:
                self._store.wrong("confirmed", [f"{answers[SUCCESS]} of {answers.total()} messages are answered 0"])

    def _back(self) -> bool:
        """Whether a message is taken and dispatched again, within a while."""
        topic, last = f"back{self._store.found.rounds}", ""

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
        self._store.wrong("back", [f"{_BACK:g} s later {last}"])
        return False

    def _deliveries(self) -> None:
        """Every message of the first delay level is delivered, once."""
        missing = until(self._store.undelivered, lambda one: not one, _BACK, 0.5)
        self._store.wrong("delayed", [missing] if missing else [])
