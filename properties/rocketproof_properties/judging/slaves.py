"""Compare a slave with its master after the programs of a validation: topics, groups, offsets, queues and records must be equal.

Both views are saved as a `state` event of a history without requests, so they can be judged again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..brokers.runs.parsed import ParsedHistory
from .known import why_not
from .verdicts import JudgedProgram, ProgramFinding

STATE: Final = "slave"
SOURCE: Final = "a slave of the programs' broker"
LOG: Final = "slave.log"
SENTENCES: Final[Mapping[str, str]] = {
    LOG: "the log of a slave is the beginning of its master's, byte for byte",
    "slave.topics": "a slave has the topics of its master, with all their fields",
    "slave.topic_attributes": "a slave has the topics of its master, also if some have attributes",
    "slave.groups": "a slave has the consumer groups of its master, with all their fields",
    "slave.offsets": "a slave has the offsets that groups have committed on its master",
    "slave.deleted_offsets": "a slave has no offset that its master has deleted",
    "slave.delays": "a slave has the offsets up to which its master has delivered delayed messages",
    "slave.queues": "a queue of a slave begins and ends where that of its master does, with records at the same places",
    "slave.recreated_queues": "a queue of a topic that was created again begins and ends on a slave where it does on its master",
    "slave.records": "a record of a slave has the bytes of its master's",
    "slave.keys": "a slave finds a record by the keys by which its master finds it",
}
"""Each property in one sentence."""
TABLES: Final = ("slave.topics", "slave.topic_attributes", "slave.groups", "slave.offsets", "slave.deleted_offsets", "slave.delays")
"""The properties of what a slave requests from its master. The others follow from the replicated log."""
View = Mapping[str, Any]
"""What a broker has at one moment, as far as it was read.

- `topics`, `groups`, `queues`, `records`, `keys`: as in `brokers.runs.brokerview`.
- `offsets`: those that groups have committed. `delays`: the offsets up to which delayed messages are delivered.
"""


def breaches(master: View, slave: View, recreated: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield each property that a slave breaks, with an explanation. Values that the master's view lacks are not compared.

    `recreated`: topics that may have been deleted and created again.
    """
    for kind, property_ in (("topics", _about_topics(master)), ("groups", "slave.groups")):
        for name in dict.fromkeys((*master.get(kind, {}), *slave.get(kind, {}))):
            yield from ((property_, f"{name}: {text}") for text in _differing(master[kind].get(name), slave[kind].get(name)))
    for kind in ("offsets", "delays"):
        theirs, own = master.get(kind, {}), slave.get(kind, {})
        yield from ((f"slave.{kind}", f"{name}: {_both(value, own.get(name))}") for name, value in theirs.items() if own.get(name) != value)
    for name in slave.get("offsets", {}).keys() - master.get("offsets", {}).keys():
        yield "slave.deleted_offsets", f"{name}: {_both(None, slave['offsets'][name])}"
    for name, (first, end, places) in master.get("queues", {}).items():
        now, topic = slave.get("queues", {}).get(name), name.partition(" of ")[2]
        property_ = "slave.recreated_queues" if topic in recreated else "slave.queues"
        if now is None:
            if topic in slave.get("topics", {}):  # a missing topic is reported already
                yield property_, f"{name} has no ends"
        elif now != [first, end, places]:
            text = next(_both(was, is_now) for was, is_now in zip((first, end, places), now, strict=True) if was != is_now)
            yield property_, f"{name} from offset {now[0]} to {now[1]}: {text}"
    for place, sum_ in master.get("records", {}).items():
        if slave.get("records", {}).get(place, sum_) != sum_:
            yield "slave.records", f"the record at {place} is another one"
    for name, places in master.get("keys", {}).items():
        lost = [place for place in places if place not in slave.get("keys", {}).get(name, places)]
        if lost:
            yield "slave.keys", f"{name} does not find the record at {lost[0]}"


def _about_topics(master: View) -> str:
    """Return the property of the table of topics. In some releases topics with attributes are not copied, nor any topic after them."""
    return "slave.topic_attributes" if any(entry.get("attributes") for entry in master.get("topics", {}).values()) else "slave.topics"


def _differing(theirs: Any, own: Any) -> Iterator[str]:
    """Yield how an entry of a slave's table differs from its master's, field by field. None: it has no such entry."""
    if theirs is None or own is None:
        if theirs != own:
            yield _both(*(None if entry is None else "present" for entry in (theirs, own)))
        return
    for name in dict.fromkeys((*theirs, *own)):
        if theirs.get(name) != own.get(name):
            yield f"{name} is {_both(theirs.get(name), own.get(name))}"


def _both(theirs: Any, own: Any) -> str:
    return f"{own}, {theirs} on the master"


def judge(parsed: ParsedHistory, path: Path, profile: str) -> JudgedProgram:
    """Judge the saved views of a master and its slave under a profile with its known violations.

    Nothing is decided if the slave did not have its master's log in time, or if a query had no response. Of a slave with another log only
    the log is judged.
    """
    state = parsed.states[STATE]
    judged = JudgedProgram(0, path, SOURCE, frozenset(), events=len(parsed.events), by=("claims",))
    unknown = str(state["unknown"])
    broken: dict[str, list[str]] = {}
    if not unknown and state["log"]:
        broken[LOG] = [str(state["log"])]
        unknown = "the slave has another log than its master"
    elif not unknown:
        for property_, text in breaches(state["master"], state["slave"], state["recreated"]):
            broken.setdefault(property_, []).append(text)
    judged.left_open = dict.fromkeys(SENTENCES.keys() - broken.keys(), unknown) if unknown else {}
    views = state.get("master", {})
    reasons = {property_: why_not(property_, profile) for property_ in SENTENCES}
    for property_ in SENTENCES.keys() - judged.left_open.keys():
        judged.claims[property_] = (property_ not in broken, "violated" if reasons[property_] else "holds", "")
    for property_, (first, *others) in broken.items():
        reason = reasons[property_]
        text = f"{SENTENCES[property_]}: {first}" + (f" (and {len(others)} others)" if others else "")
        judged.deviations.append(ProgramFinding("claims", property_, text, known=bool(reason), reason=reason))
    present = {f"slave.{kind}" for kind, values in views.items() if values}.intersection(SENTENCES) - {"slave.topics"}
    present |= {LOG, _about_topics(views)} if views else set()
    present |= {"slave.recreated_queues"} if state.get("recreated") else set()
    judged.exercised = frozenset({*present, *broken})
    return judged
