"""The durability table of release lines and of started targets: its rows, and the page with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_profiles.releases import LINES

from ...brokers.deployment import TargetError, ValidationTarget
from ...reports.exitcode import OK, STOPPED
from . import simulated, started
from .outcome import FLUSHES, FaultOutcome

ANY_FLUSH: Final = "any"
"""The flush mode of a fault to which it makes no difference: a stop flushes everything, and a slave has what it received."""
_NOT_STARTED: Final = {
    "power": "the table has no disk states of a started target; `validate --faults power` checks them by claims",
    "full disk": "the table fills no disk of this machine; `validate --faults disk` injects the error by strace",
    "promotion": "the table starts no slave; `validate --faults slave` promotes one and checks it by claims",
}
"""Why a fault is not measured on a started target."""
HEADS: Final = ("releases", "flush", "states", "no start", "acknowledged", "lost", "changed", "duplicated")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DurabilityRow:
    """What a fault leaves of the messages that releases acknowledged. `why`: why it is not measured, "" with an outcome."""

    fault: str
    first: str
    last: str
    flush: str
    outcome: FaultOutcome | None
    why: str = ""

    @property
    def releases(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def flushes(fault: str) -> tuple[str, ...]:
    """Return the flush modes that make a difference to a fault."""
    return (ANY_FLUSH,) if fault.startswith(("byte", "promotion")) else FLUSHES


def of_lines(profiles: Sequence[str], progress: Progress) -> list[DurabilityRow]:
    """Measure the reference implementation with the behaviour of these profiles' release lines."""
    lines = [line for line in LINES if line.profile in profiles]
    cells = [(fault, flush, line) for fault in simulated.MEASURES for flush in flushes(fault) for line in lines]
    rows = []
    for number, (fault, flush, line) in enumerate(cells):
        progress(f"{fault}, {flush}", number, len(cells))
        outcome = simulated.MEASURES[fault](line.profile, FLUSHES[0] if flush == ANY_FLUSH else flush)
        rows.append(DurabilityRow(fault, line.name, line.name, flush, outcome))
    return rows


def merged(rows: Sequence[DurabilityRow]) -> list[DurabilityRow]:
    """Return the rows in which neighbouring release lines with equal numbers share one."""
    groups = [list(same) for _, same in groupby(rows, lambda row: (row.fault, row.flush, row.outcome))]
    return [replace(group[0], last=group[-1].last) for group in groups]


def of_target(target: ValidationTarget, progress: Progress) -> list[DurabilityRow]:
    """Measure a target that is started for it."""
    rows = []
    cells = [(fault, flush) for fault in simulated.MEASURES for flush in flushes(fault)]
    for number, (fault, flush) in enumerate(cells):
        progress(f"{target.name}: {fault}, {flush}", number, len(cells))
        outcome, why = _measured(target, fault, FLUSHES[0] if flush == ANY_FLUSH else flush)
        rows.append(DurabilityRow(fault, target.name, target.name, flush, outcome, why))
    return rows


def _measured(target: ValidationTarget, fault: str, flush: str) -> tuple[FaultOutcome | None, str]:
    measure = started.MEASURES.get(fault)
    if measure is None:
        return None, next(why for name, why in _NOT_STARTED.items() if fault.startswith(name))
    try:
        return measure(target, flush), ""
    except (TargetError, RemotingError, OSError) as problem:
        return None, str(problem).partition("\n")[0]


def markdown(rows: Sequence[DurabilityRow], real: Sequence[DurabilityRow], command: str) -> str:
    """Return the page with a table for each fault, and one for the started targets."""
    lines = [_HEAD.format(command=command)]
    for fault in simulated.MEASURES:
        lines += [f"## {_title(fault)}", "", _MEANINGS[fault], ""]
        lines += [*_table(merged([row for row in rows if row.fault == fault]), HEADS, _cells), ""]
    if real:
        lines += ["## Real releases", "", _REAL, ""]
        measured = [row for row in real if row.outcome is not None]
        lines += [*_table(measured, ("release", "fault", *HEADS[1:]), lambda row: (row.releases, row.fault, *_cells(row)[1:])), ""]
        lines += ["Not measured:", "", *dict.fromkeys(f"- {row.fault}: {row.why}." for row in real if row.outcome is None), ""]
    return "\n".join(lines)


def exit_code(real: Sequence[DurabilityRow]) -> int:
    """Return the exit code: a started target that could not be measured is undecided."""
    return STOPPED if any(row.outcome is None and row.fault in started.MEASURES for row in real) else OK


def _title(fault: str) -> str:
    return fault[0].upper() + fault[1:]


def _cells(row: DurabilityRow) -> tuple[str, ...]:
    return (row.releases, row.flush, *(f"{number:,}" for number in (row.outcome or FaultOutcome()).numbers))


def _table(rows: Sequence[DurabilityRow], heads: Sequence[str], cells: Callable[[DurabilityRow], Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    yield from (f"| {' | '.join(cells(row))} |" for row in rows)


_HEAD: Final = """# Which acknowledged messages survive which fault?

Generated by `{command}`. [What RocketMQ promises](../promises.md).

A broker gets six messages for two queues, one with a delay of a second. Then a fault strikes, and the broker starts again. A consumer
reads both queues from their beginning. The fault strikes at many points of the load, so that the numbers are sums over many states:

- no start: states in which the broker does not start before its files are repaired. Their messages are in no other column.
- acknowledged: messages whose send was answered SUCCESS before the fault.
- lost: the consumer gets no message with this body or key.
- changed: the message has another body, key or topic, or is at another queue offset than its response named.
- duplicated: the consumer gets the message more than once. A delayed message is delivered again after a crash if its delivery was not
  recorded.

The tables are measured on the reference implementation with the behaviour of each release line. Its clock, disk and replication are
simulated, so that each run has the same numbers. Neighbouring lines with equal numbers share a row. A record has a different length in
other releases, so that numbers also differ without a change in behaviour. Log files have 1 KiB and queue files three entries.
"""
_MEANINGS: Final = {
    "kill": "The process is killed before each operation on the disk, and inside of each write.",
    "power": "The power fails at 40 random points of the operations on the disk. Each point has two disk states: mapped files\n"
    "with only their forced data, and a random one that a journaling file system can leave ([rules](../faults.md)).",
    "byte of commitlog": "After a graceful stop all bits of one byte of the log are flipped, or it is set to zero. 40 bytes of each file\n"
    "are tried. The flush mode has no effect, as a stop flushes everything.",
    "byte of consumequeue": "The same with 20 bytes of each file of the load's queues.",
    "byte of tables": "The same with 16 bytes of each of `checkpoint`, `topics.json` and `subscriptionGroup.json`. A consumer gets\n"
    "nothing from a topic that the broker no longer has.",
    "full disk": "The disk is full after each number of pages of 4 KiB. The process is then killed, and starts with free space.",
    "promotion, ASYNC_MASTER": "The master is killed at 12 random points of its operations on the disk. The slave then starts as the\n"
    "master. The master does not wait for its slave.",
    "promotion, SYNC_MASTER": "The same with a synchronous master. From 5.0 on it waits for `inSyncReplicas` copies. Its own counts, and\n"
    "the default is 1, so that it does not wait for its slave.",
    "promotion, SYNC_MASTER with inSyncReplicas=2": "The same with two copies. Releases before 5.0 lack the setting, and always wait.",
}
_REAL: Final = """Brokers are started from the releases' jars. They are killed after each number of messages from one to six. Of each
part of the store six bytes are flipped or set to zero, in turn."""
