"""Each guard of the broker's actions decides a verdict: a short history is Illegal, and Ok once the guard is deleted.

Guards that no history can show are listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from proportion import few
from rocketproof_model import Model
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.checker.machine import Machine, machine
from rocketproof_traces.checker.shape import SERVED, SIZES, MachineShape
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
BLANK, CHARACTERS, LONG, FORBIDDEN = " ", "a b", "x" * 128, "SCHEDULE_TOPIC_XXXX"
RETRY, TEMPLATE, OTHER = "%RETRY%g", "TBW102", "D"
Config = tuple[int, int, int]


@dataclass(frozen=True)
class Told:
    """A history by its lines: `send`, `ok` and so on below read "name topic queue ..."."""

    lines: tuple[tuple[Any, ...], ...]
    table: Mapping[str, Config] = field(default_factory=dict)
    auto: bool = True
    permission: int = 6
    ordered: bool = False
    profile: str = "P494"

    def events(self) -> list[Event]:
        known = {TEMPLATE: (8, 8, 7), **self.table} if self.auto else dict(self.table)
        found = [Event(0, "state", BROKER, "topics", self._topics(known))]
        for kind, *rest in self.lines:
            seq = len(found)
            if kind == "topics":
                found.append(Event(seq, "state", BROKER, "topics", self._topics({**known, **rest[0]})))
            elif kind == "ok":
                client, op, code, *place = rest
                fields = dict(zip(("queueId", "queueOffset"), map(str, place), strict=False))
                found.append(Event(seq, "ok", client, op, {"code": code, "fields": fields}))
            else:
                client, topic, *numbers = rest
                found.append(Event(seq, "invoke", client, kind, {"to": BROKER, "fields": FIELDS[kind](topic, *numbers)}))
        return found

    def _topics(self, table: Mapping[str, Config]) -> dict[str, Any]:
        named = ("readQueueNums", "writeQueueNums", "perm")
        return {"topics": {t: {**dict(zip(named, c, strict=True)), "order": self.ordered} for t, c in table.items()}}

    def verdict(self, make: Callable[[MachineShape], Machine]) -> str:
        settings = {"autoCreateTopicEnable": str(self.auto).lower(), "brokerPermission": self.permission}
        return judge_history(Header({"settings": settings}), self.events(), self.profile, make=make).verdict


def sent(topic: str, queue: int = 0, numbers: int = 4, default: str = TEMPLATE) -> dict[str, str]:
    return {
        "producerGroup": "g", "topic": topic, "defaultTopic": default, "defaultTopicQueueNums": str(numbers), "queueId": str(queue),
        "sysFlag": "0", "bornTimestamp": "0", "flag": "0",
    }  # fmt: skip


FIELDS: dict[str, Callable[..., dict[str, str]]] = {
    "send": sent,
    "delete_topic": lambda t: {"topic": t},
    "update_topic": lambda t, r, w, p: {"topic": t, "readQueueNums": str(r), "writeQueueNums": str(w), "perm": str(p)},
}


def one(topic: str, code: int, *place: int, queue: int = 0, default: str = TEMPLATE, **more: Any) -> Told:
    """Send one message and answer it."""
    place = place or ((0, 0) if code == 0 else ())
    return Told((("send", "c", topic, queue, 4, default), ("ok", "c", "send", code, *place)), **more)


def deleted(topic: str, *before: tuple[Any, ...]) -> Told:
    """Add requests, and then a successful deletion of the topic."""
    return Told((*before, ("delete_topic", "a", topic), ("ok", "a", "delete_topic", 0)))


HERE = {"T": (2, 2, 6)}
REFUSED, MISSING, BAD, LIMIT = 16, 17, 1, 13
# An order topic of a read-only broker takes a message; its queue id is one that is legal also where no configuration was looked up.
SKIPS = one("T", 0, queue=-1, table=HERE, permission=4, ordered=True)
NOT_THERE = one("T", MISSING)
GONE = one("T", MISSING, table=HERE)
FAILS = one("T", BAD)
CREATES = one(BLANK, 0)
TWICE = Told(
    (
        ("send", "a", "T", 0, 4), ("send", "b", "T", 0, 2), ("ok", "a", "send", 0, 0, 0), ("topics", {"T": (4, 4, 6)}),
        ("topics", {"T": (2, 2, 6)}),
    )
)  # fmt: skip
AFTER_ALL = Told(
    (
        ("send", "a", RETRY, 0), ("send", "b", RETRY, 0), ("ok", "a", "send", 0, 0, 0), ("update_topic", "a", RETRY, 4, 4, 6),
        ("ok", "a", "update_topic", 0), ("topics", {RETRY: (4, 4, 6)}), ("topics", {RETRY: (1, 1, 6)}),
    ),
    auto=False,
)  # fmt: skip
BOTH = Told((("send", "a", "T", 0), ("send", "b", "T", 0), ("ok", "a", "send", MISSING)), table=HERE)
EMPTIED = Told((("send", "a", "T", 0), ("topics", {"T": (0, 0, 0)})), table=HERE)
LEFT = Told((("send", "a", RETRY, 0), ("ok", "a", "send", 0, 0, 0), ("topics", {RETRY: (1, 1, 6)})))
REDUCED = one(RETRY, MISSING, auto=False, table={TEMPLATE: (8, 8, 7)})
P40: dict[str, Any] = {"profile": "P40"}
ORDERED: dict[str, Any] = {"permission": 4, "ordered": True}

TELLS: dict[tuple[str, str], Told] = {
    ("refuse_order_topic", "order topic on a read-only broker"): one("T", REFUSED),
    ("refuse_blank", "not: order topic on a read-only broker"): one(BLANK, BAD, table={BLANK: (2, 2, 6)}, **ORDERED),
    ("refuse_blank", "blank name"): FAILS,
    ("refuse_characters", "not: order topic on a read-only broker"): one(CHARACTERS, BAD, table={CHARACTERS: (2, 2, 6)}, **ORDERED),
    ("refuse_characters", "illegal characters"): FAILS,
    ("refuse_length", "not: order topic on a read-only broker"): one(LONG, BAD, table={LONG: (2, 2, 6)}, **ORDERED),
    ("refuse_length", "name too long"): FAILS,
    ("refuse_forbidden", "forbidden topic"): one("T", REFUSED),
    ("refuse_template", "not: order topic on a read-only broker"): one(TEMPLATE, BAD, **ORDERED, **P40),
    ("refuse_template", "reserved name"): FAILS,
    ("look_up", "not: order topic on a read-only broker"): SKIPS,
    ("look_up", "not: blank name"): one(BLANK, 0, table={BLANK: (2, 2, 6)}),
    ("look_up", "not: illegal characters"): one(CHARACTERS, 0, table={CHARACTERS: (2, 2, 6)}),
    ("look_up", "not: name too long"): one(LONG, 0, table={LONG: (2, 2, 6)}),
    ("look_up", "not: forbidden topic"): one(FORBIDDEN, 0, table={FORBIDDEN: (2, 2, 6)}),
    ("look_up", "not: reserved name"): one(TEMPLATE, 0, **P40),
    ("look_up", "known"): FAILS,
    ("look_up_missing", "arrived"): NOT_THERE,
    ("look_up_missing", "not: blank name"): CREATES,
    ("look_up_missing", "not: illegal characters"): one(CHARACTERS, 0),
    ("look_up_missing", "not: name too long"): one(LONG, 0),
    ("look_up_missing", "not: forbidden topic"): one(FORBIDDEN, 0),
    ("look_up_missing", "not: reserved name"): one(
        TEMPLATE, 0, auto=False, default="DefaultCluster", table={"DefaultCluster": (16, 16, 7)}, **P40
    ),
    ("look_up_missing", "unknown"): BOTH,
    ("acquire_lock", "missing"): SKIPS,
    ("acquire_lock", "lock free"): TWICE,
    ("lock_timeout", "missing"): NOT_THERE,
    ("lock_timeout", "lock held"): NOT_THERE,
    ("look_again_found", "locked"): SKIPS,
    ("look_again_found", "known"): FAILS,
    ("look_again_missing", "locked"): CREATES,
    ("look_again_missing", "unknown"): TWICE,
    ("template_absent", "template"): one("T", MISSING, table=HERE, auto=False),
    ("template_absent", "by template"): one(RETRY, MISSING, auto=False),
    ("template_absent", "template unknown"): NOT_THERE,
    ("template_found", "template"): CREATES,
    ("template_found", "by template"): REDUCED,
    ("template_not_inherited", "inherit"): one("T", MISSING, table=HERE, auto=False),
    ("template_not_inherited", "may not inherit"): NOT_THERE,
    ("build", "inherit"): CREATES,
    ("build", "may inherit"): one("T", 0, default=OTHER, table={OTHER: (8, 8, 6)}),
    ("build_retry", "template"): AFTER_ALL,
    ("build_retry", "second way"): LEFT,
    ("put", "built"): EMPTIED,
    ("next_version", "put"): SKIPS,
    ("persist", "versioned"): SKIPS,
    ("unlock", "persisted"): SKIPS,
    ("unlock_found", "found"): SKIPS,
    ("unlock_refused", "refused"): GONE,
    ("announce", "unlocked"): SKIPS,
    ("second_way", "failed"): one(RETRY, 0, table={RETRY: (1, 1, 6)}, **ORDERED),
    ("second_way", "retry topic"): one("T", 0, default=RETRY),
    ("topic_not_exist", "failed"): GONE,
    ("topic_not_exist", "no second way"): one(RETRY, MISSING, auto=False),
    ("accept_queue", "checked"): SKIPS,
    ("accept_queue", "legal queue id"): one("T", 0, 3, 0, queue=3, table=HERE),
    ("refuse_queue", "checked"): FAILS,
    ("refuse_queue", "illegal queue id"): one("T", BAD, table=HERE),
    ("divide_by_zero", "accepted"): one("T", BAD, queue=-1),
    ("divide_by_zero", "negative"): one("T", BAD, table={"T": (2, 0, 6)}),
    ("divide_by_zero", "no writable queue"): one("T", BAD, queue=-1, table=HERE),
    ("refuse_in_store", "accepted"): one(LONG, LIMIT, queue=5, table={LONG: (2, 2, 6)}, **P40),
    ("refuse_in_store", "has a queue"): one(LONG, LIMIT, queue=-1, table={LONG: (2, 0, 6)}, **P40),
    ("refuse_in_store", "name too long for the store"): one("T", LIMIT, default=LONG, table=HERE, **P40),
    ("store", "accepted"): SKIPS,
    ("store", "name fits the store"): one(LONG, 0, table={LONG: (2, 2, 6)}, **P40),
    ("delete_topic", "proper name"): deleted(BLANK),
    ("miss_topic", "accepted"): deleted("T", ("send", "b", "T", 0), ("ok", "b", "send", BAD)),
    ("miss_topic", "topic gone"): deleted("U", ("send", "b", "U", 0), ("ok", "b", "send", BAD)),
    ("update_topic", "proper name"): Told((("update_topic", "a", BLANK, 1, 1, 6), ("ok", "a", "update_topic", 0))),
}

_CLASSES = ("blank name", "illegal characters", "name too long", "forbidden topic")
_RUNS = "a part ends where its broker's process does, so that the broker runs in all of it"
_ANEW = "a request refused for its name or its topic's order never gets further, and from where others are nothing new is answered"
_ONE = "a name is of one class"
_SAME = "both refusals are answered alike"
_SIZE = "the sizes of records are not looked at: every record fits"

NO_HISTORY: dict[tuple[str, str], str] = {
    **{(f"refuse_{a}", "arrived"): _ANEW for a in ("order_topic", "blank", "characters", "length", "forbidden", "template")},
    **{(f"refuse_{a}", f"not: {_CLASSES[k]}"): _ONE for n, a in enumerate(("characters", "length", "forbidden", "template"), 1)
       for k in range(n)},
    ("refuse_forbidden", "not: order topic on a read-only broker"): _SAME,
    ("look_up", "arrived"): "who looks up once more, later, is answered like one who arrived later",
    ("look_up_missing", "not: order topic on a read-only broker"): "an unknown topic is no order topic",
    ("template_found", "template known"): "a topic that is not there has no INHERIT: it is refused one step later",
    ("second_way", "first time"): "who tries again is answered like one who got the lock at first",
    ("store", "has a queue"): "without a queue there is no remainder, so that nothing can be stored either",
    ("store", "one draw"): "a given queue id does not depend on what is drawn",
    ("store", "fits"): _SIZE,
    ("update_topic", "another topic"): "an update that changes nothing leaves what is judged as it was",
}  # fmt: skip


def without(action: str, guard: str) -> Callable[[Model], Model]:
    def change(model: Model) -> Model:
        assert any(g.name == guard for g in model.named(action).guards)
        return model.with_actions(
            replace(a, guards=tuple(g for g in a.guards if g.name != guard)) if a.name == action else a for a in model.actions
        )

    return change


@pytest.mark.parametrize(("action", "guard"), few(TELLS, 20), ids=[f"{a}-{g}" for a, g in TELLS])
def test_deleted_guard_changes_verdict(action: str, guard: str) -> None:
    place = action, guard
    told = TELLS[place]
    assert told.verdict(machine) == "illegal"
    change = without(*place)

    def spoilt(shape: MachineShape) -> Machine:
        named = any(a.name == place[0] for a in machine(shape).spec.model.actions)
        return Machine(shape, change if named else None)

    assert told.verdict(spoilt) == "ok"


def test_every_guard_is_reached_or_has_reason() -> None:
    shape = MachineShape("P494", ("template", "retry", "long", "ordinary"), 2, deletes=True)
    actions = [a for a in machine(shape).spec.model.actions if a.actor in SERVED and a.name not in SIZES]
    guards = {(a.name, g.name) for a in actions for g in a.guards if not g.bound and g.name != "broker runs"}
    assert not TELLS.keys() & NO_HISTORY.keys()
    assert guards == TELLS.keys() | NO_HISTORY.keys(), _RUNS
