"""A broker under frames of strange names and sizes, killed again and again: does its store open, and is there what it acknowledged?

    python -m rocketproof_properties.validation.fuzz --frames 1000000 --profile P494 --seed 1

Frames go over the wire, many at a time, to the served implementation with synchronous flush. After each round its process is killed. Then
the log is read by a reader that shares no code with the broker: each acknowledged message is at the place that its answer named. The broker
starts again on the store, stores one more message behind the last one, and dispatches it. In a poisoned round some messages cannot be read
again by their lengths; what was acknowledged behind one is lost where a release loses it, which is told and no finding. So it is in any
round behind a message that came back from inside of another one, with flags of IPv6, where the profile believes them (HAZ-51).
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.remoting.frame import take
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_protocol.flags import HOSTS_IPV6
from rocketproof_protocol.numbers import hexadecimal, is_digits, whole_number
from rocketproof_traces.stored.kinds import Reason
from rocketproof_traces.stored.record import LONGEST_HEAD, LogRecords, head_of, read_log

from ..brokers.comeback import come_back
from ..brokers.deployment import Deployment, Setup, TargetError
from ..brokers.forms import host_and_port
from ..brokers.served import Served
from ..programs.frames import Drawn, Frames
from ..programs.vocabulary import plain
from ..reports.output import tell

BROKER: Final = "broker-a"
FILE_SIZE: Final = 16 * 1024 * 1024
SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": str(FILE_SIZE)}
WINDOW: Final = 100  # frames that are under way at a time
ROUNDS: Final = 4  # on one store
PATIENCE: Final = 5.0
OWN: Final = {"commitlog", "consumequeue", "index", "config", "checkpoint", "abort", "lock"}
"""What a store's folder has in it, and nothing else."""
STORED: Final = (codes.SUCCESS, codes.FLUSH_DISK_TIMEOUT, codes.FLUSH_SLAVE_TIMEOUT, codes.SLAVE_NOT_AVAILABLE)


@dataclass
class Fuzzed:
    """What came of it. `kinds`: frames sent, by kind; `codes`: answers, by code; `lost`: acknowledged messages that a profile loses, and
    behind which record; `findings`: whatever else is wrong, in words."""

    frames: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0
    acknowledged: int = 0
    kills: int = 0
    lost: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        answered = ", ".join(f"{codes.ANSWERS.get(code, str(code))} {count:,}" for code, count in self.codes.most_common())
        yield f"{self.frames:,} frames in {self.seconds:.0f} s, {self.kills} kills, {self.acknowledged:,} acknowledged messages"
        yield f"sent: {', '.join(f'{kind} {count:,}' for kind, count in self.kinds.most_common())}"
        yield f"answered: {answered}; without an answer {self.unanswered:,}"
        yield from (f"lost by the profile: {each}" for each in self.lost)
        yield from (f"finding: {each}" for each in self.findings or ["none"])


def fuzz(profile: str, frames: int, seed: int = 0, per_round: int = 10_000) -> Fuzzed:
    """So many frames, in rounds. Raises TargetError where nothing can be served."""
    began, found, number = time.monotonic(), Fuzzed(), 0
    while found.frames < frames:
        with Served(profile).open(Setup(settings=SETTINGS)) as running:
            store = _Store(running, found, PROFILES[profile].hosts_by_flag)
            for _ in range(ROUNDS):
                if found.frames < frames and store.usable:
                    store.round(
                        Frames(seed * 1_000_003 + number, poison=number % ROUNDS == ROUNDS - 1), min(per_round, frames - found.frames)
                    )
                    number += 1
    found.seconds = time.monotonic() - began
    return found


