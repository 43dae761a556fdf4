"""Statistics of what programs did: requests by kind and answer, consecutive requests, boundaries, settings, actions of the
specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from rocketproof_profiles import PROFILES

from ..programs.boundaries import BOUNDARIES, SIDES, met
from ..programs.pool import requests
from ..programs.settings import settings_of
from ..reports.estimates import unseen
from .exchanges import ProgramExchanges

NO_ANSWER: Final = "one-way"
LOST: Final = "no answer"
OPERATION: Final = "operation"


@dataclass
class ProgramStatistics:
    """Counters over programs.

    - `answers`: requests by operation and response code, or by a word if there was no response.
    - `pairs`: consecutive operations of the same client.
    - `boundaries`: requests by name and side of a boundary.
    - `settings`: programs by the settings they need, "" for none.
    - `actions`: programs by the actions of the specification that explain them.
    - `promised`: programs by the operations and boundary sides they contain.
    """

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
        """Count each pair of operation and answer, and each pair of consecutive operations."""
        counts: Counter[tuple[str, ...]] = Counter()
        for (op, code), times in self.answers.items():
            counts[op, code] = times
        for pair, times in self.pairs.items():
            counts["then", *pair] = times
        return counts

    @property
    def values(self) -> Counter[tuple[str, str]]:
        """Count the programs that needed each value of each setting."""
        counts: Counter[tuple[str, str]] = Counter()
        for needs, programs in self.settings.items():
            for pair in settings_of(needs).items():
                counts[pair] += programs
        return counts

    @property
    def never(self) -> dict[str, int]:
        """Return the promised operations and sides that no program reached, with the number of programs that promised them."""
        reached = {*self.boundaries, *((OPERATION, op) for op, _ in self.answers)}
        return {" ".join(kind): programs for kind, programs in sorted(self.promised.items()) if kind not in reached}

    def data(self) -> dict[str, Any]:
        """Return the counters as JSON."""
        kinds = self.kinds
        return {
            "operations": _nested(self.answers),
            "boundaries": {
                boundary.name: {SIDES[side]: self.boundaries[boundary.name, SIDES[side]] for side in boundary.sides}
                for boundary in BOUNDARIES
            },
            "pairs": len(self.pairs),
            "settings": {needs or "none": times for needs, times in sorted(self.settings.items())},
            "values": _nested(self.values),
            "actions": dict(sorted(self.actions.items())),
            "once": sorted(" ".join(kind) for kind, times in kinds.items() if times == 1),
            "unseen": unseen(kinds),
            "never": self.never,
        }


def _nested(counter: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (outer, inner), times in sorted(counter.items()):
        nested.setdefault(outer, {})[inner] = times
    return nested


def statistics_of(program: ProgramExchanges, actions: Iterable[str]) -> ProgramStatistics:
    """Return the statistics of one program. `actions` explain the program."""
    history = program.history
    done = ProgramStatistics(settings=Counter([history.program.needs]), actions=Counter(actions))
    by_client: dict[str, list[str]] = {}
    for exchange in history.exchanges:
        code = NO_ANSWER if exchange.one_way else LOST if exchange.code is None else str(exchange.code)
        done.answers[exchange.op, code] += 1
        by_client.setdefault(exchange.process, []).append(exchange.op)
    for ops in by_client.values():
        done.pairs.update(pairwise(ops))
    for sent in program.measured:
        done.boundaries.update(met(sent))
    for sent in requests(history.program.steps, PROFILES[program.profile]):
        done.promised[OPERATION, sent.op] = 1
        done.promised.update(dict.fromkeys(met(sent), 1))
    return done
