"""Compare the judge with its second opinion on random histories.

    PYTHONPATH=model:traces:impl:properties python tests/traces/compared_opinions.py --each 1000

judges 1,000 histories of each shape, 19,000 in total, and prints the number of each verdict. A disagreement is printed with its seed; then
the exit code is 1. Histories with more than `--most` states at an event are counted and omitted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from random_histories import PROFILES, SHAPES, Chance, truth
from tiny_opinion import TooLarge, opinions
from told_lies import told

from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.history import Event, Header


@dataclass(frozen=True)
class Compared:
    """A history with its first unexplained event in each illegal part, by the judge and by the second opinion, and its number of lies."""

    header: Header
    events: list[Event]
    profile: str
    lies: int
    judged: list[int]
    naive: list[int]
    states: int
    open: int
    why: str

    @property
    def agree(self) -> bool:
        return self.judged == self.naive


def made(shape: str, seed: int, profile: str = "", auto: bool | None = None) -> tuple[Header, list[Event], str, int]:
    """Return header, events, profile and number of lies of history `seed` of a shape."""
    chance = Chance(f"{shape} {seed}")
    drawn = chance.choice(PROFILES)
    profile = profile or drawn
    header, events = truth(chance, SHAPES[shape], profile, auto)
    lies = chance.choice((0, 1, 1, 2, 3))
    return header, told(chance, events, lies), profile, lies


def compared(shape: str, seed: int, most: int, profile: str = "", auto: bool | None = None) -> Compared:
    """Judge a history, and compare. Raises TooLarge if the enumeration needs more than `most` states at an event."""
    header, events, profile, lies = made(shape, seed, profile, auto)
    naive, states = opinions(events, header, profile, most)
    verdict = judge_history(header, events, profile)
    assert verdict.verdict in ("ok", "illegal")
    said = [str(f) for f in verdict.findings]
    return Compared(
        header, events, profile, lies, [f.seq for f in verdict.findings], naive, states, opened_at_once(events), "; ".join(said)
    )


def opened_at_once(events: Sequence[Event]) -> int:
    """Return the largest number of simultaneously open calls."""
    now, most = set[str](), 0
    for e in events:
        if e.type == "invoke":
            now.add(e.process)
        elif e.type != "state":
            now.discard(e.process)
        most = max(most, len(now))
    return most


def printed(outcome: Compared) -> str:
    lines = [f"{outcome.profile} {dict(outcome.header.origin)} judged {outcome.judged} naive {outcome.naive} {outcome.why}"]
    return "\n".join([*lines, *(f"  {e.seq} {e.time} {e.type} {e.process} {e.op} {dict(e.value)}" for e in outcome.events)])


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=100, help="histories of each shape")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=2000, help="states at one event above which a history is left out")
    parser.add_argument("--shape", action="append", choices=list(SHAPES))
    parser.add_argument("--show", type=int, default=3, help="disagreements that are printed, of each shape")
    options = parser.parse_args(arguments)
    different = 0
    for shape in options.shape or SHAPES:
        counts, opened, states, began, shown = Counter[str](), Counter[int](), 0, time.process_time(), 0
        for seed in range(options.first, options.first + options.each):
            try:
                outcome = compared(shape, seed, options.most)
            except TooLarge:
                counts["too large"] += 1
                continue
            states += outcome.states
            opened[outcome.open] += 1
            counts["illegal" if outcome.naive else "ok"] += 1
            if not outcome.agree:
                counts["different"] += 1
                counts["other verdict"] += bool(outcome.judged) != bool(outcome.naive)
                if shown < options.show:
                    shown += 1
                    tell(f"{shape} {seed}: {printed(outcome)}")
        different += counts["different"]
        spent = time.process_time() - began
        tell(f"{shape:25} {dict(counts)} open {dict(sorted(opened.items()))} states {states} CPU {spent:.0f} s")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
