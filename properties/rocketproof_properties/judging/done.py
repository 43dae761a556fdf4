"""What programs did: requests by kind and answer, which follow each other, boundaries, settings, actions of the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import whole_number

from ..brokers.runs.client import places
from ..brokers.runs.parsed import ParsedHistory
from ..brokers.runs.recording import body_of
from ..programs.boundaries import BOUNDARIES, SIDES, met
from ..programs.measures import SENDS, MeasuredRequest, records_bytes
from ..programs.pool import lasts, requests
from ..programs.settings import ALONE, settings_of
from ..programs.sizes import left_of_file
from ..reports.estimates import unseen

NO_ANSWER: Final = "one-way"
LOST: Final = "no answer"
OPERATION: Final = "operation"


@dataclass
class ProgramStatistics:
    """Counters. `answers`: operation and code, which is a word where none came; `pairs`: an operation and the next one of its client;
    `boundaries`: name and side, by requests; `settings`: what programs needed, "" for nothing; `actions`: of the specification, by programs
    that they explain; `promised`: operations and sides of boundaries, by programs that should have them."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    boundaries: Counter[tuple[str, str]] = field(default_factory=Counter)
    settings: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    promised: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: ProgramStatistics) -> None:
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
    def values(self) -> Counter[tuple[str, str]]:
        """Each setting that programs needed and its value, and how many programs had it."""
        found: Counter[tuple[str, str]] = Counter()
        for needs, programs in self.settings.items():
            for pair in settings_of(needs).items():
                found[pair] += programs
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
            "values": _nested(self.values),
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


def measured(parsed: ParsedHistory, profile: str) -> Iterator[MeasuredRequest]:
    """A program's requests, as the boundaries measure them."""
    cluster, of, trace = parsed.names.cluster, PROFILES[profile], str(parsed.settings.get("traceOn", "true"))
    # Where others send at the same time, nobody knows where the log ends.
    file_size = whole_number(settings_of(ALONE)["mappedFileSizeCommitLog"]) if parsed.program.needs == ALONE else 0
    end: int | None = None
    for one in parsed.asked:
        size, version = (whole_number(one.request.get(name) or 0) for name in ("bodySize", "version"))
        free = None if end is None or not file_size else left_of_file(end, file_size)
        sent = MeasuredRequest(one.op, one.fields, body_of(one.request), size, of, cluster, trace, version, free)
        yield sent
        if one.op in SENDS:
            found = places(one.outcome.get("fields") or {})
            plain = not lasts([(one.op, dict(one.fields))])  # what comes later is stored in another record
            end = found[0] + records_bytes(sent) if found and plain else None


def did(parsed: ParsedHistory, profile: str, actions: Iterable[str]) -> ProgramStatistics:
    """What one program did, as its history says."""
    done = ProgramStatistics(settings=Counter([parsed.program.needs]), actions=Counter(actions))
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
