"""How fast the simulated cluster is, beside what its parts cost alone, and where the time goes.

Everything runs in one thread of this process, so a rate by CPU time is a rate by core. In each round every work is done once,
beside its limit: the least that such a work has to do. A machine that slows down meets both, so their ratio is
steadier than either. Making clusters ready is not counted.
"""

from __future__ import annotations

import cProfile
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
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

from .figures import Bench, FigureColumn, Tell, quiet, ratio, row, table, timed
from .shares import shares

PROFILE, SCOPE = "P49", "names"
TOPIC, BODY, BATCH = "topic", b"x" * 100, 10
KEYS = (
    "work", "unit", "size", "rounds", "cpu_min", "cpu_median", "cpu_max", "wall_min", "wall_median", "wall_max",
    "target", "limit", "of_limit", "parts",
)  # fmt: skip

Done = Mapping[str, int]  # unit to how many were done
Ready = Callable[[], Done]


@dataclass(frozen=True)
class Workload:
    """A work: `prepare` makes one of a size ready, with the number of the round; `size` is that of a usual round.

    `limit` is the name of the work that it is compared with, `target` what one core should do in a second.
    """

    prepare: Callable[[int, int], Ready]
    size: int
    limit: str | None = None
    target: int | None = None


def sends(size: int, _: int) -> Ready:
    """Single messages to a topic that is there: producer, network, broker, store, and the answer back."""
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
    """Each message creates its topic: two questions for routes, the table written to the disk, a registration."""
    cluster = Cluster(profile=PROFILE)
    producer = cluster.producer()

    def run() -> Done:
        for number in range(size):
            cluster.scheduler.complete(producer.send(Message(f"{TOPIC}-{number}", body=BODY)))
        return {"first sends": size}

    return run


def batches(size: int, _: int) -> Ready:
    """Messages in batches of ten."""
    cluster = Cluster(profile=PROFILE)
    producer = cluster.producer()
    cluster.scheduler.complete(producer.send(Message(TOPIC, body=BODY)))

    def run() -> Done:
        for _ in range(size // BATCH):
            cluster.scheduler.complete(producer.send_batch([Message(TOPIC, body=BODY) for _ in range(BATCH)]))
        return {"messages": size // BATCH * BATCH}

    return run


def appends(size: int, _: int) -> Ready:
    """Puts into a store of its own."""
    scheduler, store = _store()
    return lambda: _append(size, scheduler, store)


def dispatch(size: int, _: int) -> Ready:
    """Consume queues built from a log."""
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
    """Programs of the stateful engine, all on one campaign, as it runs them; what it remembers of states is kept."""
    from rocketproof_properties.catalogue.source import ModelSource
    from rocketproof_properties.conformance.stateful.engine import target_of
    from rocketproof_properties.conformance.stateful.machine import Campaign, run

    source = ModelSource(SCOPE, PROFILE)
    subject = source.subject()
    campaign = Campaign(subject.instance, target_of(source, subject))

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
    """A thread asks another one and waits for its answer, and neither does anything else."""
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
    """Records made into bytes."""
    message = Message(TOPIC, body=BODY)
    parts = record.parts_of(message)

    def run() -> Done:
        for _ in range(size):
            record.encode(message, parts)
        return {"records": size}

    return run


def unpacking(size: int, _: int) -> Ready:
    """Bytes made into messages."""
    message = Message(TOPIC, body=BODY)
    data = record.encode(message, record.parts_of(message))

    def run() -> Done:
        for _ in range(size):
            record.decode(data, exact=False)
        return {"records": size}

    return run


def kinds() -> dict[str, Workload]:
    """Every work by its name, limits before those that are compared with them."""
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
    """What the rounds so far gave for one unit of one work, in units a second."""

    cpu: list[float]
    wall: list[float]


def measure(
    *,
    seconds: float,
    rounds: int = 3,
    works: Mapping[str, Workload] | None = None,
    tell: Tell = quiet,
    into: list[Bench] | None = None,
) -> list[Bench]:
    """Rows of KEYS, one for each unit of each work: rates a second of CPU and wall time; `parts` are shares of CPU time.

    `rounds` is the least number of them. `of_limit` is the rate by its limit's, of each round, the median. Rows are added to
    `into` at the end, also after Ctrl-C. Raises Finding if the stateful engine meets one.
    """
    chosen = kinds() if works is None else works
    found: dict[tuple[str, str], _Rates] = {}
    parts: dict[str, dict[str, float]] = {}
    rows = [] if into is None else into
    try:
        tell("warming up")
        for kind in chosen.values():
            kind.prepare(max(1, kind.size // 10), 0)()
        end, done = time.monotonic() + seconds, 0
        while done < rounds or time.monotonic() < end:
            done += 1
            tell(f"round {done}")
            for name, kind in chosen.items():
                _time(name, kind, done, found)
        for name, kind in chosen.items():
            tell(f"profile of {name}")
            parts[name] = profile(kind)
    finally:
        rows += [_row(name, unit, chosen[name], found, parts.get(name, {})) for name, unit in found]
    return rows


def _time(name: str, kind: Workload, number: int, found: dict[tuple[str, str], _Rates]) -> None:
    ready = kind.prepare(kind.size, number)
    done, spent = timed(ready)
    for unit, count in done.items():
        rates = found.setdefault((name, unit), _Rates([], []))
        rates.cpu.append(count / max(spent["cpu_seconds"], 1e-9))
        rates.wall.append(count / max(spent["wall_seconds"], 1e-9))


def profile(kind: Workload) -> dict[str, float]:
    """The shares of CPU time by part of the program, of one round in the profiler, which slows calls down more than the rest."""
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(kind.prepare(kind.size, 0))
    return shares(profiler)


def _row(name: str, unit: str, kind: Workload, found: Mapping[tuple[str, str], _Rates], parts: Mapping[str, float]) -> Bench:
    rates = found[name, unit]
    figures: Bench = {"work": name, "unit": unit, "size": kind.size, "rounds": len(rates.cpu)}
    for clock, values in (("cpu", rates.cpu), ("wall", rates.wall)):
        figures |= {f"{clock}_min": min(values), f"{clock}_median": statistics.median(values), f"{clock}_max": max(values)}
    figures |= {"target": kind.target, "limit": kind.limit, "parts": dict(parts)}
    if kind.limit is not None:
        limit = next(rates for (other, _), rates in found.items() if other == kind.limit)
        figures["of_limit"] = ratio(rates.cpu, limit.cpu)
    return row(KEYS, figures)


COLUMNS = (
    FigureColumn("work", "work"),
    FigureColumn("unit", "unit"),
    FigureColumn("rounds", "rounds", "d"),
    FigureColumn("a CPU s: min", "cpu_min", ",.0f"),
    FigureColumn("median", "cpu_median", ",.0f"),
    FigureColumn("max", "cpu_max", ",.0f"),
    FigureColumn("a wall s", "wall_median", ",.0f"),
    FigureColumn("target", "target", ",d"),
    FigureColumn("of its limit", "of_limit", ".3f"),
    FigureColumn("limit", "limit"),
)


def text(rows: Sequence[Bench]) -> str:
    """The rows as a table, and under it the shares of CPU time."""
    parts = {each["work"]: each["parts"] for each in rows}
    lines = [table(COLUMNS, rows), "", "CPU time by part, in the profiler:"]
    for work, of in parts.items():
        lines.append(f"{work}: {', '.join(f'{part} {share:.0%}' for part, share in of.items() if share >= 0.005)}")
    return "\n".join(lines)
