"""Brokers on stores whose files were mutated at random.

`python tests/long/mutated_stores.py --count 100000 --processes 2` runs a broker on each of 100,000 stores: it loads the store, puts
messages, reads, lets every service run for some simulated seconds, and stops. The run fails if

- an exception appears that the described system does not have (a refused load is no failure),
- a service ends,
- a start takes longer than 30 s or the whole run of a store longer than 60 s,
- a process uses more than 512 MB of memory.

The number and the seed determine a store: `--first N --count 1` repeats store N.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import resource
import shutil
import signal
import struct
import sys
import tarfile
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.executor import POOLS, ThreadPool
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message, properties_text
from rocketproof_impl.periodic import drive
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.network import SimulatedNetwork
from rocketproof_impl.simulator.scheduler import Scheduler, SimulatedClock
from rocketproof_impl.system.disk import SystemDisk
from rocketproof_impl.tasks import Work
from rocketproof_profiles import PROFILES
from rocketproof_protocol.flags import BORN_IPV6, PREPARED, STORE_IPV6
from rocketproof_traces.common.pools import on_processes
from rocketproof_traces.stored.record import read_log

DATA = Path(__file__).parents[1] / "data"
WRITTEN_BY = {"P40": "4.9.4", "P45": "4.9.4", "P49": "4.9.4", "P494": "4.9.4", "P533": "5.3.3", "P540": "5.3.3"}
LATER_THAN_THE_STORES = 1_796_500_000_000
LONGEST_START_SECONDS = 30
LONGEST_RUN_SECONDS = 60
FILE_SIZE, SLOTS, ENTRIES = 65536, 50, 200
MOST_MEGABYTES = 512
CHUNK = 500
IPV6 = ("2001:0db8:0000:0000:0000:0000:0000:0001", 10911)
NUMBERS = (0, -1, 1, 7, 8, 90, 91, 127, 128, 32767, 32768, 65535, 65536, 1 << 20, 1 << 30, (1 << 31) - 1, -(1 << 31))
LONGS = (*NUMBERS, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63))
MAGICS = (0xDAA320A7, 0xDAA320AB, 0xCBD43194, 0)
TEXTS = (
    '{"',
    "{}",
    "[]",
    "null",
    "0",
    '""',
    "\x00",
    "{" * 5000,
    "[" * 50_000,
    "9" * 5000,
    '{"offsetTable":[]}',
    '{"topicConfigTable":{"a":1}}',
)
VALUES = (None, True, -1, 0, 1 << 70, 1.5, "", "x", "1", [], [1], {}, {"a": {}}, "\ud800")
NAMES = ("00000000000000000007", "7", "²", "99999999999999999999", "00000000000000131072", "-1", "a b", "~", "x" * 200)

Files = dict[str, bytes]


# Stores


@functools.cache
def sound(profile: str) -> Files:
    """Return the files of a sound store: those that a real release wrote, and those that this broker added under the profile."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(DATA / f"store-mixed-{WRITTEN_BY[profile]}.tar.gz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # as unpack(), which a script cannot import
            archive.extractall(name)
        root = Path(name) / "store"
        with running(root, profile) as broker:
            assert broker.load(), profile
            broker.use()
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@functools.cache
def record_places(profile: str) -> dict[str, list[int]]:
    """Return where records begin in each file of the log."""
    files = sound(profile)
    names = sorted(name for name in files if name.startswith("commitlog/"))
    found = read_log(b"".join(files[name] for name in names), FILE_SIZE, hosts_by_flag=PROFILES[profile].hosts_by_flag)
    places: dict[str, list[int]] = {name: [] for name in names}
    for record in found.records:
        places[names[record.at // FILE_SIZE]].append(record.at % FILE_SIZE)
    assert all(places.values())
    return places


def write(root: Path, files: Files) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


# Mutations


def mutated(profile: str, random: Random) -> Files:
    """Return a store with mutations in some files."""
    files = dict(sound(profile))
    if random.random() < 0.5:
        files["abort"] = b""  # as after a crash
    if random.random() < 0.2:
        files = {name: data for name, data in files.items() if not name.startswith("consumequeue/")}
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        folder = random.choice(("commitlog", "commitlog", "commitlog", "consumequeue", "index", "config", "checkpoint", ""))
        names = [name for name in sorted(files) if name.startswith(folder)] or sorted(files)
        name = random.choice(names)
        kinds: tuple[Callable[[Files, str, Random, str], None], ...] = (_bytes, _bytes, _word, _word, _zeros, _length, _file)
        if name.startswith("commitlog/"):
            kinds = (*kinds, *(_record,) * 8)
        if name.endswith(".json"):
            kinds = (*kinds, *(_json,) * 6)
        random.choice(kinds)(files, name, random, profile)
    return files


def _patch(files: Files, name: str, at: int, data: bytes) -> None:
    old = files[name]
    files[name] = (old[:at] + data + old[at + len(data) :])[: max(len(old), at)]


def _bytes(files: Files, name: str, random: Random, _: str) -> None:
    for _ in range(random.choice((1, 2, 8))):
        if files[name]:
            _patch(files, name, random.randrange(_used(files[name])), random.randbytes(1))


def _used(data: bytes) -> int:
    """Return a length that rarely reaches far into the zeros at the end."""
    return max(1, min(len(data), len(data.rstrip(b"\0")) + 64))


def _word(files: Files, name: str, random: Random, _: str) -> None:
    if files[name]:
        data = struct.pack(">i", random.choice(NUMBERS)) if random.random() < 0.5 else struct.pack(">q", random.choice(LONGS))
        _patch(files, name, random.randrange(_used(files[name])) // 4 * 4, data)


def _zeros(files: Files, name: str, random: Random, _: str) -> None:
    _patch(files, name, random.randrange(len(files[name]) + 1), bytes(random.choice((4, 20, 512, 4096, 70_000))))


def _length(files: Files, name: str, random: Random, _: str) -> None:
    data = files[name]
    files[name] = (
        data[: random.randrange(len(data) + 1)] if random.random() < 0.5 else data + random.randbytes(random.choice((1, 20, 5000)))
    )


def _file(files: Files, name: str, random: Random, _: str) -> None:
    """Mutate the whole file: delete, empty, fill with noise, replace, or add a neighbour of unusual size."""
    kind, other = random.randrange(7), random.choice(sorted(files))
    if kind == 0:
        del files[name]
    elif kind == 1:
        files[name] = b""
    elif kind == 2:
        files[name] = random.randbytes(len(files[name]))
    elif kind == 3:
        files[name], files[other] = files[other], files[name]
    elif kind == 4:
        files[name] = files[other][: len(files[name])].ljust(len(files[name]), b"\0")
    elif kind == 5:
        files[f"{name.rpartition('/')[0] or 'commitlog'}/{random.choice(NAMES)}"] = files[name]
    else:
        data = files.pop(name)
        files[f"{name}/{random.choice(NAMES)}"] = data  # a folder in its place


def _record(files: Files, name: str, random: Random, profile: str) -> None:
    """Mutate a field of a record: its size, magic number, flags, hosts, offsets or a length."""
    places = record_places(profile).get(name)
    if not places:
        return
    at = random.choice(places)
    data = files[name]
    if at + 92 > len(data):
        return
    (size,) = struct.unpack_from(">i", data, at)
    kind = random.randrange(9)
    if kind == 0:
        _patch(files, name, at, struct.pack(">i", random.choice((*NUMBERS, size + 1, size - 1, -size, 65536 - at))))
    elif kind == 1:
        _patch(files, name, at + 4, struct.pack(">I", random.choice(MAGICS)))
    elif kind == 2:  # a blank of any size
        _patch(files, name, at, struct.pack(">iI", random.choice((*NUMBERS, size)), 0xCBD43194))
    elif kind == 3:
        _patch(files, name, at + 36, struct.pack(">i", random.choice((BORN_IPV6, STORE_IPV6, 48, 4, 8, 12, 1, 128, -1))))
    elif kind == 4:
        _patch(files, name, at + 12, struct.pack(">i", random.choice(NUMBERS)))
    elif kind == 5:
        _patch(files, name, at + random.choice((20, 28, 40, 56, 76)), struct.pack(">q", random.choice(LONGS)))
    elif kind == 6:
        _patch(files, name, at + random.choice((48, 52, 64, 68)), struct.pack(">i", random.choice(NUMBERS)))
    elif kind == 7:
        _patch(files, name, at + 84, struct.pack(">i", random.choice((*NUMBERS, size - 91))))
    else:
        _reread(files, name, at, size)


def _reread(files: Files, name: str, at: int, size: int) -> None:
    """Make a record that is whole if its store host is read as IPv6: the body's length is found 12 bytes later."""
    data = files[name]
    (body,) = struct.unpack_from(">i", data, at + 84)
    if not 12 <= body <= size - 91 or at + size > len(data):
        return
    rest = data[at + 88 + body : at + size]
    new = bytes(8) + struct.pack(">i", body - 12) + bytes(body - 12)
    _patch(files, name, at + 8, struct.pack(">i", zlib.crc32(bytes(body - 12)) & 0x7FFFFFFF))
    _patch(files, name, at + 36, struct.pack(">i", STORE_IPV6))
    _patch(files, name, at + 88, new + rest)


def _json(files: Files, name: str, random: Random, _: str) -> None:
    """Mutate a table of config: another value in it, or another text."""
    text = files[name].decode("utf-8", "replace")
    if random.random() < 0.3:
        files[name] = random.choice(TEXTS).encode("utf-8", "surrogatepass")
    elif random.random() < 0.3:
        at = random.randrange(len(text) + 1)
        files[name] = (text[:at] + random.choice(('"', "{", "}", ",", "1", "-", "\\ud800", "é")) + text[at + 1 :]).encode(
            "utf-8", "surrogatepass"
        )
    else:
        with suppress(ValueError, RecursionError):  # two mutations may have met the same file
            table = json.loads(text)
            _replaced(table, random)
            files[name] = json.dumps(table).encode()
    if random.random() < 0.5:
        files.pop(f"{name}.bak", None)


def _replaced(table: Any, random: Random) -> None:
    """Put a strange value somewhere into a tree of JSON."""
    while isinstance(table, dict | list) and table:
        key = random.choice(sorted(table)) if isinstance(table, dict) else random.randrange(len(table))
        if random.random() < 0.4 or not isinstance(table[key], dict | list):
            table[key] = random.choice(VALUES)
            return
        table = table[key]


# Running a broker


class Running:
    """A broker on the files below a folder, on a simulated clock."""

    def __init__(self, root: Path, profile: str) -> None:
        self.scheduler = Scheduler(SimulatedClock(LATER_THAN_THE_STORES))
        self.disk = SystemDisk(root)
        self.profile = PROFILES[profile]
        self.settings = BrokerSettings(
            store_path_root_dir=str(root),
            mapped_file_size_commit_log=FILE_SIZE,
            mapped_file_size_consume_queue=1000,
            transaction_check_interval=2000,
            transaction_time_out=1000,
            max_hash_slot_num=SLOTS,
            max_index_num=ENTRIES,
        )
        network = SimulatedNetwork(self.scheduler).endpoint("127.0.0.1:40911")
        executors = {name: ThreadPool(self.scheduler, name) for name in POOLS}
        self.broker = Broker(self.settings, self.profile, self.scheduler.clock, self.disk, network, SimulatedRandomness(0), dict(executors))
        self.dead: list[str] = []

    def load(self) -> bool:
        return self.broker.load()

    def use(self) -> None:
        """Let the services run, put messages, read the existing messages, and stop."""
        broker, scheduler, store = self.broker, self.scheduler, self.broker.store
        scheduler.complete(broker.start())
        services = (*store.services(), *broker.services())
        tasks = [scheduler.spawn(service.run(), service.name) for service in services]
        drive(scheduler, broker, broker.PERIODIC)
        scheduler.advance(500)
        for message in self._messages():
            self._tried(store.put_message(message))
        scheduler.advance(6500)
        self._read()
        self.dead += [task.name for task in tasks if task.done.done]
        for step in (broker.stop, *(service.shutdown for service in broker.services()), store.stop):
            self._tried(step())
        for task in tasks:
            task.result()

    def _messages(self) -> Iterator[Message]:
        for number, (topic, properties, flags) in enumerate(
            (
                ("Orders", {"KEYS": "k1 k2", "TAGS": "a"}, 0),
                ("Events", {"DELAY": "1"}, 0),
                ("Events", {"DELAY": "2"}, 0),
                ("New", {}, PREPARED),
                ("Orders", {"TIMER_DELAY_MS": "2000", "UNIQ_KEY": "u"}, 0),
                ("RMQ_SYS_TRANS_HALF_TOPIC", {"REAL_TOPIC": "Orders", "REAL_QID": "0", "PGROUP": "g", "UNIQ_KEY": "v"}, 0),
            )
        ):
            made = Message(topic, 0, bytes(range(40)) * 4, properties=dict(properties), sys_flag=flags, born_host=IPV6)
            made.properties_text = properties_text(properties, trailing=self.profile.ends_properties)
            made.born_timestamp = self.scheduler.clock.now()
            if number % 2:
                made.store_host = IPV6
            yield made

    def _read(self) -> None:
        store = self.broker.store
        for topic, queue_id in list(store.queues.queues):
            offset = store.min_offset(topic, queue_id)
            for _ in range(4):
                found = store.pull(topic, queue_id, offset, 32, lambda _: True)
                assert found is not None
                offset = found.next_begin_offset
            self._tried(self._looked_up(topic, queue_id))
        for place in (0, 1, 100, 5000, 65_500, 65_536, 70_000):
            store.look_message_by_offset(place)

    async def _looked_up(self, topic: str, queue_id: int) -> None:
        store = self.broker.store
        store.offset_at(topic, queue_id, self.scheduler.clock.now() - 1000, upper=True)
        store.query_message(topic, "k1", 32, 0, 1 << 62)
        store.get_message(topic, queue_id, store.max_offset(topic, queue_id) - 1)

    def _tried(self, work: Work[Any]) -> None:
        """Run an operation that can fail as in a release."""
        with suppress(OSError, JavaError):
            self.scheduler.complete(work)


@contextmanager
def running(root: Path, profile: str) -> Iterator[Running]:
    made = Running(root, profile)
    try:
        yield made
    finally:
        made.disk.close()


# Forbidden results


@dataclass
class Found:
    """`failures` are texts with the number of their store.

    `longest_start` and `longest_run` are seconds, `megabytes` is the largest memory of a process so far.
    """

    stores: int = 0
    started: int = 0
    refused: int = 0
    longest_start: float = 0.0
    longest_run: float = 0.0
    seconds: float = 0.0
    megabytes: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Merge the results of another search."""
        self.stores += other.stores
        self.started += other.started
        self.refused += other.refused
        self.longest_start = max(self.longest_start, other.longest_start)
        self.longest_run = max(self.longest_run, other.longest_run)
        self.megabytes = max(self.megabytes, other.megabytes)
        self.failures += other.failures

    def lines(self) -> Iterator[str]:
        yield f"{self.stores:,} stores in {self.seconds:.0f} s: {self.started:,} started, {self.refused:,} refused"
        yield f"longest start {self.longest_start:.2f} s, longest run {self.longest_run:.2f} s, memory {self.megabytes:.0f} MB"
        kinds = Counter(failure.partition(": ")[2].splitlines()[0][:110] for failure in self.failures)
        yield from (f"{count:,} × {kind}" for kind, count in kinds.most_common())


class _Unforeseen(logging.Handler):
    """Keeps the exceptions that the implementation contains and no release has."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else next((arg for arg in record.args or () if isinstance(arg, Exception)), None)
        is_table = record.name.endswith(".persistence")  # any damage of a table falls back to its backup (PER-03)
        if problem is not None and not is_table and not isinstance(problem, OSError | JavaError):
            self.kept.append(f"{problem!r} {_where(problem)} in {record.getMessage()[:200]}")


def _where(problem: BaseException) -> str:
    frames = traceback.extract_tb(problem.__traceback__)[-3:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


class _TooLong(BaseException):
    pass


def _too_long(*_: object) -> None:
    raise _TooLong(f"longer than {LONGEST_RUN_SECONDS} s")


def search(numbers: Iterable[int], seed: int = 0) -> Found:
    """Run a broker on the mutated store of each number."""
    found = Found()
    unforeseen, logger = _Unforeseen(), logging.getLogger("rocketproof_impl")
    logger.addHandler(unforeseen)
    propagates, logger.propagate = logger.propagate, False
    before = signal.signal(signal.SIGALRM, _too_long)
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        for number in numbers:
            profile = list(WRITTEN_BY)[number % len(WRITTEN_BY)]
            files = mutated(profile, Random(f"{seed}/{number}"))
            root = folder / "store"
            unforeseen.kept.clear()
            signal.alarm(LONGEST_RUN_SECONDS)
            try:
                _one(root, files, profile, found)
            except (Exception, _TooLong) as problem:  # noqa: BLE001 - any is a finding
                unforeseen.kept.append(f"{problem!r} {_where(problem)}")
            finally:
                signal.alarm(0)
            found.stores += 1
            found.failures += [f"store {number}, {profile}: {each}" for each in dict.fromkeys(unforeseen.kept)]
            shutil.rmtree(root, ignore_errors=True)
    finally:
        signal.signal(signal.SIGALRM, before)
        logger.removeHandler(unforeseen)
        logger.propagate = propagates
        shutil.rmtree(folder, ignore_errors=True)
    found.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def search_on(processes: int, numbers: range, seed: int) -> Iterator[Found]:
    """Search on some processes; yield the total after each chunk."""
    found, began = Found(), time.monotonic()
    chunks = [numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK)]
    for part in on_processes(processes)(functools.partial(search, seed=seed), chunks):
        found.add(part)
        found.seconds = time.monotonic() - began
        yield found


def _one(root: Path, files: Files, profile: str, found: Found) -> None:
    root.mkdir(parents=True)
    for name, data in files.items():
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):  # two mutations may want a file and a folder there
            write(root, {name: data})
    began = time.monotonic()
    with running(root, profile) as broker:
        loaded = broker.load()
        start = time.monotonic() - began
        found.longest_start = max(found.longest_start, start)
        assert start <= LONGEST_START_SECONDS, f"the start took {start:.0f} s"
        if loaded:
            broker.use()
            assert not broker.dead, f"services ended: {broker.dead}"
    found.started += loaded
    found.refused += not loaded
    found.longest_run = max(found.longest_run, time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="number of stores")
    parser.add_argument("--first", type=int, default=0, help="number of the first store")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    found = Found()
    for found in search_on(chosen.processes, range(chosen.first, chosen.first + chosen.count), chosen.seed):
        sys.stderr.write(f"{found.stores:,} stores, {len(found.failures):,} failures\n")
    sys.stdout.write("\n".join((*found.lines(), *found.failures[:40])) + "\n")
    sys.exit(bool(found.failures) or found.megabytes > MOST_MEGABYTES)


if __name__ == "__main__":
    main()
