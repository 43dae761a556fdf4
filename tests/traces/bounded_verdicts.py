"""Judge random histories with random bounds, and compare each verdict with the one without a bound and with the second opinion.

    PYTHONPATH=model:traces:impl:properties python tests/traces/bounded_verdicts.py --histories 5000

Prints counts by verdict and the CPU seconds. A contradiction is printed with its shape and seed; then the exit code is 1. Half of the
histories omit their broker's settings, so that several are possible.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from compared_opinions import made, tell
from random_histories import SHAPES, Chance
from tiny_opinion import TooLarge, opinions

from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.history import Header

MOST = 1500
"""States at one event above which the second opinion is not asked."""


@dataclass
class Counts:
    """Verdicts without and with a bound, the second opinions, and contradictions."""

    unbounded: Counter[str] = field(default_factory=Counter)
    bounded: Counter[str] = field(default_factory=Counter)
    opinions: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def count(number: int, counts: Counts, profile: str = "", bounds: int = 1, most: int = MOST, *, auto: bool | None = None) -> None:
    """Judge history `number` `bounds` times with a bound on states and equally often with one on seconds.

    The second opinion is asked if it needs at most `most` states at each event.
    """
    shape = list(SHAPES)[number % len(SHAPES)]
    chance = Chance(f"bounds {number}")
    header, events, profile, _ = made(shape, number, profile, auto)
    if chance.random() < 0.5:
        header = Header({**header.origin, "settings": {}})
    whole = judge_history(header, events, profile)
    counts.unbounded[whole.verdict] += 1
    label = f"{shape} {number} {profile} {dict(header.origin)}"
    try:
        naive, _ = opinions(events, header, profile, most)
    except TooLarge:
        counts.opinions["too large"] += 1
    else:
        counts.opinions["illegal" if naive else "ok"] += 1
        if naive != [finding.seq for finding in whole.findings]:
            counts.wrong.append(f"{label}: judged {[str(finding) for finding in whole.findings]}, the second opinion is {naive}")
    for _ in range(bounds):
        limit = round(10 ** chance.uniform(0, 3))
        seconds = 10 ** chance.uniform(-2, 0)
        for bounded, bound in (
            (judge_history(header, events, profile, limit), f"{limit} states"),
            (judge_history(header, events, profile, seconds=seconds), f"{seconds:.3f} s"),
        ):
            counts.bounded[bounded.verdict] += 1
            counts.wrong += [f"{label}, {bound}: {problem}" for problem in contradictions(whole, bounded)]


def contradictions(whole: HistoryVerdict, bounded: HistoryVerdict) -> list[str]:
    """Return the contradictions of a bounded verdict to the unbounded one."""
    found = []
    if bounded.verdict not in (whole.verdict, "unknown"):
        found.append(f"{bounded.verdict} with the bound and {whole.verdict} without")
    if whole.unknown:
        found.append(f"not decided without a bound: {whole.unknown}")
    if bounded.verdict == "unknown" and not bounded.unknown:
        found.append("unknown without saying what")
    events = {finding.part: finding.seq for finding in whole.findings}
    open_ = {text.partition(": ")[0] for text in bounded.unknown}
    for reported in bounded.findings:
        if reported.part not in events:
            found.append(f"{reported.part} is refused with the bound only")
        elif reported.seq != events[reported.part] and reported.part not in open_:
            found.append(f"event {reported.seq} of {reported.part} is named with the bound, and event {events[reported.part]} without")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first number")
    options = parser.parse_args(arguments)
    counts, began = Counts(), time.process_time()
    for number in range(options.first, options.first + options.histories):
        known = len(counts.wrong)
        count(number, counts)
        for text in counts.wrong[known:]:
            tell(text)
    spent = time.process_time() - began
    for name, verdicts in (("without a bound", counts.unbounded), ("with a bound", counts.bounded), ("second opinion", counts.opinions)):
        tell(f"{name}: {', '.join(f'{verdict} {number}' for verdict, number in sorted(verdicts.items()))}")
    tell(f"{len(counts.wrong)} contradictions, CPU {spent:.0f} s")
    return int(bool(counts.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
