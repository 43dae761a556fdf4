"""Audit stores while brokers write them: judge each new record once, and remember in a checkpoint what was judged.

A `LogFollower` repeats rounds. A round finds what the logs have gained, spreads it over a worker pool, and commits findings and positions
in one transaction of the checkpoint. A round that is interrupted leaves no trace, so a restart judges each record exactly once.

Only rules that need nothing besides the log are judged. The files next to the log change after the records they belong to, so other rules
could give another answer each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from rocketproof_model.language import show

from ..common.pools import WorkerPool
from ..stored.config import Topics
from ..stored.facts import COLUMNS
from ..stored.growing import Growth, Rewritten, growths
from ..stored.queues import Queues
from ..stored.segments import RANGE_SIZE, LogFile
from .checkpoint import Checkpoint, Followed
from .findings import AuditFinding
from .merge import Merger
from .programs import AuditPlan, Decider
from .rules import Rule
from .segment import audit_task
from .store import StoreFolder
from .task import LogRange, Segment, failed_segment
from .vocabulary import MARKS
from .work import log_ranges

ROUND_SIZE = 1 << 30
"""Bytes that a round reads from all stores."""
_KNOWN = frozenset({*COLUMNS, "topicClass", "realClass", "retryClass", "realSame", "falselyCompressed", MARKS})
_KINDS = frozenset({"record", "log", "line", "damage"})


def followed_rules(plan: AuditPlan) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return the rules of a plan that can be judged while following, and those that need more than the log."""
    judged = tuple(rule for rule in plan.rules if _needs_log_only(rule, plan))
    return judged, tuple(rule for rule in plan.rules if rule not in judged)


def _needs_log_only(rule: Rule, plan: AuditPlan) -> bool:
    """Return whether the facts of a rule are in the records.

    The topics of cluster and broker are known from topics.json only. So a rule must not distinguish them from ordinary topics.
    """
    if rule.over not in _KINDS:
        return False
    words = set(re.findall(r"\w+", show(rule.claim.formula)))
    if len(words & {"ordinary", "own"}) == 1:
        return False
    return rule.over == "damage" or _KNOWN.issuperset(Decider([rule], rule.over, dict(plan.settings)).reads)


@dataclass(frozen=True)
class LogAlone(StoreFolder):
    """A store of which only the log is known."""

    @cached_property
    def topics(self) -> Topics | None:
        return None

    @cached_property
    def log(self) -> tuple[LogFile, ...]:
        return ()

    @cached_property
    def queues(self) -> Queues:
        return Queues([])

    @cached_property
    def has_stopped(self) -> bool:
        return False

    @cached_property
    def dispatched(self) -> int:
        return -1

    @cached_property
    def batch_topics(self) -> frozenset[str]:
        return frozenset()

    @cached_property
    def checkpoint_times(self) -> tuple[int, ...]:
        return ()

    @cached_property
    def limits(self) -> Mapping[str, int]:
        return {}


@lru_cache(maxsize=8)
def _log_alone(folder: str, hosts_by_flag: bool) -> LogAlone:
    return LogAlone(folder, hosts_by_flag)


def perform(plan: AuditPlan, text: str) -> tuple[str, str]:
    """Audit a range of a growing log. Returns the key of the task, and the text of its result."""
    task = LogRange.read(text)
    return task.key, audit_task(plan, task, _log_alone(task.store, task.file.hosts_by_flag)).text()


@dataclass
class Round:
    """What a round has judged.

    - `problems`: by store, why it cannot be followed now.
    - `missing`: by store, the physical offsets that were deleted unread.
    - `more`: the limit of a round left records for the next one.
    """

    records: int = 0
    bytes: int = 0
    findings: list[AuditFinding] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)
    more: bool = False