class _Store:
    """One store, and what was acknowledged on it: place in the log and the request's kind."""

    def __init__(self, running: Deployment, found: Fuzzed, hosts_by_flag: bool) -> None:
        self._running, self._found, self._hosts_by_flag = running, found, hosts_by_flag
        self._places: dict[int, str] = {}
        self._probes = 0
        self._beside = {path.name for path in running.store(BROKER).parent.iterdir()}
        self.usable = True

    def round(self, frames: Frames, count: int) -> None:
        """Frames, a kill, and a look at what is left."""
        said = f"seed {frames.seed}" + (", poisoned" if frames.poison else "")
        self._send(frames, count)
        self._running.kill(BROKER)
        self._found.kills += 1
        end = self._look(said, poison=frames.poison)
        try:
            come_back(self._running, BROKER)
            self._probe(said, end)
        except (TargetError, RemotingError) as problem:
            self._wrong(f"{said}: the broker does not go on from its store: {problem}")

    def _wrong(self, finding: str) -> None:
        self.usable = False
        self._found.findings.append(finding)

    # Frames

    def _send(self, frames: Frames, count: int) -> None:
        address = str(self._running.address(BROKER))
        while count > 0:
            with closing(socket.create_connection(host_and_port(address), PATIENCE)) as made:
                count -= self._windows(_Pipeline(made), frames, count)

    def _windows(self, pipeline: _Pipeline, frames: Frames, count: int) -> int:
        """Windows of frames until all are sent or the connection is lost; how many were sent."""
        sent = 0
        while sent < count:
            drawn = [frames.draw() for _ in range(min(WINDOW, count - sent))]
            sent += len(drawn)
            self._found.frames += len(drawn)
            self._found.kinds.update(one.kind for one in drawn)
            answers = pipeline.ask([frames.encoded(one.command) for one in drawn], [one.command.opaque for one in drawn if _waits(one)])
            for one in drawn:
                self._note(one, answers.get(one.command.opaque), frames)
            if pipeline.lost:
                break
        return sent

    def _note(self, one: Drawn, answer: Command | None, frames: Frames) -> None:
        if answer is None:
            self._found.unanswered += _waits(one)
            return
        self._found.codes[answer.code] += 1
        for id_ in (answer.ext_fields or {}).get("msgId", "").split(",") if answer.code in STORED else ():
            if id_:
                frames.most_place = hexadecimal(id_[16:])
                self._places[frames.most_place] = one.kind
                self._found.acknowledged += 1

    # What is left

    def _look(self, said: str, *, poison: bool) -> int:
        """Where the log can be read to; what was acknowledged and does not lie before that is lost."""
        store = self._running.store(BROKER)
        strange = {path.name for path in store.iterdir()} - OWN | ({path.name for path in store.parent.iterdir()} - self._beside)
        if strange or any(not is_digits(path.name) for path in (store / "commitlog").iterdir()):
            self._wrong(f"{said}: files are where none belong: {sorted(strange)}")
        log = self._read(store)
        there = {record.at for record in log.records}
        damage = log.end if log.damage is None else log.damage.at
        missing = sorted(place for place in self._places if place not in there)
        if missing:
            text = f"{said}: {len(missing)} acknowledged messages from {missing[0]} on ({self._places[missing[0]]}); {log.damage}"
            wrong = log.damage is not None and log.damage.reason is Reason.LENGTHS and missing[0] >= damage
            known = wrong and (poison or self._flagged(store, damage))
            self._found.lost.append(text) if known else self._wrong(text)
        self.usable = self.usable and not missing  # a store that was cut has places twice
        return damage

    def _read(self, store: Path) -> LogRecords:
        files = sorted((store / "commitlog").iterdir())
        return read_log(b"".join(path.read_bytes() for path in files), FILE_SIZE, hosts_by_flag=self._hosts_by_flag)

    def _flagged(self, store: Path, place: int) -> bool:
        """Whether the profile believes that hosts of the record at a place of the log are of IPv6, because a flag says so."""
        path = store / "commitlog" / f"{place // FILE_SIZE * FILE_SIZE:020d}"
        head = head_of(path.read_bytes()[place % FILE_SIZE :][:LONGEST_HEAD])
        return self._hosts_by_flag and head is not None and bool(head.sys_flag & HOSTS_IPV6)

    def _probe(self, said: str, end: int) -> None:
        """One more message lies at the end of the log, and is dispatched."""
        with self._running.connect(BROKER) as connection:
            answer = connection.ask(plain("send", topic="Probe"), PATIENCE)
            place = hexadecimal((answer.ext_fields or {}).get("msgId", "0" * 32)[16:])
            if answer.code not in STORED or (place < end and self.usable):
                self._wrong(f"{said}: after a start a message is answered {answer.code} and lies at {place}, where the log ended at {end}")
            self._probes += 1
            until, count = time.monotonic() + PATIENCE, "0"
            while self.usable and whole_number(count) < self._probes and time.monotonic() < until:
                count = (connection.ask(plain("max_offset", topic="Probe"), PATIENCE).ext_fields or {}).get("offset", "0")
            if self.usable and whole_number(count) != self._probes:
                self._wrong(f"{said}: {self._probes} messages to one queue, of which {count} are dispatched")


class _Pipeline:
    """Many frames at a time on a connection. `lost`: the broker has closed it."""

    def __init__(self, made: socket.socket) -> None:
        self._socket = made
        self._buffer = bytearray()
        self.lost = False

    def ask(self, frames: list[bytes], waited: list[int]) -> dict[int, Command]:
        """The answers that come, by opaque."""
        found: dict[int, Command] = {}
        open_, until = set(waited), time.monotonic() + PATIENCE
        self._socket.settimeout(PATIENCE)
        try:
            self._socket.sendall(b"".join(frames))
            while open_ and time.monotonic() < until:
                while (command := take(self._buffer)) is not None:
                    if command.is_response:
                        found[command.opaque] = command
                        open_.discard(command.opaque)
                if open_:
                    self._socket.settimeout(0.5 if len(open_) < len(waited) // 10 else PATIENCE)
                    data = self._socket.recv(1 << 18)
                    self.lost = not data
                    self._buffer += data
                    if self.lost:
                        break
        except TimeoutError:
            pass  # some are never answered
        except OSError:
            self.lost = True
        return found


def _waits(one: Drawn) -> bool:
    return not one.command.is_one_way


def main(arguments: list[str] | None = None) -> int:
    """The command of the module's first lines; 1 if there is a finding."""
    parser = argparse.ArgumentParser(description="Fuzz the served implementation with strange names and sizes.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--profile", default="P494")
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    found = fuzz(given.profile, given.frames, given.seed)
    for line in found.lines():
        tell(line)
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
