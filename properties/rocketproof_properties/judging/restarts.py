"""What a broker has before it ends and after it has started again: topics, groups, queues, records, progress and routes.

Nothing of it may change but what comes by itself: a queue may get what was delayed. What is seen on both sides becomes a `state` event of a
history without requests, so that it can be judged again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..brokers.runs.parsed import ParsedHistory
from .judging import JudgedProgram, ProgramFinding
from .known import STARTS_UNSIZED, why_not

STATE: Final = "restart"
STOPPED, KILLED = "stopped and started", "killed and started"
FORGOTTEN: Final = "its name server stopped and started"
SOURCE: Final = "a start on what was stored"
ROUTES: Final = "restart.routes"
SENTENCES: Final[Mapping[str, str]] = {
    "restart.topics": "a broker has the topics that it had before it ended",
    "restart.groups": "a broker has the consumer groups that it had before it ended",
    "restart.queues": "a queue begins, and goes on, where it did before its broker ended",
    "restart.records": "a record has the bytes that it had before its broker ended",
    "restart.progress": "a group is as far as it was before its broker ended",
    "restart.delayed": "a delayed message is in its queue when its time is over, once unless a kill came between",
    "restart.keys": "a record is found by the keys by which it was found before its broker was stopped",
    "restart.unsized": STARTS_UNSIZED,
    ROUTES: "a name server knows each topic of a broker as the broker does, when either has started",
}
"""The properties, each in a sentence."""
ROUTED: Final = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
"""What a route has of a topic's entry."""
View = Mapping[str, Any]
"""What is seen of a broker at a moment: for `topics` and `groups` their entries by name, for `queues` by topic and queue the first offset,
the next one and the records' places, for `records` a checksum by place, for `progress` offsets, for `keys` by topic and
key the places of the records that are found, for `delayed` how many
messages are due, were delayed, and have come, for `routes` the entries that a name server has; `others` are those of further name servers,
each, and `missed` questions without an answer. Behind a start, `unsized` are files without which it was possible."""


def breaches(before: View, after: View, *, killed: bool = False) -> Iterator[tuple[str, str]]:
    """What is not as it was: the property and the words."""
    for kind in ("topics", "groups", "progress"):
        for name in dict.fromkeys((*before[kind], *after[kind])):
            one, other = before[kind].get(name), after[kind].get(name)
            if one is None or other is None:
                yield f"restart.{kind}", f"{name} {'was not there, and is' if one is None else 'is gone'}"
            elif one != other:
                yield f"restart.{kind}", f"{name}: {_differing(one, other)}"
    for name, (first, end, places) in before["queues"].items():
        now = after["queues"].get(name)
        if now is None:
            if before["topics"] == after["topics"]:  # a topic that is gone, or has fewer queues, is said already
                yield "restart.queues", f"{name} has no ends any more"
        elif now[0] != first:
            yield "restart.queues", f"{name} begins at {now[0]}, and began at {first}"
        elif now[1] < end:
            yield "restart.queues", f"{name} ends at {now[1]}, and ended at {end}"
        elif now[2][: len(places)] != places:
            yield "restart.queues", f"{name} has records at {now[2][: len(places)]}, and had them at {places}"
    for place, sum_ in before["records"].items():
        if after["records"].get(place, sum_) != sum_:
            yield "restart.records", f"the record at {place} is another one"
    # after a kill an index file that is younger than the checkpoint is made anew, of no more than the last files of the log
    for name, places in before.get("keys", {}).items() if not killed else ():
        lost = [place for place in places if place not in after.get("keys", {}).get(name, places)]
        if lost:
            yield "restart.keys", f"{name} does not find the record at {lost[0]} any more"
    for name, due, times, came in (*before["delayed"], *after["delayed"]):
        if came < due or (came > times and not killed):
            yield "restart.delayed", f"{name}: {came} messages, {times} were delayed and {due} due"
    for file in after.get("unsized", ()):
        yield "restart.unsized", f"it started only without {file}"
    yield from unrouted(after)


def unrouted(seen: View) -> Iterator[tuple[str, str]]:
    """Topics that a name server knows otherwise than their broker does: the property and the words."""
    for routes in (seen["routes"] or {}, *(one or {} for one in seen.get("others", ()))):
        for name in [name for name in seen["topics"] if name in routes]:
            route = routes[name]
            wanted = {field: seen["topics"][name].get(field) for field in route or ROUTED}
            if route is None:
                yield ROUTES, f"{name} has no route"
            elif route != wanted:
                yield ROUTES, f"{name}: the route's {_differing(wanted, route)}"


def _differing(one: Any, other: Any) -> str:
    """The first field in which two entries differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys((*one, *other)):
            if one.get(name) != other.get(name):
                return f"{name} is {other.get(name)!r}, and was {one.get(name)!r}"
    return f"{other!r}, and was {one!r}"


def judge(parsed: ParsedHistory, path: Path, profile: str) -> JudgedProgram:
    """Judge what was seen, by what is known of the profile."""
    state = parsed.states[STATE]
    judged = JudgedProgram(0, path, SOURCE, frozenset(), events=len(parsed.events), by=("claims",))
    if state["before"].get("missed") or state["after"].get("missed"):
        return judged  # without those answers nobody knows
    found: dict[str, str] = {}
    after, forgotten = state["after"], state["how"] == FORGOTTEN
    for property_, text in unrouted(after) if forgotten else breaches(state["before"], after, killed=state["how"] == KILLED):
        found.setdefault(property_, text)
    seen = {**state["before"], "unsized": after.get("unsized", ()), "routes": after["routes"]}  # None where no name server told
    of = {name: seen.get(name.partition(".")[2], {}) for name in ((ROUTES,) if forgotten else SENTENCES)}
    for property_, what in of.items():
        if what is None:
            continue
        reason = why_not(property_, profile)
        judged.claims[property_] = (property_ not in found, "violated" if reason else "holds", "")
        if property_ in found:
            text = f"{SENTENCES[property_]}: {found[property_]} ({state['how']})"
            judged.verdicts.append(ProgramFinding("claims", property_, text, known=bool(reason), reason=reason))
    judged.exercised = frozenset(name for name, what in of.items() if what or name in found)
    return judged
