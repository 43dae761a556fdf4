"""Judge a recording file case by case: whether the recorded answers of a real broker follow the specification. Each `cfg` in the file is
one history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_spec import constants

from ..common.outcomes import NOTHING_JUDGED, JudgingOutcome, all_of
from ..history.exchanges import pair
from ..history.recordings import by_cfg
from .findings import UnexplainedEvent
from .histories import HistoryVerdict, judge_exchanges

LIMIT = 10_000
"""The default limit of states expanded in each `cfg`. The recorded releases need one or two states per request, under their own profiles
and under wrong ones."""


@dataclass(frozen=True)
class Unexplained:
    """A case that no state explains."""

    case: str
    finding: UnexplainedEvent

    def __str__(self) -> str:
        return f"{self.case}: recorded {self.finding.recorded}; {self.finding.refused}"

    def data(self) -> dict[str, Any]:
        return {"case": self.case, "recorded": self.finding.recorded, **self.finding.refused.data()}


@dataclass(frozen=True)
class Judgement:
    """The verdict on a recording file. It counts explained cases, and cases out of reach by reason, and lists the unexplained cases in
    order.

    `unknown` names what a bound left undecided; `histories` has the verdict on each `cfg`.
    """

    profile: str
    explained: int
    out_of_reach: dict[str, int]
    unexplained: tuple[Unexplained, ...]
    unknown: tuple[str, ...] = ()
    histories: Mapping[str, HistoryVerdict] = field(default_factory=dict)

    @property
    def verdict(self) -> JudgingOutcome:
        """The combined verdict on all `cfg`s; undecided if no case could be judged."""
        if NOTHING_JUDGED in self.unknown:
            return JudgingOutcome.UNDECIDED
        return all_of(verdict.verdict for verdict in self.histories.values())

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped it. `explained` and `out_of_reach` then count only the `cfg`s that were judged completely."""
        return any(verdict.interrupted for verdict in self.histories.values())

    @property
    def findings(self) -> tuple[UnexplainedEvent, ...]:
        """The unexplained events, in the form of a history's findings."""
        return tuple(case.finding for case in self.unexplained)

    @property
    def cases(self) -> int:
        return self.explained + sum(self.out_of_reach.values()) + len(self.unexplained)

    def data(self) -> dict[str, Any]:
        """Return the judgement as JSON values."""
        return {
            "profile": self.profile,
            "cases": self.cases,
            "explained": self.explained,
            "out_of_reach": self.out_of_reach,
            "unexplained": [case.data() for case in self.unexplained],
        }


def judge_recording(
    path: Path,
    profile: str,
    limit: int = LIMIT,
    tick: Callable[[int, int], None] | None = None,
    seconds: float | None = None,
) -> Judgement:
    """Judge a recording file.

    `limit` bounds the states expanded in each `cfg`, and `seconds` the computing after the last explained answer. `tick(judged, all)` is
    called after the cases of each `cfg`. On Ctrl-C the verdicts so far are kept. Raises RocketproofError for an unknown profile or a file
    that is not a recording.
    """
    constants(profile)
    exchanges = {cfg: (header, pair(events)) for cfg, (header, events) in by_cfg(path).items()}
    cases = {cfg: sum("case" in each.request for each in paired.exchanges) for cfg, (_, paired) in exchanges.items()}
    reasons: Counter[str] = Counter()
    unexplained: list[Unexplained] = []
    unknown: list[str] = []
    verdicts: dict[str, HistoryVerdict] = {}
    judged, explained, everything = 0, 0, sum(cases.values())
    for cfg, (header, paired) in exchanges.items():
        verdict = verdicts[cfg] = judge_exchanges(header, paired, profile, limit, seconds=seconds)
        by_end = {each.end: each for each in paired.exchanges}
        ended = [by_end[finding.seq] for finding in verdict.findings]
        unexplained += [
            Unexplained(each.queried_after or each.case, finding) for each, finding in zip(ended, verdict.findings, strict=True)
        ]
        unknown += verdict.unknown
        if verdict.interrupted:
            unknown += [f"{later}: interrupted" for later in exchanges if later not in verdicts]
            break
        reasons.update(verdict.out_of_reach)
        judged += cases[cfg]
        explained += cases[cfg] - sum(verdict.out_of_reach.values()) - len(verdict.findings)
        if tick is not None:
            tick(judged, everything)
    if not explained and not unexplained and not unknown:
        unknown.append(NOTHING_JUDGED)
    return Judgement(profile, explained, dict(reasons.most_common()), tuple(unexplained), tuple(unknown), verdicts)


__all__ = ["Judgement", "Unexplained", "judge_recording"]
