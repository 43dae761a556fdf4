"""Measure the speed of the judge of histories, compared with porcupine on the same histories reduced to append registers.

Each measurement has its own process. Porcupine gets less: each queue is a register whose append returns the number of earlier appends.
Topics, checks and configurations are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocketproof_properties.brokers.children import completed
from rocketproof_traces import history
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.history import Event, event_line, header_line

from .contention import Load, contend
from .figures import MODELS, Bench, FigureColumn, FigureTable, Tell, apart, benchmark, child, mebibytes, medians, timed
from .peers import PeerError
from .usage import peak_memory

PROFILE = "P49"
EVENTS, PRODUCERS = 10_000, 8
LOADS = {
    "4 topics": Load(events=EVENTS, producers=PRODUCERS, topics=4, profile=PROFILE),
    "1 topic": Load(events=EVENTS, producers=PRODUCERS, topics=1, profile=PROFILE),
    "1 topic, 1 queue": Load(events=EVENTS, producers=PRODUCERS, topics=1, queues=1, random_queues=0.0, profile=PROFILE),
}
TABLE = FigureTable(
    (
        FigureColumn("tool", "tool"), FigureColumn("history", "history"), FigureColumn("events", "events", ",d"),
        FigureColumn("verdict", "verdict"), FigureColumn("CPU s", "cpu_seconds", ".3f"), FigureColumn("wall s", "wall_seconds", ".3f"),
        FigureColumn("peak MiB", "peak_rss_bytes", mebibytes), FigureColumn("CPU of porcupine's", "of_porcupine", ".1f"),
    ),
    more=("operations",),
)  # fmt: skip
FOREVER = 1 << 62


@benchmark
def run_judge_bench(loads: dict[str, Load] | None = None, *, repeats: int = 3, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE: medians of the judge and, if Go is installed, of porcupine on the same histories. Times are in seconds, without
    reading the file and starting the Python interpreter."""
    with tempfile.TemporaryDirectory() as name, _porcupine(Path(name), tell) as peer:
        for label, load in (loads or LOADS).items():
            tell(f"rocketproof: a history of {load.events} events, {label}")
            header, events = contend(load)
            file = Path(name) / "history.ndjson"
            file.write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n", encoding="utf-8")
            own = medians([apart(measure, str(file), load.profile) for _ in range(repeats)])
            ours = TABLE.row({**own, "tool": "rocketproof", "history": label})
            yield ours
            if peer is not None:
                tell(f"porcupine: {label}")
                text = "".join(f"{' '.join(map(str, append))}\n" for append in registers(events))
                porcupine = medians([child([str(peer)], text) for _ in range(repeats)])
                porcupine |= {"events": len(events), "verdict": "ok" if porcupine.pop("ok") else "illegal"}
                yield TABLE.row({**porcupine, "tool": "porcupine", "history": label})
                ours["of_porcupine"] = ours["cpu_seconds"] / porcupine["cpu_seconds"]


def registers(events: Sequence[Event]) -> Iterator[tuple[int, str, int, int, int]]:
    """Yield the stored messages of a history as appends: client, queue, call, return, offset. Event numbers are the times."""
    opened: dict[str, Event] = {}
    clients: dict[str, int] = {}
    for event in events:
        if event.type == "invoke":
            opened[event.process] = event
        elif event.type == "ok" and event.op == "send" and event.value["code"] == 0:
            begun, fields = opened[event.process], event.value["fields"]
            queue = f"{begun.value['fields']['topic']}-{fields['queueId']}"
            client = clients.setdefault(event.process, len(clients))
            yield client, queue, begun.seq, event.seq, int(fields["queueOffset"])


@contextmanager
def _porcupine(folder: Path, tell: Tell) -> Iterator[Path | None]:
    """Yield the built peer, or None after reporting why it is left out."""
    try:
        yield _built(folder)
    except PeerError as problem:
        tell(f"porcupine: left out, {problem}")
        yield None


def _built(folder: Path) -> Path:
    if shutil.which("go") is None:
        raise PeerError("go is not installed; install it to measure this tool too")
    source = folder / "porcupine"
    try:
        shutil.copytree(MODELS / "porcupine", source)
    except OSError:
        raise PeerError("its source is not installed; run this in a checkout of the project") from None
    env = {**os.environ, "GOTMPDIR": str(folder)}  # a killed go command leaves its files there
    process = completed(["go", "build", "-o", "peer", "."], cwd=source, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.returncode:
        raise PeerError(f"it does not build ({(process.stderr.strip().splitlines() or ['no word'])[-1]})")
    return source / "peer"


def measure(file: str, profile: str) -> dict[str, Any]:
    """Measure judging one history."""
    header, events = history.read(file)
    events_read = list(events)
    verdict, spent = timed(lambda: judge_history(header, events_read, profile))
    return {
        "events": len(events_read),
        "operations": verdict.explained,
        "verdict": verdict.verdict,
        **spent,
        "peak_rss_bytes": peak_memory(),
    }