class LogFollower:
    """Follow the logs of stores by a plan. `unfinished` are the stores whose logs end with bytes that are no complete record."""

    def __init__(self, plan: AuditPlan, stores: Sequence[str], checkpoint: Checkpoint, size: int = ROUND_SIZE) -> None:
        self.judged, self.left_out = followed_rules(plan)
        self.plan = replace(plan, only=tuple(rule.id for rule in self.judged), every=True)
        self.stores = tuple(stores)
        self.checkpoint = checkpoint
        self.size = size
        self.lost: dict[str, Rewritten] = {}
        self.unfinished: dict[str, int] = {}

    def round(self, spread: WorkerPool) -> Round:
        """Judge what the logs have gained, up to `size` bytes, and commit it. Raises TraceError if the checkpoint cannot be written."""
        stores = [store for store in self.stores if store not in self.lost]
        known = {store: self.checkpoint.stores.get(store, Followed()) for store in stores}
        positions = {store: followed.position for store, followed in known.items()}
        found, failed = growths(stores, positions, self.size, RANGE_SIZE, hosts_by_flag=self.plan.hosts_by_flag)
        done = Round(problems={store: str(problem) for store, problem in failed.items()})
        self.lost |= {store: error for store, error in failed.items() if isinstance(error, Rewritten)}
        self.unfinished = {store: grown.position.offset for store, grown in found.items() if grown.unfinished}
        changed: dict[str, Followed] = {}
        for store, segments in self._segments(found, spread).items():
            error = next((segment.error for segment in segments if segment.error), "")
            if error:
                done.problems[store] = error  # its position stays, so the next round reads it again or finds that it was deleted
                continue
            changed[store] = self._merged(store, known[store], found[store], segments, done)
        done.more = any(found[store].more for store in changed)
        if changed:
            self.checkpoint.commit(changed, done.findings)
        return done

    def _segments(self, found: Mapping[str, Growth], spread: WorkerPool) -> dict[str, list[Segment]]:
        """Return the results of each store that has gained something, in the order of its log."""
        tasks = {store: log_ranges(0, store, grown.ranges) for store, grown in found.items() if grown.ranges or grown.missing}
        answers = dict(spread(partial(perform, self.plan), [task.text() for each in tasks.values() for task in each]))
        return {store: [Segment.read(answers[task.key]) for task in each] for store, each in tasks.items()}

    def _merged(self, store: str, before: Followed, grown: Growth, segments: Sequence[Segment], done: Round) -> Followed:
        """Merge the results of a store with what is known of the records before. Adds to the round."""
        past = [] if grown.missing else [_past_segment(store, before.past)]
        files = list(dict.fromkeys(each.file for each in grown.ranges))
        merger = Merger(self.plan, _log_alone(store, self.plan.hosts_by_flag), files, [*past, *segments])
        totals = merger.run_on_records()
        done.records += totals.records
        done.bytes += totals.bytes
        done.findings += totals.findings
        missing = before.missing
        if grown.missing:
            done.missing[store] = grown.missing
            missing = (*missing, grown.missing)
        counts = {id_: before.counts.get(id_, 0) + totals.counts.get(id_, 0) for id_ in {*before.counts, *totals.counts}}
        return Followed(
            grown.position, before.records + totals.records, before.bytes + totals.bytes, counts, missing, _past(merger, segments, past)
        )


def _past(merger: Merger, segments: Iterable[Segment], past: Iterable[Segment]) -> dict[str, Any]:
    """Return what the next round needs of the records so far: the last record, and the last record of each queue."""
    last = next((each.edges["log"] for each in reversed([*past, *segments]) if "log" in each.edges), None)
    return {
        "queues": [[*key, totals.final] for key, totals in merger.queue_totals.items() if totals.final is not None],
        "last": None if last is None else {name: values[1] for name, values in last.items()},
    }


def _past_segment(store: str, past: Mapping[str, Any]) -> Segment:
    """Return the records before a round as the result of a range that is before all others."""
    queues, last = past.get("queues") or [], past.get("last")
    task = LogRange(0, store, LogFile("", 0, 0, last=False), 0, 0, exact=True)
    ones = [1] * len(queues)
    zeros = [0] * len(queues)
    finals = {name: [final[name] for _, _, final in queues] for name in (queues[0][2] if queues else ())}
    return replace(
        failed_segment(task, ""),
        queues={
            "topic": [topic for topic, _, _ in queues], "queueId": [queue_id for _, queue_id, _ in queues],
            "begun": zeros, "records": zeros, "members": ones, "matched": zeros, "first": finals, "final": finals,
        },
        edges={} if last is None else {"log": {name: [value, value] for name, value in last.items()}},
        edge_topics={"log": ""},
    )  # fmt: skip
