"""Measure the speed of the simulated cluster, compared with its parts alone, and where the time goes.

Everything runs in one thread of this process, so a rate per CPU second is a rate per core. Each round runs every workload together with its
limit: the least work that it has to do. A machine that slows down affects both, so their ratio is steadier than either. Creating clusters
is not counted.
"""

from __future__ import annotations

import cProfile
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.store import record
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.tasks import Future, Wait, Work
from rocketproof_profiles import PROFILES

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark, ratio, timed
from .shares import shares

PROFILE, SCOPE = "P49", "names"
TOPIC, BODY, BATCH = "topic", b"x" * 100, 10
TABLE = FigureTable(
    (
        FigureColumn("work", "work"), FigureColumn("unit", "unit"), FigureColumn("rounds", "rounds", "d"),
        FigureColumn("a CPU s: min", "cpu_min", ",.0f"), FigureColumn("median", "cpu_median", ",.0f"),
        FigureColumn("max", "cpu_max", ",.0f"), FigureColumn("a wall s", "wall_median", ",.0f"), FigureColumn("target", "target", ",d"),
        FigureColumn("of its limit", "of_limit", ".3f"), FigureColumn("limit", "limit"),
    ),
    more=("size", "wall_min", "wall_max", "parts",),
)  # fmt: skip

Done = Mapping[str, int]  # number done by unit
Ready = Callable[[], Done]


@dataclass(frozen=True)
class Workload:
    """A workload. `prepare` takes a size and the number of the round. `size` is the default size of a round.

    `limit`: the workload it is compared with. `target`: operations per second that one core should reach.
    """

    prepare: Callable[[int, int], Ready]
    size: int
    limit: str | None = None
    target: int | None = None


def sends(size: int, _: int) -> Ready:
    """Send single messages to an existing topic: producer, network, broker, store, and the response."""
    cluster = Cluster(profile=PROFILE)
    producer = cluster.producer()
    complete = cluster.scheduler.complete
    complete(producer.send(Message(TOPIC, body=BODY)))

    def run() -> Done:
        for _ in range(size):
            complete(producer.send(Message(TOPIC, body=BODY)))
        return {"sends": size}

    return run


def first_sends(size: int, _: int) -> Ready:
    """Send messages that each create their topic: two route queries, a write of the table, a registration."""
    cluster = Cluster(profile=PROFILE)
    producer = cluster.producer()

    def run() -> Done:
        for number in range(size):
            cluster.scheduler.complete(producer.send(Message(f"{TOPIC}-{number}", body=BODY)))
        return {"first sends": size}

    return run


