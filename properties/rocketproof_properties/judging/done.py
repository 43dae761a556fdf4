"""What programs did: requests by kind and answer, which follow each other, boundaries, settings, actions of the specification; and from
what came once, how much there may be that never came.

If of many requests some are the only ones of their kind, the next request is of a kind never seen about as often as a request was one of
those (Good and Turing); and there are at least so many more kinds as the square of those seen once, over twice those seen twice (Chao).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from rocketproof_profiles import PROFILES

from ..generators.boundaries import BOUNDARIES, SIDES, Sent, met
from ..generators.pool import requests
from ..runs.parsed import ParsedHistory
from ..runs.recording import body_of

NO_ANSWER: Final = "one-way"
LOST: Final = "no answer"
OPERATION: Final = "operation"


@dataclass
class Done:
    """Counters. `answers`: operation and code, which is a word where none came; `pairs`: an operation and the next one of its client;
    `boundaries`: name and side, by requests; `settings`: what programs needed, "" for nothing; `actions`: of the specification, by programs
    that they explain; `promised`: operations and sides of boundaries, by programs that should have them."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    boundaries: Counter[tuple[str, str]] = field(default_factory=Counter)
    settings: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    promised: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: Done) -> None:
        for name, counter in vars(other).items():
            getattr(self, name).update(counter)

    @property
    def kinds(self) -> Counter[tuple[str, ...]]:
        """Everything that a request may be new by, and how often it came."""
        found: Counter[tuple[str, ...]] = Counter()
        for (op, code), times in self.answers.items():
            found[op, code] = times
        for pair, times in self.pairs.items():
            found["then", *pair] = times
        return found

    @property
    def never(self) -> dict[str, int]:
        """What programs promised and none did, with the number of programs."""
        there = {*self.boundaries, *((OPERATION, op) for op, _ in self.answers)}
        return {" ".join(one): programs for one, programs in sorted(self.promised.items()) if one not in there}

    def data(self) -> dict[str, Any]:
        """As JSON."""
        kinds = self.kinds
        return {
            "operations": _nested(self.answers),
            "boundaries": {one.name: {SIDES[side]: self.boundaries[one.name, SIDES[side]] for side in one.sides} for one in BOUNDARIES},
            "pairs": len(self.pairs),
            "settings": {needs or "none": times for needs, times in sorted(self.settings.items())},
            "actions": dict(sorted(self.actions.items())),
            "once": sorted(" ".join(kind) for kind, times in kinds.items() if times == 1),
            "unseen": unseen(kinds),
            "never": self.never,
        }


def _nested(counter: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (one, other), times in sorted(counter.items()):
        found.setdefault(one, {})[other] = times
    return found


def unseen(kinds: Mapping[Any, int]) -> dict[str, float]:
    """How often the next one is of a kind that never came, and how many such kinds there are at least."""
    once, twice = (sum(times == number for times in kinds.values()) for number in (1, 2))
    share = once / max(1, sum(kinds.values()))
    return {"share": round(share, 5), "kinds": round(once * (once - 1) / (2 * (twice + 1)), 1)}


def measured(parsed: ParsedHistory, profile: str) -> Iterator[Sent]:
    """A program's requests, as the boundaries measure them."""
    cluster, of, trace = parsed.names.cluster, PROFILES[profile], str(parsed.settings.get("traceOn", "true"))
    for one in parsed.asked:
        yield Sent(one.op, one.fields, body_of(one.value), int(one.value.get("bodySize") or 0), of, cluster, trace)


def did(parsed: ParsedHistory, profile: str, actions: Iterable[str]) -> Done:
    """What one program did, as its history says."""
    done = Done(settings=Counter([parsed.program.needs]), actions=Counter(actions))
    by_client: dict[str, list[str]] = {}
    for one in parsed.asked:
        code = NO_ANSWER if one.one_way else LOST if one.code is None else str(one.code)
        done.answers[one.op, code] += 1
        by_client.setdefault(one.process, []).append(one.op)
    for ops in by_client.values():
        done.pairs.update(pairwise(ops))
    for sent in measured(parsed, profile):
        done.boundaries.update(met(sent))
    for sent in requests(parsed.program.steps, PROFILES[profile]):
        done.promised[OPERATION, sent.op] = 1
        done.promised.update(dict.fromkeys(met(sent), 1))
    return done
