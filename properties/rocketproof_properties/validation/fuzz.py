"""Fuzz a broker with unusual names and sizes and kill it repeatedly. Check that its store opens with every acknowledged message.

    python -m rocketproof_properties.validation.fuzz --frames 1000000 --profile P494 --seed 1

Frames are sent over the wire, many at a time, to the served implementation with synchronous flush. After each round its process is killed.
A reader that shares no code with the broker then checks that each acknowledged message is at the place that its response named. The broker
starts again on the store, appends another message, and dispatches it.

In a poisoned round, some messages cannot be parsed again because of their lengths. Acknowledged messages after them are lost in releases
with this bug. This is reported, but is no finding. The same happens in any round after a send-back of bytes inside another message, with
IPv6 flags, if the profile trusts these flags (HAZ-51).
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
WINDOW: Final = 100  # frames in flight
ROUNDS: Final = 4  # per store
PATIENCE: Final = 5.0
OWN: Final = {"commitlog", "consumequeue", "index", "config", "checkpoint", "abort", "lock"}
"""The only names that a store's folder may contain."""
STORED: Final = (codes.SUCCESS, codes.FLUSH_DISK_TIMEOUT, codes.FLUSH_SLAVE_TIMEOUT, codes.SLAVE_NOT_AVAILABLE)


@dataclass
class FuzzResult:
    """The result.

    `kinds`: frames sent, by kind. `codes`: responses, by code. `lost`: acknowledged messages that the profile is known to lose, and the
    record before them. `findings`: all other violations.
    """

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
        yield from (f"lost by the profile: {text}" for text in self.lost)
        yield from (f"finding: {text}" for text in self.findings or ["none"])


def fuzz(profile: str, frames: int, seed: int = 0, per_round: int = 10_000) -> FuzzResult:
    """Send `frames` frames, in rounds. Raises TargetError if the implementation cannot be served."""
    began, result, number = time.monotonic(), FuzzResult(), 0
    while result.frames < frames:
        with Served(profile).open(Setup(settings=SETTINGS)) as running:
            store = _Store(running, result, PROFILES[profile].hosts_by_flag)
            for _ in range(ROUNDS):
                if result.frames < frames and store.usable:
                    store.round(
                        Frames(seed * 1_000_003 + number, poison=number % ROUNDS == ROUNDS - 1), min(per_round, frames - result.frames)
                    )
                    number += 1
    result.seconds = time.monotonic() - began
    return result


