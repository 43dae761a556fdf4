"""Faults of a master and its slave under load: one of them is killed, or their connection is lost. The slave must then equal its master.

The master is a SYNC_MASTER, so that its responses promise something about the slave. What it acknowledged with code 0 must be on the slave
at once, everything else within a while. The slave connects to the name server through a proxy that replaces the master's replication
address in responses. The setting `haMasterAddress` is no alternative: in 5.x it is applied before the replication client exists.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_profiles import inherited
from rocketproof_protocol.codes import FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SUCCESS
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.history.exchange import places

from ...brokers.deployment import ValidationTarget
from ...brokers.forms import host_and_port
from ...brokers.proxy import Wire
from ...brokers.runs.recording import wall, worded
from ...brokers.runs.waiting import until
from ...catalogue.history import OK
from ...judging.slaves import breaches
from ...judging.wholelog import files, log_of
from ...programs.names import ProgramNames
from ...programs.vocabulary import plain
from .found import FaultTests
from .kinds import SLAVE
from .replicas import CAUGHT, OWN, Replica, asks, difference, offsets
from .rounds import RoundPlan, each
from .store import BROKER, Loaded, Mix, PromisedStore

SECOND: Final = "broker-b"
"""The slave's name among the deployment's brokers; in the cluster it has its master's name."""
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
"""Since 5.0, a master is one of the replicas that it waits for.

Up to 4.5, `syncFlushTimeout` is how long it waits for its slave. A load fills more than one file of the log, on the slave too.
"""
CLIENTS: Final = 3
_MIX: Final = Mix(later=8)
_FIRST: Final = 40.0  # seconds within which a started slave must follow its master
_ALONE: Final = {"P40": str(SLAVE_NOT_AVAILABLE), "P500": str(FLUSH_SLAVE_TIMEOUT), "P533": str(FLUSH_SLAVE_TIMEOUT)}
"""The response code of a master without slave, by profile. Since 5.0 it waits for a slave, unless a controller manages it."""
_NOTED: Final = 500  # milliseconds within which a master detects the end of a connection
_WITHOUT: Final = (SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT)
_WRITTEN: Final = 13.0  # seconds within which a restarted broker first writes its offsets
_ROUTED: Final = 25.0
_DELIVERED: Final = 10.0
_AGAIN: Final = 3.0  # seconds within which a restarted broker delivers pending messages
_REFUSED: Final = 3
_LOADED: Final = ProgramNames("r", 0)
"""The names of the load begin like this."""
_CLAIMS: Final = {
    "slave.topics": "topic lost",
    "slave.topic_attributes": "topic lost",
    "slave.groups": "group lost",
    "slave.offsets": "offset lost",
    "slave.delays": "delay offset",
    "slave.queues": "pulled",
    "slave.records": "pulled",
}
"""The claim about a fault that each difference between a slave and its master breaks."""


@dataclass(frozen=True)
class Strike:
    """A fault with its description and the seconds of load during it.

    `ends`: the broker that is killed. `held`: the connection stays open but transfers nothing. `promoted`: the slave becomes the master at
    the end.
    """

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


