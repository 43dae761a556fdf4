"""Faults of the simulator: states of files after a power loss, a full, failing or slow disk, a bad network, a clock that jumps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from marks import behaviour
from storing import Stand, message

from nonempty import nonempty
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.crashes import METADATA, every_crash_point, losses, sample
from rocketproof_impl.simulator.disk import ProcessEnded, SimulatedDisk
from rocketproof_impl.simulator.faults import FAULTS, Cut, DiskFaults, Faults, NetworkFaults, heal, inject
from rocketproof_impl.simulator.journal import Metadata, PowerLoss
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.tasks import Future, Wait

PAGE = 4096


def outcomes(make: Callable[[], SimulatedDisk], path: str, metadata: Metadata = "ordered", grain: int = 512) -> Counter[bytes | None]:
    """Count the contents of a file after 200 power losses."""
    found: Counter[bytes | None] = Counter()
    for seed in range(200):
        disk = make()
        disk.power_loss(PowerLoss(seed, metadata, grain))
        found[disk.read(path)] += 1
    return found


# Power loss: written files


def rewritten(synced: bool = True) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.write("file", b"old")
    if synced:
        disk.sync()
    disk.write("file", b"new" * 400)
    return disk


def test_synced_data_stays() -> None:
    def make() -> SimulatedDisk:
        disk = SimulatedDisk()
        disk.write("file", b"old")
        disk.map("log", 5000).write(4000, b"x" * 500)
        disk.sync()
        return disk

    for metadata in nonempty(METADATA):
        assert outcomes(make, "file", metadata).keys() == {b"old"}
        assert outcomes(make, "log", metadata).keys() == {bytes(4000) + b"x" * 500}


def test_written_file_is_old_empty_whole_or_partial() -> None:
    found = outcomes(rewritten, "file")
    whole = b"new" * 400
    assert {b"old", b"", whole} <= found.keys()
    parts = found.keys() - {b"old", b"", whole}
    assert all(part is not None and len(part) in (512, 1024, 1200) for part in parts)
    assert any(part and part[:512] == bytes(512) and part[512:1024] == whole[512:1024] for part in parts)
    assert None not in found


def test_a_file_that_is_new_may_be_gone() -> None:
    found = outcomes(lambda: rewritten(synced=False), "file")
    assert found[None] > 0
    assert found[b"new" * 400] > 0


@behaviour("PER-05")
def test_names_are_lost_in_order_or_not() -> None:
    def make() -> SimulatedDisk:
        disk = SimulatedDisk()
        disk.write("main", b"old")
        disk.sync()
        disk.write("tmp", b"new")
        disk.delete("main")
        disk.rename("tmp", "main")
        return disk

    def names(metadata: Metadata) -> set[tuple[str, ...]]:
        found = set()
        for seed in range(200):
            disk = make()
            disk.power_loss(PowerLoss(seed, metadata))
            found.add(tuple(sorted(disk.files)))
        return found

    assert names("ordered") == {("main",), ("main", "tmp"), ("tmp",)}
    assert names("unordered") == {("main",), ("main", "tmp"), ("tmp",), ()}


# Power loss: mapped files


def mapped(*, forced: bool) -> SimulatedDisk:
    disk = SimulatedDisk()
    region = disk.map("log", 3 * PAGE)
    region.write(0, b"a" * 3 * PAGE)
    region.force()
    region.write(100, b"b" * 1000)
    region.write(2 * PAGE, b"c" * PAGE)
    if forced:
        region.force()
    return disk


@behaviour("FLU-02")
def test_forced_data_stays_and_any_other_sector_may() -> None:
    assert outcomes(lambda: mapped(forced=True), "log").keys() == {mapped(forced=True).read("log")}
    found = outcomes(lambda: mapped(forced=False), "log")
    assert b"a" * 3 * PAGE in found
    assert mapped(forced=False).read("log") in found
    torn = 0
    for left in found:
        assert left is not None
        assert left[PAGE : 2 * PAGE] == b"a" * PAGE
        assert all(set(left[at : at + 512]) in ({97}, {99}) for at in range(2 * PAGE, 3 * PAGE, 512))
        torn += 0 < left[100:1100].count(b"b") < 1000
    assert torn > 20


def test_with_grains_of_a_page_no_page_is_torn() -> None:
    for left in nonempty(outcomes(lambda: mapped(forced=False), "log", grain=PAGE)):
        assert left is not None
        assert left[100:1100].count(b"b") in (0, 1000)
        assert left[2 * PAGE :].count(b"c") in (0, PAGE)


def test_mapped_file_can_lose_its_length_or_name() -> None:
    def make(*, forced: bool) -> SimulatedDisk:
        disk = SimulatedDisk()
        region = disk.map("log", PAGE)
        region.write(0, b"x")
        if forced:
            region.force()
        return disk

    def sizes(metadata: Metadata, *, forced: bool) -> set[int | None]:
        found = set()
        for seed in range(100):
            disk = make(forced=forced)
            disk.power_loss(PowerLoss(seed, metadata))
            found.add(disk.size("log"))
        return found

    assert sizes("ordered", forced=False) == {None, 0, PAGE}
    assert sizes("ordered", forced=True) == sizes("unordered", forced=True) == {PAGE}
    assert sizes("posix", forced=True) == {None, PAGE}


def test_force_also_syncs_earlier_names_only_in_order() -> None:
    def make() -> SimulatedDisk:
        disk = SimulatedDisk()
        disk.map("first", 10)
        disk.map("log", 10).force()
        return disk

    assert None not in outcomes(make, "first", "ordered")
    assert None in outcomes(make, "first", "unordered")


def test_after_a_power_loss_everything_is_on_the_device() -> None:
    disk = mapped(forced=False)
    disk.power_loss(PowerLoss(3))
    left = disk.read("log")
    for seed in range(20):
        disk.power_loss(PowerLoss(seed, "posix"))
        assert disk.read("log") == left


def test_the_same_seed_leaves_the_same() -> None:
    one, two = mapped(forced=False), mapped(forced=False)
    for disk in (one, two):
        disk.power_loss(PowerLoss(7, "unordered"))
    assert one.read("log") == two.read("log")


def test_old_operations_reach_the_device_without_a_force() -> None:
    disk = SimulatedDisk()
    disk.write("file", b"")
    for number in range(100):
        disk.map(f"log{number}", 1)
    disk.power_loss(PowerLoss(1))
    assert disk.read("file") == b""


def test_files_set_by_a_test_are_on_the_device() -> None:
    for act in (lambda disk: disk.read("file"), lambda disk: disk.rename("file", "other"), lambda disk: disk.map("file", 3)):
        for seed in range(20):
            disk = SimulatedDisk()
            disk.files["file"] = bytearray(b"abc")
            act(disk)
            disk.power_loss(PowerLoss(seed))
            assert b"abc" in (disk.read("file"), disk.read("other"))


# Full and slow


def test_full_disk_still_overwrites_allocated_space() -> None:
    disk = SimulatedDisk()
    disk.write("file", b"x" * 5000)
    region = disk.map("log", 1 << 20)
    region.write(10, b"abc")
    disk.room = 0
    region.write(20, b"def")
    assert region.read(10, 13) == b"abc\0\0\0\0\0\0\0def"
    with pytest.raises(OSError, match="No space left"):
        region.write(PAGE - 2, b"long")
    assert region.read(PAGE - 2, 4) == b"lo\0\0"
    with pytest.raises(OSError, match="No space left"):
        disk.write("other", b"x")
    assert disk.read("other") == b""
    disk.delete("file")
    assert disk.room == 2 * PAGE
    disk.write("other", b"x" * 2 * PAGE)
    with pytest.raises(OSError, match="No space left"):
        disk.write("other", b"y" * (2 * PAGE + 1))
    assert disk.read("other") == b"y" * 2 * PAGE


def test_slow_disk_does_not_block_other_threads() -> None:
    cluster = Cluster()
    disk, clock, seen = cluster.node().disk, cluster.clock, []

    async def other() -> None:
        await Wait(Future(), 5)
        seen.append(clock.now() - began)

    async def writing() -> None:
        disk.write("file", b"x")
        seen.append(clock.now() - began)

    began = clock.now()
    disk.slow = lambda operation, path: 10 if operation == "truncate" else 0
    cluster.scheduler.spawn(other())
    cluster.scheduler.complete(writing())
    assert seen == [5, 10]


@behaviour("STO-03", "CL-05")
def test_slow_disk_under_the_lock_is_a_busy_page_cache() -> None:
    cluster = Cluster(profile="P494")
    store = cluster.broker().store
    cluster.node().disk.slow = lambda operation, path: 1500 if operation == "extend" and "commitlog" in path else 0
    first = cluster.scheduler.spawn(store.put_message(message()))
    later: list[PutMessageStatus] = []

    async def second() -> None:
        await Wait(Future(), 1200)
        later.append((await store.put_message(message())).status)

    cluster.scheduler.spawn(second())
    assert cluster.scheduler.run(first.done).status is PutMessageStatus.PUT_OK
    assert later == [PutMessageStatus.OS_PAGECACHE_BUSY]


@behaviour("CL-07")
def test_full_disk_refuses_puts_and_the_store_continues() -> None:
    stand = Stand()
    stand.disk.room = 0
    with pytest.raises(Exception, match="No space left"):
        stand.put(message())
    stand.disk.room = None
    assert stand.put(message()).ok


# Named faults


def run(cluster: Cluster, name: str, seed: int = 3, sends: int = 30) -> tuple[int, int]:
    """Return the number of successful sends under these faults, and the duration."""
    producer = cluster.producer()
    cluster.scheduler.complete(producer.send(Message("T", body=b"x")))
    began, sent = cluster.clock.time, 0
    inject(cluster, name, seed)
    for _ in range(sends):
        try:
            cluster.scheduler.complete(producer.send(Message("T", body=b"x")))
        except ClientError:
            continue
        sent += 1
    heal(cluster)
    cluster.scheduler.complete(producer.send(Message("T", body=b"x")))
    return sent, cluster.clock.time - began


@pytest.mark.parametrize("name", FAULTS)
def test_a_cluster_works_again_after_each_fault(name: str) -> None:
    sent, millis = run(Cluster(2), name)
    assert FAULTS[name].about
    if name in ("no answers",):
        assert sent == 0
    elif name != "full disk":
        assert sent > 10
    if name in ("lossy network", "slow network", "bad network", "no answers", "slow disk"):
        assert millis > 100


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(Cluster(2), "bad network", 1) == run(Cluster(2), "bad network", 1) != run(Cluster(2), "bad network", 2)


def test_packet_faults_have_the_configured_frequency() -> None:
    cluster = Cluster()
    packets: list[object] = []
    cluster.network.watch = packets.append
    cluster.caller()
    plan = NetworkFaults(lose=0.25, double=0.5, late=0.5, latest=9).plan(1)
    cluster.scheduler.complete(cluster.producer().send(Message("T", body=b"x")))
    packet = packets[0]
    found = [plan(packet) for _ in range(4000)]  # type: ignore[arg-type] # a packet of the network
    copies = Counter(len(each) for each in found)
    assert abs(copies[0] - 1000) < 120
    assert abs(copies[2] - 1500) < 150
    delays = Counter(delay for each in found for delay in each)
    assert set(delays) == set(range(10))
    assert abs(delays[0] - delays.total() / 2) < 200


@pytest.mark.parametrize(
    ("cut", "stopped"), [(Cut("a", "b"), "ab ba"), (Cut("a", "b", both=False), "ab"), (Cut(target="b"), "ab bb ba cb bc")]
)
def test_partition_is_one_way_or_both_ways(cut: Cut, stopped: str) -> None:
    class Between:
        def __init__(self, source: str, target: str) -> None:
            self.source, self.target = source, target

    found = {a + b for a in "abc" for b in "abc" if cut.stops(Between(a, b))}  # type: ignore[arg-type] # a packet's addresses are enough
    assert found == set(stopped.split())


def test_faults_of_the_disk_can_be_on_some_paths_only() -> None:
    cluster = Cluster()
    inject(cluster, Faults("all fails", disk=DiskFaults(fail=1.0, where="/commitlog/")))
    disk = cluster.node().disk
    disk.write("store/config/file", b"x")
    with pytest.raises(OSError, match=r"Input/output error.*commitlog"):
        disk.map("store/commitlog/0", 10)
    heal(cluster)
    disk.map("store/commitlog/0", 10)


def test_clock_jump_wakes_no_thread() -> None:
    cluster = Cluster()
    woken: list[int] = []

    async def waiting() -> None:
        await Wait(Future(), 1000)
        woken.append(cluster.clock.time)

    cluster.scheduler.spawn(waiting())
    before = cluster.clock.time
    inject(cluster, "clock forward")
    cluster.scheduler.settle()
    assert woken == []
    assert cluster.clock.now() == before + 3_600_000
    heal(cluster)
    inject(cluster, "clock back")
    cluster.scheduler.advance(1000)
    assert woken == [before + 1000]
    assert cluster.clock.now() == before + 1000


@behaviour("INV-42", "CL-06")
def test_a_clock_set_back_makes_store_times_fall() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    for millis in (0, -5000):
        cluster.clock.jump(millis)
        cluster.scheduler.complete(producer.send(Message("T", body=b"x")))
    first, second = (record.store_timestamp for node in cluster.nodes.values() for record in node.running.store.records())
    assert second == first - 5000


# A machine of a cluster


@behaviour("REC-02", "FLU-02")
def test_machine_restarts_after_a_power_loss() -> None:
    cluster = Cluster(flush_disk_type="SYNC_FLUSH", profile="P494")
    producer = cluster.producer()
    for _ in range(5):
        cluster.scheduler.complete(producer.send(Message("T", body=b"kept")))
    cluster.node().disk.sync()
    cluster.scheduler.complete(producer.send(Message("T", body=b"kept")))
    cluster.power_loss(loss=PowerLoss(1))
    assert cluster.restart()
    assert [record.body for record in cluster.broker().store.records()] == [b"kept"] * 6


def test_points_are_chosen_by_seed() -> None:
    assert sample(5, 9, 1) == [0, 1, 2, 3, 4, 5]
    assert sample(100, 7, 1) == sample(100, 7, 1) != sample(100, 7, 2)
    assert losses([1, 2], ["posix"]) == [None, PowerLoss(1, "posix"), PowerLoss(2, "posix")]


def test_every_point_of_a_write() -> None:
    found = [(point.steps, point.before, disk.read("a")) for point, disk in every_crash_point(SimulatedDisk, _write, lambda disk: disk)]
    assert found == [(0, "truncate a", None), (1, "write a", b""), (2, "write a", b"x"), (3, "the end", b"xy")]
    disk = SimulatedDisk()
    disk.end_after(0)
    with pytest.raises(ProcessEnded):
        _write(disk)


def _write(disk: SimulatedDisk) -> None:
    disk.write("a", b"xy")
