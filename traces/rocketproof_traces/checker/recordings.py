"""Do the recorded answers of a real broker, case by case, follow the specification? A recording file as histories, one for each `cfg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_spec import constants

from ..common.outcomes import JudgingOutcome, all_of
from ..history import Event, Header
from ..history.recordings import histories
from .histories import HistoryVerdict, judge_history
from .part import UnexplainedEvent

LIMIT = 10_000
"""States that are expanded in each `cfg` unless another limit is given. The recorded releases need one or two for each request, under
their own profiles and under wrong ones."""


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
    """Cases explained, cases out of reach by reason, and what was not explained, first one first. `unknown` names what a bound left
    open; `histories` has the verdict on each `cfg`."""

    profile: str
    explained: int
    out_of_reach: dict[str, int]
    unexplained: tuple[Unexplained, ...]
    unknown: tuple[str, ...] = ()
    histories: Mapping[str, HistoryVerdict] = field(default_factory=dict)

    @property
    def verdict(self) -> JudgingOutcome:
        """The verdict on all `cfg` together."""
        return all_of(one.verdict for one in self.histories.values())

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; `explained` and `out_of_reach` then count the `cfg`s that were judged to their end."""
        return any(one.interrupted for one in self.histories.values())

    @property
    def findings(self) -> tuple[UnexplainedEvent, ...]:
        """What was not explained, as of a history."""
        return tuple(one.finding for one in self.unexplained)

    @property
    def cases(self) -> int:
        return self.explained + sum(self.out_of_reach.values()) + len(self.unexplained)

    def data(self) -> dict[str, Any]:
        """The judgement as JSON values."""
        return {
            "profile": self.profile,
            "cases": self.cases,
            "explained": self.explained,
            "out_of_reach": self.out_of_reach,
            "unexplained": [one.data() for one in self.unexplained],
        }


def judge_recording(
    path: Path,
    profile: str,
    limit: int = LIMIT,
    tick: Callable[[int, int], None] | None = None,
    seconds: float | None = None,
) -> Judgement:
    """Judge a recording file. `limit` bounds the states that are expanded in each `cfg`, `seconds` the computing after the last answer that
    was explained; `tick(judged, all)` is called after the cases of each. Stopped by Ctrl-C, it keeps what was judged.

    Raises RocketproofError for an unknown profile or a file that is not a recording.
    """
    constants(profile)
    origins, lines = histories(path)
    events: dict[str, list[Event]] = {}
    for cfg, event in lines:
        events.setdefault(cfg, []).append(event)
    asked = {cfg: {one.seq: one.value["case"] for one in mine if "case" in one.value} for cfg, mine in events.items()}
    reasons: Counter[str] = Counter()
    unexplained: list[Unexplained] = []
    unknown: list[str] = []
    verdicts: dict[str, HistoryVerdict] = {}
    judged, explained, everything = 0, 0, sum(map(len, asked.values()))
    for cfg, mine in events.items():
        found = verdicts[cfg] = judge_history(Header(origins[cfg]), mine, profile, limit, seconds=seconds)
        unexplained += [Unexplained(_case_of(mine, one.seq), one) for one in found.findings]
        unknown += found.unknown
        if found.interrupted:
            unknown += [f"{later}: interrupted" for later in events if later not in verdicts]
            break
        reasons.update(found.out_of_reach)
        judged += len(asked[cfg])
        explained += len(asked[cfg]) - sum(found.out_of_reach.values()) - len(found.findings)
        if tick is not None:
            tick(judged, everything)
    return Judgement(profile, explained, dict(reasons.most_common()), tuple(unexplained), tuple(unknown), verdicts)


def _case_of(events: list[Event], seq: int) -> str:
    """The case of an answer: one client asks, so its request is the event before it."""
    asked = events[seq - 1].value
    return str(asked.get("after") or asked["case"])


__all__ = ["Judgement", "Unexplained", "judge_recording"]