def run(target: ValidationTarget, results: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Inject `rounds` faults into a pair, all kinds in turn. Raises TargetError, NotOffered."""
    assert results.kind == SLAVE
    with Wire() as wire, Wire() as names:
        own = {**OWN, "brokerName": BROKER, "namesrvAddr": names.address}

        def strike(store: PromisedStore) -> bool:
            server, (host, port) = store.running.name_server, host_and_port(store.running.brokers[BROKER])
            assert server is not None
            wire.to(followed := f"{host}:{port + 1}")
            names.to(server, (followed, wire.address))
            return PairRound(store, wire).run()

        plan = RoundPlan(lambda first: SETTINGS, len(STRIKES), _MIX, {SECOND: own})
        each(target, results, rounds, plan, strike, seed=seed, over=over)


class PairRound:
    """One round with a pair. `master` and `slave` are what was promised on each."""

    def __init__(self, master: PromisedStore, wire: Wire) -> None:
        self._strike = STRIKES[master.results.rounds % len(STRIKES)]
        master.where = f"strike {master.results.rounds + 1}: {self._strike.name}"
        self.master, self.slave, self._wire = master, master.of_broker(SECOND), wire
        self._running, self._results = master.running, master.results
        self._from = 0
        self._replica = Replica(master.running, BROKER, master.running, SECOND, master.profile, _LOADED)

    def run(self) -> bool:
        """Load the pair, inject the fault, check the slave, end the fault, and check both. Return whether the pair is usable."""
        if not self._follows():
            return False
        loaded = self.master.load(CLIENTS, self._inject, (0.3, 1.0))
        self._check_confirmations(loaded)
        self.master.record_acknowledged(loaded)
        self._check_copy(loaded)
        if not self._end_fault(loaded):
            return False
        if not self._caught_up():
            return False
        self._results.states += 1
        self._check_tables()
        return not self._strike.promoted or self._promote(loaded)

    # Load and strike

    def _follows(self) -> bool:
        """Return whether a message is acknowledged with code 0 within a while, which requires the slave."""

        def sent() -> str:
            try:
                with self._running.connect(BROKER) as line:
                    answer = line.ask(plain("send", topic="first", body="first"), 6.0)
                    return "" if answer.code == SUCCESS else f"a message is answered {answer.code} {answer.remark}"
            except RemotingError as problem:
                return worded(problem)

        problem_text = until(sent, lambda text: not text, _FIRST, 0.3)
        self.master.report("follows", [f"{_FIRST:g} s later {problem_text}"] if problem_text else [])
        return not problem_text

    def _inject(self) -> None:
        strike = self._strike
        if strike.ends:
            self._running.kill(strike.ends)
        elif strike.held:
            self._wire.hold()
        elif not strike.promoted:
            self._wire.cut()
        self._from = wall()
        interrupts.pause(strike.seconds)

    def _check_confirmations(self, loaded: Loaded) -> None:
        """Report messages that were sent and acknowledged while the slave received nothing."""
        if self._strike.seconds:
            sent = [exchange for exchange in loaded.asked if exchange.op == "send" and exchange.request["at"] > self._from]
            acknowledged = [exchange for exchange in sent if exchange.code == SUCCESS]
            self.master.report(
                "copied", [f"{len(acknowledged)} messages that were sent without a slave are answered 0"] if acknowledged else []
            )
            expected_code = FLUSH_SLAVE_TIMEOUT if self._strike.held else whole_number(inherited(_ALONE, self.master.profile))
            late = [exchange.code for exchange in sent if exchange.request["at"] > self._from + _NOTED]
            other = [code for code in late if code in _WITHOUT and code != expected_code]
            self.master.report(
                "without", [f"{len(other)} of {len(late)} are answered {other[0]}, in place of {expected_code}"] if other else []
            )

    def _check_copy(self, loaded: Loaded) -> None:
        """Report acknowledged messages that the slave lacks, and any difference from a prefix of its master's log."""
        slave_log, master_log = self._log(SECOND), self._log(BROKER)
        if slave_log is None or master_log is None:
            self.slave.report_unknown("prefix", "its files cannot be read")
            return
        self._prefix(slave_log, master_log)
        promised = [
            place
            for exchange in loaded.asked
            if exchange.op == "send" and exchange.code == SUCCESS
            for place in places(exchange.outcome["fields"])
        ]
        ends = {place: place + int.from_bytes(master_log[place : place + 4]) for place in promised}
        # Trailing zeros of a log are not part of it.
        missing = [place for place, end in ends.items() if slave_log[place:end].rstrip(b"\0") != master_log[place:end].rstrip(b"\0")]
        self.slave.report("copied", [f"{len(missing)} of {len(promised)} are not there, the first at {min(missing)}"] if missing else [])

    def _log(self, broker: str) -> bytes | None:
        log_files = files(self._running.store(broker))
        return None if log_files is None else log_files[0]

    def _prefix(self, slave_log: bytes, master_log: bytes) -> None:
        text = difference(slave_log, master_log)
        self.slave.report("prefix", [text] if text else [])

    # Afterwards

    def _end_fault(self, loaded: Loaded) -> bool:
        """End the fault. Return whether both brokers run then."""
        self._wire.restore()
        if self._strike.ends == SECOND:
            offsets_before = self._delays()
            if not self.slave.restart():
                return False
            self._watch(_WRITTEN, offsets_before)
        if self._strike.ends == BROKER:
            self._check_route("1")
            self._check_rejections()
            if not self.master.restart():
                return False
            self.master.check(loaded.open)
        return True

    def _caught_up(self) -> bool:
        """Return whether the slave's log becomes equal to its master's, byte for byte."""
        until(self.master.undelivered, lambda text: not text, _DELIVERED, 0.2)
        slave_log, master_log = self._replica.caught_up()
        if slave_log is None or master_log is None:
            self.slave.report_unknown("follows", "the logs do not stand still")
            return False
        self._prefix(slave_log, master_log)
        self.slave.report(
            "follows",
            [f"{CAUGHT:g} s later it has {len(slave_log)} bytes of {len(master_log)}"] if len(slave_log) < len(master_log) else [],
        )
        return slave_log == master_log

    def _check_tables(self) -> None:
        """Check that the slave, which has the whole log, has all other data of its master too."""
        log_files = files(self._running.store(SECOND))
        if log_files is not None:
            self.slave.check_log(log_of(*log_files))
        master, slave = self._replica.views()
        for missed in (*master["missed"], *slave["missed"]):
            self.slave.report_unknown("follows", f"no response to {missed}")
        differences: dict[str, list[str]] = {}
        for property_, text in breaches(master, slave):
            differences.setdefault(_CLAIMS.get(property_, ""), []).append(text)
        for claim in dict.fromkeys(_CLAIMS.values()):
            texts = differences.get(claim, [])
            self.slave.report(claim, [f"{len(texts)} differ: {texts[0]}"] if texts else [])
        for what, promised in (("topic", self.slave.promised.topics), ("group", self.slave.promised.groups)):
            missing = self.slave.missing(f"{what}s", promised)
            self.slave.report(f"{what} lost", [f"{len(missing)} of {len(promised)}: {', '.join(missing[:5])}"] if missing else [])
        self._check_rejections()
        self._check_route("0", "1")

    def _check_rejections(self) -> None:
        """Check that the slave stores nothing that is sent to it, for topics that it has."""
        before = self._log(SECOND)
        topics = sorted(self.slave.promised.topics)[:_REFUSED]
        accepted: list[str] = []
        try:
            with self._running.connect(SECOND) as line:
                for topic in topics:
                    answer = line.ask(plain("send", topic=topic, body="for the master"), 6.0)
                    accepted += [f"a message is answered {answer.code} {answer.remark}"] if answer.code in OK else []
        except RemotingError as problem:
            self.slave.report_unknown("takes none", worded(problem))
        after = self._log(SECOND)
        if before is not None and after is not None and len(after) > len(before) and b"for the master" in after[len(before) :]:
            accepted.append("a message that was sent to it is in its log")
        self.slave.report("takes none", accepted[:1])

    def _check_route(self, *ids: str) -> None:
        """Check that the name server lists these broker ids of the pair."""
        topic, server = min(self.master.promised.topics, default="first"), self._running

        def listed_ids() -> list[str]:
            try:
                with server.connect("name server") as line:
                    data = loads(line.ask(plain("route", topic=topic), 6.0).body or b"{}")
            except RemotingError as problem:
                return [worded(problem)]
            return sorted(str(number) for entry in (data or {}).get("brokerDatas", ()) for number in entry["brokerAddrs"])

        ids_found = until(listed_ids, lambda listed: listed == [*ids], _ROUTED, 0.2)
        self.master.report("route", [f"{topic}: the name server knows {ids_found}, in place of {[*ids]}"] if ids_found != [*ids] else [])

    # Promotion

    def _promote(self, loaded: Loaded) -> bool:
        """Watch the slave for a while, kill both brokers, and start the slave as the master.

        Return False, because the pair no longer exists.
        """
        self._watch(asks(self.master.profile), self._delays())
        self._running.kill(BROKER)
        self._running.kill(SECOND)
        if not self.slave.restart({"brokerId": "0", "brokerRole": "ASYNC_MASTER"}):
            return False
        self._results.states += 1
        self.slave.check(loaded.open)
        interrupts.pause(_AGAIN)
        self.slave.report("repeated", [text] if (text := self.slave.undelivered()) else [])
        self.slave.check_delays()
        return False

    def _delays(self) -> dict[str, int] | None:
        """Return the delivery offsets of delayed messages that the slave has written."""
        return offsets(self._running.store(SECOND) / "config" / "delayOffset.json")

    def _watch(self, seconds: float, had: Mapping[str, int] | None) -> None:
        """Check that a slave keeps for `seconds` what it has copied: its topics, and its delay offsets `had`."""
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
        self.slave.report("topic lost", [f"for a while {len(missing)} of {len(topics)}: {', '.join(missing[:5])}"] if missing else [])
        self.slave.report("delay offset", [f"for a while {less}"] if less else [])