def batches(size: int, _: int) -> Ready:
    """Send messages in batches of ten."""
    cluster = Cluster(profile=PROFILE)
    producer = cluster.producer()
    cluster.scheduler.complete(producer.send(Message(TOPIC, body=BODY)))

    def run() -> Done:
        for _ in range(size // BATCH):
            cluster.scheduler.complete(producer.send_batch([Message(TOPIC, body=BODY) for _ in range(BATCH)]))
        return {"messages": size // BATCH * BATCH}

    return run


def appends(size: int, _: int) -> Ready:
    """Put messages into a store alone."""
    scheduler, store = _store()
    return lambda: _append(size, scheduler, store)


def dispatch(size: int, _: int) -> Ready:
    """Build consume queues from a log."""
    scheduler, store = _store()
    _append(size, scheduler, store)
    return lambda: {"records": store.dispatch()}


def _store() -> tuple[Scheduler, MessageStore]:
    scheduler = Scheduler()
    return scheduler, MessageStore(BrokerSettings(), PROFILES[PROFILE], scheduler.clock, SimulatedDisk())


def _append(size: int, scheduler: Scheduler, store: MessageStore) -> Done:
    for _ in range(size):
        scheduler.complete(store.put_message(Message(TOPIC, body=BODY)))
    return {"appends": size}


def programs() -> Callable[[int, int], Ready]:
    """Run programs of the stateful engine on one campaign. Its knowledge of states is kept between rounds."""
    from rocketproof_properties.catalogue.source import ModelSource
    from rocketproof_properties.conformance.stateful.engine import driver_of
    from rocketproof_properties.conformance.stateful.machine import Campaign, run

    source = ModelSource(SCOPE, PROFILE)
    subject = source.subject()
    campaign = Campaign(subject.instance, driver_of(source, subject))

    def prepare(size: int, number: int) -> Ready:
        def perform() -> Done:
            programs, steps = campaign.seen.programs, campaign.seen.steps
            finding = run(campaign, size, number)
            if finding is not None:
                raise finding
            return {"programs": campaign.seen.programs - programs, "steps": campaign.seen.steps - steps}

        return perform

    return prepare


# Limits


def hand_overs(size: int, _: int) -> Ready:
    """Switch threads: one asks another and waits for its answer."""
    scheduler = Scheduler()

    async def answer(question: Future[None]) -> None:
        question.complete(None)

    async def ask() -> None:
        question: Future[None] = Future()
        scheduler.spawn(answer(question))
        await Wait(question)

    def run() -> Done:
        for _ in range(size):
            work: Work[None] = ask()
            scheduler.complete(work)
        return {"hand-overs": size}

    return run


def packing(size: int, _: int) -> Ready:
    """Encode records."""
    message = Message(TOPIC, body=BODY)
    parts = record.parts_of(message)

    def run() -> Done:
        for _ in range(size):
            record.encode(message, parts)
        return {"records": size}

    return run


def unpacking(size: int, _: int) -> Ready:
    """Decode records."""
    message = Message(TOPIC, body=BODY)
    data = record.encode(message, record.parts_of(message))

    def run() -> Done:
        for _ in range(size):
            record.decode(data, exact=False)
        return {"records": size}

    return run


def kinds() -> dict[str, Workload]:
    """Return every workload by name, limits before the workloads compared with them."""
    return {
        "hand-over": Workload(hand_overs, 5000),
        "packing": Workload(packing, 20_000),
        "unpacking": Workload(unpacking, 10_000),
        "send": Workload(sends, 2000, "hand-over", 8000),
        "first send": Workload(first_sends, 50, "hand-over"),
        "batches of 10": Workload(batches, 5000, "hand-over"),
        "append": Workload(appends, 5000, "packing", 30_000),
        "dispatch": Workload(dispatch, 5000, "unpacking"),
        f"stateful, {SCOPE}": Workload(programs(), 10),
    }


# Measuring


@dataclass
class _Rates:
    """The rates of one unit of one workload in the rounds so far, in units per second."""

    cpu: list[float]
    wall: list[float]


@benchmark
def measure(*, seconds: float, rounds: int = 3, works: Mapping[str, Workload] | None = None, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE, one for each unit of each workload: rates per second of CPU and wall time. `parts` are shares of CPU time.

    `rounds` is the minimum number of rounds. `of_limit` is the median over the rounds of the ratio to the limit's rate. Rows come at
    the end, also after Ctrl-C. Raises Finding if the stateful engine finds one.
    """
    chosen = kinds() if works is None else works
    rates: dict[tuple[str, str], _Rates] = {}
    parts: dict[str, dict[str, float]] = {}
    try:
        tell("warming up")
        for kind in chosen.values():
            kind.prepare(max(1, kind.size // 10), 0)()
        end, done = time.monotonic() + seconds, 0
        while done < rounds or time.monotonic() < end:
            done += 1
            tell(f"round {done}")
            for name, kind in chosen.items():
                _time(name, kind, done, rates)
        for name, kind in chosen.items():
            tell(f"profile of {name}")
            parts[name] = profile(kind)
    except BaseException:
        yield from _rows(chosen, rates, parts)
        raise
    yield from _rows(chosen, rates, parts)


def _time(name: str, kind: Workload, number: int, rates_of: dict[tuple[str, str], _Rates]) -> None:
    ready = kind.prepare(kind.size, number)
    done, spent = timed(ready)
    for unit, count in done.items():
        rates = rates_of.setdefault((name, unit), _Rates([], []))
        rates.cpu.append(count / max(spent["cpu_seconds"], 1e-9))
        rates.wall.append(count / max(spent["wall_seconds"], 1e-9))


def profile(kind: Workload) -> dict[str, float]:
    """Return the shares of CPU time by part of the program in one profiled round. The profiler slows calls down more than other code."""
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(kind.prepare(kind.size, 0))
    return shares(profiler)


def _rows(
    works: Mapping[str, Workload], rates_of: Mapping[tuple[str, str], _Rates], parts: Mapping[str, Mapping[str, float]]
) -> list[Bench]:
    return [_row(name, unit, works[name], rates_of, parts.get(name, {})) for name, unit in rates_of]


def _row(name: str, unit: str, kind: Workload, rates_of: Mapping[tuple[str, str], _Rates], parts: Mapping[str, float]) -> Bench:
    rates = rates_of[name, unit]
    figures: Bench = {"work": name, "unit": unit, "size": kind.size, "rounds": len(rates.cpu)}
    for clock, values in (("cpu", rates.cpu), ("wall", rates.wall)):
        figures |= {f"{clock}_min": min(values), f"{clock}_median": statistics.median(values), f"{clock}_max": max(values)}
    figures |= {"target": kind.target, "limit": kind.limit, "parts": dict(parts)}
    if kind.limit is not None:
        limit = next(rates for (other, _), rates in rates_of.items() if other == kind.limit)
        figures["of_limit"] = ratio(rates.cpu, limit.cpu)
    return TABLE.row(figures)


def text(rows: Sequence[Bench]) -> str:
    """Return the rows as a table, followed by the shares of CPU time."""
    parts = {each["work"]: each["parts"] for each in rows}
    lines = [TABLE.text(rows), "", "CPU time by part, in the profiler:"]
    for work, shares_ in parts.items():
        lines.append(f"{work}: {', '.join(f'{part} {share:.0%}' for part, share in shares_.items() if share >= 0.005)}")
    return "\n".join(lines)
