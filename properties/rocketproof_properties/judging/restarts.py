"""Compare a broker before it ends and after it has started again: topics, groups, queues, records, progress and routes.

Nothing may change, except that delayed messages may arrive in their queues. Both views are saved as a `state` event of a history without
requests, so they can be judged again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..brokers.runs.parsed import ParsedHistory
from .known import STARTS_UNSIZED, why_not
from .verdicts import JudgedProgram, ProgramFinding

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
"""Each property in one sentence."""
ROUTED: Final = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
"""The fields of a topic's entry that a route contains."""
View = Mapping[str, Any]
"""A broker's state at one moment.

- `topics`, `groups`: entries by name.
- `queues`: by topic and queue the first offset, the next offset and the places of the records.
- `records`: a checksum by place.
- `progress`: offsets.
- `keys`: by topic and key the places of the records found.
- `delayed`: the number of messages due, delayed and delivered.
- `routes`: the entries of the name server. `others`: those of each further name server.
- `missed`: queries without a response.
- `unsized` (after a restart): files that had to be removed to make it possible.
"""


def breaches(before: View, after: View, *, killed: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each property that a restart broke, with an explanation."""
    for kind in ("topics", "groups", "progress"):
        for name in dict.fromkeys((*before[kind], *after[kind])):
            was, is_now = before[kind].get(name), after[kind].get(name)
            if was is None or is_now is None:
                yield f"restart.{kind}", f"{name} {'was not there, and is' if was is None else 'is gone'}"
            elif was != is_now:
                yield f"restart.{kind}", f"{name}: {_differing(was, is_now)}"
    for name, (first, end, places) in before["queues"].items():
        now = after["queues"].get(name)
        if now is None:
            if before["topics"] == after["topics"]:  # a missing topic or a topic with fewer queues is reported already
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
    # after a kill an index file newer than the checkpoint is rebuilt, from no more than the last files of the log
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
    """Yield each topic whose route in a name server differs from the broker's entry, with an explanation."""
    for routes in (seen["routes"] or {}, *(entries or {} for entries in seen.get("others", ()))):
        for name in [name for name in seen["topics"] if name in routes]:
            route = routes[name]
            wanted = {field: seen["topics"][name].get(field) for field in route or ROUTED}
            if route is None:
                yield ROUTES, f"{name} has no route"
            elif route != wanted:
                yield ROUTES, f"{name}: the route's {_differing(wanted, route)}"


def _differing(before: Any, after: Any) -> str:
    """Describe the first field in which two entries differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                return f"{name} is {after.get(name)!r}, and was {before.get(name)!r}"
    return f"{after!r}, and was {before!r}"


def judge(parsed: ParsedHistory, path: Path, profile: str) -> JudgedProgram:
    """Judge a saved restart under a profile with its known violations."""
    state = parsed.states[STATE]
    judged = JudgedProgram(0, path, SOURCE, frozenset(), events=len(parsed.events), by=("claims",))
    if state["before"].get("missed") or state["after"].get("missed"):
        return judged  # without those responses nothing can be decided
    broken: dict[str, str] = {}
    after, forgotten = state["after"], state["how"] == FORGOTTEN
    for property_, text in unrouted(after) if forgotten else breaches(state["before"], after, killed=state["how"] == KILLED):
        broken.setdefault(property_, text)
    seen = {**state["before"], "unsized": after.get("unsized", ()), "routes": after["routes"]}  # None if no name server responded
    views = {name: seen.get(name.partition(".")[2], {}) for name in ((ROUTES,) if forgotten else SENTENCES)}
    for property_, view in views.items():
        if view is None:
            continue
        reason = why_not(property_, profile)
        judged.claims[property_] = (property_ not in broken, "violated" if reason else "holds", "")
        if property_ in broken:
            text = f"{SENTENCES[property_]}: {broken[property_]} ({state['how']})"
            judged.deviations.append(ProgramFinding("claims", property_, text, known=bool(reason), reason=reason))
    judged.exercised = frozenset(name for name, view in views.items() if view or name in broken)
    return judged