class _Store:
    """One store, and the acknowledged messages on it: place in the log and kind of request."""

    def __init__(self, running: Deployment, result: FuzzResult, hosts_by_flag: bool) -> None:
        self._running, self._result, self._hosts_by_flag = running, result, hosts_by_flag
        self._places: dict[int, str] = {}
        self._probes = 0
        self._beside = {path.name for path in running.store(BROKER).parent.iterdir()}
        self.usable = True

    def round(self, frames: Frames, count: int) -> None:
        """Send frames, kill the broker, and check what is left."""
        where = f"seed {frames.seed}" + (", poisoned" if frames.poison else "")
        self._send(frames, count)
        self._running.kill(BROKER)
        self._result.kills += 1
        end = self._check(where, poison=frames.poison)
        try:
            come_back(self._running, BROKER)
            self._probe(where, end)
        except (TargetError, RemotingError) as problem:
            self._report(f"{where}: the broker does not go on from its store: {problem}")

    def _report(self, finding: str) -> None:
        self.usable = False
        self._result.findings.append(finding)

    # Frames

    def _send(self, frames: Frames, count: int) -> None:
        address = str(self._running.address(BROKER))
        while count > 0:
            with closing(socket.create_connection(host_and_port(address), PATIENCE)) as connection:
                count -= self._windows(_Pipeline(connection), frames, count)

    def _windows(self, pipeline: _Pipeline, frames: Frames, count: int) -> int:
        """Send windows of frames until all are sent or the connection is lost. Return the number sent."""
        sent = 0
        while sent < count:
            drawn = [frames.draw() for _ in range(min(WINDOW, count - sent))]
            sent += len(drawn)
            self._result.frames += len(drawn)
            self._result.kinds.update(frame.kind for frame in drawn)
            answers = pipeline.ask(
                [frames.encoded(frame.command) for frame in drawn], [frame.command.opaque for frame in drawn if _waits(frame)]
            )
            for frame in drawn:
                self._note(frame, answers.get(frame.command.opaque), frames)
            if pipeline.lost:
                break
        return sent

    def _note(self, frame: Drawn, answer: Command | None, frames: Frames) -> None:
        if answer is None:
            self._result.unanswered += _waits(frame)
            return
        self._result.codes[answer.code] += 1
        for id_ in (answer.ext_fields or {}).get("msgId", "").split(",") if answer.code in STORED else ():
            if id_:
                frames.most_place = hexadecimal(id_[16:])
                self._places[frames.most_place] = frame.kind
                self._result.acknowledged += 1

    # Checks

    def _check(self, where: str, *, poison: bool) -> int:
        """Return where the log ends or is damaged. Report acknowledged messages that are not before that place."""
        store = self._running.store(BROKER)
        strange = {path.name for path in store.iterdir()} - OWN | ({path.name for path in store.parent.iterdir()} - self._beside)
        if strange or any(not is_digits(path.name) for path in (store / "commitlog").iterdir()):
            self._report(f"{where}: files are where none belong: {sorted(strange)}")
        log = self._read(store)
        places = {record.at for record in log.records}
        damage = log.end if log.damage is None else log.damage.at
        missing = sorted(place for place in self._places if place not in places)
        if missing:
            text = f"{where}: {len(missing)} acknowledged messages from {missing[0]} on ({self._places[missing[0]]}); {log.damage}"
            is_unparsable = log.damage is not None and log.damage.reason is Reason.LENGTHS and missing[0] >= damage
            known = is_unparsable and (poison or self._flagged(store, damage))
            self._result.lost.append(text) if known else self._report(text)
        self.usable = self.usable and not missing  # a store that was truncated uses places twice
        return damage

    def _read(self, store: Path) -> LogRecords:
        files = sorted((store / "commitlog").iterdir())
        return read_log(b"".join(path.read_bytes() for path in files), FILE_SIZE, hosts_by_flag=self._hosts_by_flag)

    def _flagged(self, store: Path, place: int) -> bool:
        """Return whether the record at a place has the IPv6 flags, and the profile trusts them."""
        path = store / "commitlog" / f"{place // FILE_SIZE * FILE_SIZE:020d}"
        head = head_of(path.read_bytes()[place % FILE_SIZE :][:LONGEST_HEAD])
        return self._hosts_by_flag and head is not None and bool(head.sys_flag & HOSTS_IPV6)

    def _probe(self, where: str, end: int) -> None:
        """Check that a further message is appended to the log and dispatched."""
        with self._running.connect(BROKER) as connection:
            answer = connection.ask(plain("send", topic="Probe"), PATIENCE)
            place = hexadecimal((answer.ext_fields or {}).get("msgId", "0" * 32)[16:])
            if answer.code not in STORED or (place < end and self.usable):
                self._report(
                    f"{where}: after a start a message is answered {answer.code} and lies at {place}, where the log ended at {end}"
                )
            self._probes += 1
            deadline, count = time.monotonic() + PATIENCE, "0"
            while self.usable and whole_number(count) < self._probes and time.monotonic() < deadline:
                count = (connection.ask(plain("max_offset", topic="Probe"), PATIENCE).ext_fields or {}).get("offset", "0")
            if self.usable and whole_number(count) != self._probes:
                self._report(f"{where}: {self._probes} messages to one queue, of which {count} are dispatched")


class _Pipeline:
    """A connection with many frames in flight. `lost`: the broker has closed it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()
        self.lost = False

    def ask(self, frames: list[bytes], waited: list[int]) -> dict[int, Command]:
        """Return the responses by opaque."""
        responses: dict[int, Command] = {}
        open_, deadline = set(waited), time.monotonic() + PATIENCE
        self._socket.settimeout(PATIENCE)
        try:
            self._socket.sendall(b"".join(frames))
            while open_ and time.monotonic() < deadline:
                while (command := take(self._buffer)) is not None:
                    if command.is_response:
                        responses[command.opaque] = command
                        open_.discard(command.opaque)
                if open_:
                    self._socket.settimeout(0.5 if len(open_) < len(waited) // 10 else PATIENCE)
                    data = self._socket.recv(1 << 18)
                    self.lost = not data
                    self._buffer += data
                    if self.lost:
                        break
        except TimeoutError:
            pass  # some frames get no response
        except OSError:
            self.lost = True
        return responses


def _waits(frame: Drawn) -> bool:
    return not frame.command.is_one_way


def main(arguments: list[str] | None = None) -> int:
    """Run the command of the module docstring. Return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description="Fuzz the served implementation with strange names and sizes.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--profile", default="P494")
    parser.add_argument("--seed", type=int, default=0)
    options: Any = parser.parse_args(arguments)
    result = fuzz(options.profile, options.frames, options.seed)
    for line in result.lines():
        tell(line)
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())
