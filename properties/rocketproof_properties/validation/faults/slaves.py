"""A master and its slave under load: one of the two ends, or what is between them, and the slave has to be as its master.

The master is a SYNC_MASTER, so that an answer promises something about the slave. What it has acknowledged with 0 has to be there in the
moment in which it may be needed; everything else as soon as the slave has had the time for it. The slave asks the name server by a wire
that tells it another one in place of where its master listens for it: in 5.x `haMasterAddress` is set before there is anybody to tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_profiles import inherited
from rocketproof_protocol.codes import FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SUCCESS
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import SCHEDULE
from rocketproof_traces.stored.config import read_json
from rocketproof_traces.stored.errors import StoredError

from ...brokers.deployment import ValidationTarget
from ...brokers.forms import host_and_port
from ...brokers.proxy import Wire
from ...brokers.runs.client import places
from ...brokers.runs.readback import Reader
from ...brokers.runs.recording import wall, worded
from ...brokers.runs.waiting import until
from ...catalogue.history import OK
from ...judging.wholelog import files, log_of
from ...programs.vocabulary import plain
from .found import FaultTests
from .kinds import SLAVE
from .rounds import RoundPlan, each
from .store import BROKER, Loaded, Mix, PromisedStore

SECOND: Final = "broker-b"
"""The slave among the parts; its name on the wire is its master's."""
SETTINGS: Final = {
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "slaveTimeout": "2000",
    "syncFlushTimeout": "2000",
    "haSendHeartbeatInterval": "1000",
    "registerNameServerPeriod": "10000",
    "flushDelayOffsetInterval": "1000",
    "mappedFileSizeCommitLog": "65536",
}
"""Since 5.0 a master is one of the replicas that it waits for; up to 4.5 `syncFlushTimeout` is how long it waits for its slave. A load
fills more than one file of the log, on the slave too."""
CLIENTS: Final = 3
_MIX: Final = Mix(later=8)
_FIRST: Final = 40.0  # seconds until a slave that has started follows
_CAUGHT: Final = 30.0
_ASKS: Final = {"P40": "66", "P45": "12", "P440": "66", "P500": "66", "P533": "66"}
"""Seconds, by the profile, in which a slave asks its master for tables and offsets: at least every ten from 4.5 to 4.9, else 60."""
_ALONE: Final = {"P40": str(SLAVE_NOT_AVAILABLE), "P500": str(FLUSH_SLAVE_TIMEOUT), "P533": str(FLUSH_SLAVE_TIMEOUT)}
"""What a master answers that has no slave, by the profile: since 5.0 it waits for one, as long as it is not led by a controller."""
_NOTED: Final = 500  # milliseconds in which a master notes that a connection has ended
_WITHOUT: Final = (SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT)
_WRITTEN: Final = 13.0  # seconds in which a broker that has started writes down offsets for the first time
_LATER: Final = 15.0  # seconds more, since it learns every ten whom to ask
_ROUTED: Final = 25.0
_DELIVERED: Final = 10.0
_AGAIN: Final = 3.0  # seconds in which a broker that starts delivers what it has
_PULLED: Final = 4  # queues that are pulled from both
_REFUSED: Final = 3


@dataclass(frozen=True)
class Strike:
    """What happens, in words, and for how many seconds of load. `ends`: the part that is killed; `held`: the wire lets nothing through,
    and stays; `promoted`: the slave takes the master's place at last."""

    name: str
    seconds: float = 3.0
    ends: str = ""
    held: bool = False
    promoted: bool = False


STRIKES: Final = (
    Strike("the master is killed", 0.0, ends=BROKER),
    Strike("the slave is killed", ends=SECOND),
    Strike("the connection is cut"),
    Strike("the connection stands still", held=True),
    Strike("the slave becomes the master", 0.0, promoted=True),
)


