"""Is a concurrent history one that the specification allows? Ok, Illegal with a finding, or Unknown with the bound that was reached.

Each part (a topic of a broker) is judged by itself. A finding names the first event that no state explains: the history cut there has an
explanation, and with that event it has none any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rocketproof_profiles import PROFILES, Profile

from .concurrent import Searched
from .court import Court, Finding, Make, closed, reason
from .history import Event, Header
from .machine import machine
from .operations import operations
from .parts import Part, parted

LIMIT = 1_000_000
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """`explained` counts answers and statements; `out_of_reach` counts requests by reason; `unknown` names parts with their bound."""

    verdict: Literal["ok", "illegal", "unknown"]
    profile: str
    events: int
    parts: int
    explained: int
    expanded: int
    out_of_reach: dict[str, int]
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    interrupted: bool = False

    def data(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        return {**vars(self), "findings": [f.data() for f in self.findings], "unknown": list(self.unknown)}


def judge_history(
    header: Header, events: Sequence[Event], profile: str, limit: int = LIMIT, tick: Tick | None = None, make: Make = machine
) -> Verdict:
    """Judge a history of requests to brokers. `limit` bounds the states that are expanded, over all parts together.

    `tick(explained, all)` is called as answers are explained. Stopped by Ctrl-C, it keeps what was judged. Raises TraceError for events
    that are none of requests to brokers.
    """
    chosen = PROFILES[profile]
    found = operations(events)
    cluster = str(header.origin.get("cluster", "DefaultCluster"))
    split = parted(found, cluster)
    left = Counter(split.left_out)
    findings, unknown, explained, expanded, interrupted = [], [], 0, 0, False
    everything = sum(len(closed(part)) + len(part.snapshots) for part in split.parts)
    for number, part in enumerate(split.parts):
        left.update(_left_out(part))
        before = explained

        def told(done: int, before: int = before) -> None:
            if tick is not None:
                tick(before + done, everything)

        try:
            court, judged = _tried(part, chosen, header, make, limit - expanded, told)
            expanded += judged.expanded
            if judged.limit:
                explained += judged.end
                unknown.append(f"{part.name}: after {judged.end} answers, {limit} expanded states are reached")
            elif not judged.complete:
                finding, more = court.finding(judged, limit)
                expanded += more
                explained += len(finding.prefix)
                findings.append(finding)
            else:
                explained += judged.end
        except KeyboardInterrupt:
            unknown += [f"{later.name}: interrupted" for later in split.parts[number:]]
            interrupted = True
            break
    verdict: Literal["ok", "illegal", "unknown"] = "illegal" if findings else "unknown" if unknown else "ok"
    findings.sort(key=lambda f: f.seq)
    return Verdict(
        verdict,
        profile,
        found.events,
        len(split.parts),
        explained,
        expanded,
        dict(left.most_common()),
        tuple(findings),
        tuple(unknown),
        interrupted,
    )


def _tried(part: Part, profile: Profile, header: Header, make: Make, limit: int, tick: Callable[[int], None]) -> tuple[Court, Searched]:
    """The search under the broker's settings; where they are not known, under those that explain most."""
    settings = header.origin.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}
    said = settings.get("autoCreateTopicEnable")
    switches = part.switches if said is None else (str(said).lower() == "true",)
    permission = int(settings.get("brokerPermission", 6))
    best: tuple[Court, Searched] | None = None
    for auto_create in switches:
        court = Court(part, profile, str(header.origin.get("cluster", "DefaultCluster")), make, auto_create, permission)
        judged = court.search(None, limit, tick)
        if best is None or judged.end > best[1].end or judged.complete:
            best = court, judged
        if judged.complete:
            break
    assert best is not None
    return best


def _left_out(part: Part) -> Counter[str]:
    """The operations of a part that are not judged, by reason."""
    reasons: Counter[str] = Counter()
    for one in part.asked:
        if part.cut is not None and (one.closed is None or one.closed >= part.cut):
            reasons[part.why] += 1
        elif one.closed is None:
            reasons["no answer came"] += 1
        elif why := reason(one):
            reasons[why] += 1
    return reasons


__all__ = ["LIMIT", "Finding", "Verdict", "judge_history"]