def run(target: ValidationTarget, found: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Strike a pair so many times, in all ways in turn. Raises TargetError, NotOffered."""
    assert found.kind == SLAVE
    with Wire() as wire, Wire() as names:
        own = {"brokerName": BROKER, "brokerId": "1", "brokerRole": "SLAVE", "slaveReadEnable": "true", "namesrvAddr": names.address}

        def strike(store: PromisedStore) -> bool:
            server, (host, port) = store.running.name_server, host_and_port(store.running.brokers[BROKER])
            assert server is not None
            wire.to(followed := f"{host}:{port + 1}")
            names.to(server, (followed, wire.address))
            return PairRound(store, wire).run()

        plan = RoundPlan(lambda first: SETTINGS, len(STRIKES), _MIX, {SECOND: own})
        each(target, found, rounds, plan, strike, seed=seed, over=over)


class PairRound:
    """One round with a pair. `master` and `slave` are what was promised on either."""

    def __init__(self, master: PromisedStore, wire: Wire) -> None:
        self._strike = STRIKES[master.found.rounds % len(STRIKES)]
        master.where = f"strike {master.found.rounds + 1}: {self._strike.name}"
        self.master, self.slave, self._wire = master, master.beside(SECOND), wire
        self._running, self._found = master.running, master.found
        self._from = 0
        self._asks = float(inherited(_ASKS, master.profile))

    def run(self) -> bool:
        """Load, a strike, a look at what there is then, its end, and a look at both; whether the pair can be worked with."""
        if not self._follows():
            return False
        loaded = self.master.load(CLIENTS, self._struck, (0.3, 1.0))
        self._unconfirmed(loaded)
        self.master.take(loaded)
        self._copied(loaded)
        if not self._back(loaded):
            return False
        if not self._caught_up():
            return False
        self._found.states += 1
        self._same()
        return not self._strike.promoted or self._promoted(loaded)

    # Load and strike

    def _follows(self) -> bool:
        """Whether a message is answered 0, as soon as the slave has come."""

        def sent() -> str:
            try:
                with self._running.connect(BROKER) as line:
                    answer = line.ask(plain("send", topic="first", body="first"), 6.0)
                    return "" if answer.code == SUCCESS else f"a message is answered {answer.code} {answer.remark}"
            except RemotingError as problem:
                return worded(problem)

        said = until(sent, lambda one: not one, _FIRST, 0.3)
        self.master.wrong("follows", [f"{_FIRST:g} s later {said}"] if said else [])
        return not said

    def _struck(self) -> None:
        strike = self._strike
        if strike.ends:
            self._running.kill(strike.ends)
        elif strike.held:
            self._wire.hold()
        elif not strike.promoted:
            self._wire.cut()
        self._from = wall()
        interrupts.pause(strike.seconds)

    def _unconfirmed(self, loaded: Loaded) -> None:
        """Messages that were sent and acknowledged while none reached the slave."""
        if self._strike.seconds:
            sent = [one for one in loaded.asked if one.op == "send" and one.request["at"] > self._from]
            done = [one for one in sent if one.code == SUCCESS]
            self.master.wrong("copied", [f"{len(done)} messages that were sent without a slave are answered 0"] if done else [])
            wanted = FLUSH_SLAVE_TIMEOUT if self._strike.held else whole_number(inherited(_ALONE, self.master.profile))
            late = [one.code for one in sent if one.request["at"] > self._from + _NOTED]
            other = [code for code in late if code in _WITHOUT and code != wanted]
            self.master.wrong("without", [f"{len(other)} of {len(late)} are answered {other[0]}, in place of {wanted}"] if other else [])

    def _copied(self, loaded: Loaded) -> None:
        """Whether the slave has, as it is, what was acknowledged for it, and nothing but the beginning of its master's log."""
        mine, theirs = self._log(SECOND), self._log(BROKER)
        if mine is None or theirs is None:
            self.slave.unknown("prefix", "its files cannot be read")
            return
        self._prefix(mine, theirs)
        promised = [place for one in loaded.asked if one.op == "send" and one.code == SUCCESS for place in places(one.outcome["fields"])]
        ends = {place: place + int.from_bytes(theirs[place : place + 4]) for place in promised}
        # A log's bytes end with the last that is not zero.
        gone = [place for place, end in ends.items() if mine[place:end].rstrip(b"\0") != theirs[place:end].rstrip(b"\0")]
        self.slave.wrong("copied", [f"{len(gone)} of {len(promised)} are not there, the first at {min(gone)}"] if gone else [])

    def _log(self, broker: str) -> bytes | None:
        found = files(self._running.store(broker))
        return None if found is None else found[0]

    def _prefix(self, mine: bytes, theirs: bytes) -> None:
        if not theirs.startswith(mine):
            at = next((k for k, (one, other) in enumerate(zip(mine, theirs, strict=False)) if one != other), len(theirs))
            self.slave.wrong("prefix", [f"{len(mine)} bytes are as those of its master up to {at}, which has {len(theirs)}"])

    # Afterwards

    def _back(self, loaded: Loaded) -> bool:
        """End what struck; whether both run then."""
        self._wire.restore()
        if self._strike.ends == SECOND:
            had = self._delays()
            if not self.slave.restart():
                return False
            self._watch(_WRITTEN, had)
        if self._strike.ends == BROKER:
            self._routed("1")
            self._takes_none()
            if not self.master.restart():
                return False
            self.master.look(loaded.open)
        return True

    def _caught_up(self) -> bool:
        """Whether the slave's log becomes its master's, byte for byte."""
        until(self.master.undelivered, lambda one: not one, _DELIVERED, 0.2)
        both = partial(self._log, SECOND), partial(self._log, BROKER)
        mine, theirs = until(lambda: (both[0](), both[1]()), lambda pair: pair[0] is not None and pair[0] == pair[1], _CAUGHT, 0.2)
        if mine is None or theirs is None:
            self.slave.unknown("follows", "the logs do not stand still")
            return False
        self._prefix(mine, theirs)
        self.slave.wrong("follows", [f"{_CAUGHT:g} s later it has {len(mine)} bytes of {len(theirs)}"] if len(mine) < len(theirs) else [])
        return mine == theirs

    def _same(self) -> None:
        """Whether the slave, which has the whole log, has everything else of its master too."""
        found = files(self._running.store(SECOND))
        counts = {} if found is None else self.slave.whole(log_of(*found))
        for what, promised in (("topic", self.slave.promised.topics), ("group", self.slave.promised.groups)):
            gone = until(partial(self.slave.missing, f"{what}s", promised), lambda one: not one, self._asks + _LATER, 0.5)
            self.slave.wrong(f"{what} lost", [f"{len(gone)} of {len(promised)}: {', '.join(gone[:5])}"] if gone else [])
        self.slave.wrong("pulled", self._pulled(counts))
        self._settled("offset lost", "consumerOffset.json")
        self._settled("delay offset", "delayOffset.json")
        self._takes_none()
        self._routed("0", "1")

    def _pulled(self, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
        """Queues of which the two give out something else."""
        plain_ones = sorted(key for key, count in counts.items() if key[0] != SCHEDULE and count)
        readers = [Reader(self._running, one) for one in (SECOND, BROKER)]
        for topic, queue in self.master.chance.sample(plain_ones, min(_PULLED, len(plain_ones))):
            mine, theirs = (list(one.pull(topic, queue, 0, counts[topic, queue])) for one in readers)
            if mine != theirs:
                yield f"{topic} {queue}: {len(mine)} messages, {len(theirs)} of the master, and they are not the same"
        for one in readers:
            one.close()

    def _settled(self, claim: str, name: str) -> None:
        """Whether what the slave has written down of offsets becomes what its master has."""

        def differing() -> list[str]:
            mine, theirs = (offsets(self._running.store(one) / "config" / name) for one in (SECOND, BROKER))
            if (mine is None) != (theirs is None):
                return [f"{name} can be read on the {'master' if mine is None else 'slave'} alone"]
            other = {key: value for key, value in sorted((theirs or {}).items()) if (mine or {}).get(key) != value}
            return [f"{key}: {(mine or {}).get(key)}, {value} on the master" for key, value in other.items()]

        found = until(differing, lambda one: not one, self._asks + _LATER, 0.5)
        self.slave.wrong(claim, [f"{len(found)} differ: {found[0]}"] if found else [])

    def _takes_none(self) -> None:
        """Whether the slave stores what is sent to it; its topic is one that it has."""
        before = self._log(SECOND)
        topics = sorted(self.slave.promised.topics)[:_REFUSED]
        taken: list[str] = []
        try:
            with self._running.connect(SECOND) as line:
                for topic in topics:
                    answer = line.ask(plain("send", topic=topic, body="for the master"), 6.0)
                    taken += [f"a message is answered {answer.code} {answer.remark}"] if answer.code in OK else []
        except RemotingError as problem:
            self.slave.unknown("takes none", worded(problem))
        after = self._log(SECOND)
        if before is not None and after is not None and len(after) > len(before) and b"for the master" in after[len(before) :]:
            taken.append("a message that was sent to it is in its log")
        self.slave.wrong("takes none", taken[:1])

    def _routed(self, *ids: str) -> None:
        """Whether the name server tells these ids of the pair."""
        topic, server = min(self.master.promised.topics, default="first"), self._running

        def told() -> list[str]:
            try:
                with server.connect("name server") as line:
                    data = loads(line.ask(plain("route", topic=topic), 6.0).body or b"{}")
            except RemotingError as problem:
                return [worded(problem)]
            return sorted(str(number) for one in (data or {}).get("brokerDatas", ()) for number in one["brokerAddrs"])

        found = until(told, lambda one: one == [*ids], _ROUTED, 0.2)
        self.master.wrong("route", [f"{topic}: the name server knows {found}, in place of {[*ids]}"] if found != [*ids] else [])

    # In the master's place

    def _promoted(self, loaded: Loaded) -> bool:
        """Watch the slave for a while, then end both and let the slave start as the master; there is no pair any more then."""
        self._watch(self._asks, self._delays())
        self._running.kill(BROKER)
        self._running.kill(SECOND)
        if not self.slave.restart({"brokerId": "0", "brokerRole": "ASYNC_MASTER"}):
            return False
        self._found.states += 1
        self.slave.look(loaded.open)
        interrupts.pause(_AGAIN)
        self.slave.wrong("repeated", [said] if (said := self.slave.undelivered()) else [])
        self.slave.delays()
        return False

    def _delays(self) -> dict[str, int] | None:
        """How far delayed messages are delivered, as the slave has written it down."""
        return offsets(self._running.store(SECOND) / "config" / "delayOffset.json")

    def _watch(self, seconds: float, had: Mapping[str, int] | None) -> None:
        """Whether a slave keeps for so long what it has taken over: its topics, and delay offsets as it `had` them."""
        topics = sorted({*self.slave.promised.topics}.difference(self.slave.missing("topics", self.slave.promised.topics)))
        missing: list[str] = []
        less = ""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            missing = max(missing, self.slave.missing("topics", topics), key=len)
            now = self._delays()
            if had and now is not None:
                less = less or next((f"{key}: {now.get(key)} after {value}" for key, value in had.items() if now.get(key, -1) < value), "")
            interrupts.pause(0.01)
        self.slave.wrong("topic lost", [f"for a while {len(missing)} of {len(topics)}: {', '.join(missing[:5])}"] if missing else [])
        self.slave.wrong("delay offset", [f"for a while {less}"] if less else [])


def offsets(path: Path) -> dict[str, int] | None:
    """The offsets of a file of a broker's settings, by what they are of; None where it cannot be read, as while it is replaced."""
    try:
        table: dict[str, Any] = read_json(str(path)).get("offsetTable") or {}
    except StoredError:
        return None
    found: dict[str, int] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= {f"{name} {queue}": whole_number(offset) for queue, offset in value.items()}
        else:
            found[str(name)] = whole_number(value)
    return found
