"""The scopes of the model of sending, driven by one client and an administrator.

Topics of a scope are independent of each other, so each is a part of its own unless a group joins them. The template is never changed,
because all programs share it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from rocketproof_model.interpreter import Environment, State, effect, evaluate, initial
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.properties import DELAY, TIMER_DELAY_SEC, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec import SCOPES, Placed, Scope, Specification, constants, specify

from ..actions import STEPS, TOPICS
from ..settings import ENDED, NO_TEMPLATE, NO_TOPICS, READ_ONLY, WHEEL, WRITE_ONLY
from ..vocabulary import Step
from .statespace import Choice, NotTaken, OutsideModel, StatedResponse, StepBuilder, Values, encoded

BODY: Final = 40  # bytes of a message
NEVER_DUE: Final = "60"  # seconds of a delivery time
SUBJECT: Final = "A"
"""The program's topic of the class "ordinary"."""
GROUP: Final = "g"
"""The group of the retry topic."""
_BEYOND: Final = 100
"""More queues than any topic has that every broker makes."""
_FORBIDDEN: Final = (SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC)
_TABLE: Final[Step] = ("topics", {})
"""The observation after each change: the broker's own table."""

LEFT_OUT: Final[Mapping[str, NotTaken]] = {
    "lock_timeout": NotTaken.RACE,
    "look_again_found": NotTaken.RACE,
    "unlock_found": NotTaken.RACE,
    "miss_topic": NotTaken.RACE,
    "outlive": NotTaken.RACE,
    "lose_registration": NotTaken.FAULT,
    "expire": NotTaken.FAULT,
    "switch_creation": NotTaken.SETTING,
    "permit": NotTaken.SETTING,
}
UNSEEN: Final[Mapping[str, NotTaken]] = {
    "flush": NotTaken.HIDDEN,
    "register": NotTaken.TIMER,
    "accept_registration": NotTaken.HIDDEN,
    "ignore_registration": NotTaken.HIDDEN,
    "restart": NotTaken.HIDDEN,
}


@dataclass(frozen=True)
class _Sizes:
    """How a scope is driven: the variables that are kept, the counters that count to one only, and the steps that show a change."""

    kept: tuple[str, ...] = ("config",)
    capped: tuple[str, ...] = ()
    observe: tuple[Step, ...] = (_TABLE,)
    joined: bool = False


_QUEUES: Final = ("offset", "records", "entries")
_SIZES: Final[Mapping[str, _Sizes]] = {
    "creation": _Sizes(),
    "names": _Sizes(),
    "settings": _Sizes(),
    "deletions": _Sizes(capped=_QUEUES, observe=(_TABLE, ("max_offset", {"topic": SUBJECT}))),
    "offsets": _Sizes(("config", "group", "told"), _QUEUES, (_TABLE, ("progress", {"topic": SUBJECT, "group": GROUP})), joined=True),
    "timers": _Sizes(capped=_QUEUES),
    "restart": _Sizes(("config", "file"), observe=(_TABLE,)),
}


DRIVEN: Final = tuple(_SIZES)


def parts(name: str, profile: str) -> Iterator[OutsideModel]:
    """Yield the parts of a scope of the model of sending."""
    if name == "settings":
        for needs, given in _SETTINGS.items():
            yield from _Sending(name, profile, needs, given).parts()
    elif name == "restart":
        yield from _Sending(name, profile, ENDED, {"crash_budget": 1}).parts()
    else:
        yield from _Sending(name, profile).parts()


_SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "": {},
    READ_ONLY: {"broker_writable": False},
    WRITE_ONLY: {"broker_readable": False},
    NO_TOPICS: {"auto_create": False, "template_in_file": True},
    NO_TEMPLATE: {"auto_create": False},
}


@dataclass(frozen=True)
class _Sending:
    """A scope under a profile, on a broker with the settings `needs`, which correspond to the constants `given`."""

    name: str
    profile: str
    needs: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    def parts(self) -> Iterator[OutsideModel]:
        scope = replace(SCOPES[self.name], producers=1)
        specification = specify(scope)
        values = {"sends": 0, **self.given}
        if scope.updates or scope.deletes:
            values["update_budget"] = -1
        instance = specification.model.given(**constants(self.profile, Placed if scope.placed else Specification, **values))
        sizes, start = _SIZES[self.name], initial(instance)
        if scope.placed and not scope.waits:  # a look-up creates groups
            a = instance.model.named("update_group")
            group = {"b": 0, "t": scope.named("retry")[0], "known": True, "limit": 1, "queues": 1, "listed": False}
            start = effect(instance, start, a, encoded(a, group))
            listed = next(variable for variable in specification.model.variables if variable.name == "group.listed")
            slot = listed.slot((0, group["t"]))
            start = (*start[:slot], 0, *start[slot + 1 :])  # the action lists a group again under some profiles
        own = scope.named("retry", "ordinary")
        kept = frozenset(_slots(specification, sizes.kept))
        capped = frozenset(_slots(specification, sizes.capped, own))  # programs share the queues of other topics

        def normal(state: State) -> State:
            codes = list(start)
            for slot in kept:
                codes[slot] = state[slot]
            for slot in capped:
                codes[slot] = min(state[slot], start[slot] + 1)
            return tuple(codes)

        answer = next(variable for variable in specification.model.variables if variable.name == "job.answer")
        place, word = answer.slot((0,)), answer.type.decode

        def response(choice: Choice, states: Sequence[State]) -> StatedResponse:
            if choice.action == "crash":
                return StatedResponse(silent=True)
            if choice.action == "delete_topic" and PROFILES[self.profile].counts_timers and self.needs != WHEEL:
                return StatedResponse("SYSTEM_ERROR")  # the topic is deleted, and then its timers are counted (TCM-31)
            if choice.action != "request":
                return StatedResponse("SUCCESS")
            return StatedResponse(next(name for state in reversed(states) if (name := str(word(state[place]))) != "none"))

        def refused(choice: Choice) -> StatedResponse | None:
            term = specification.refusals.get(choice.action, {}).get(choice.guard)
            if term is None:
                return None
            return StatedResponse(str(term.type.decode(evaluate(term, Environment((), {}, instance.constants)))))

        actions = {a.name for a in specification.model.actions}
        steps = {name: step for name, step in self._steps(scope, specification).items() if name in actions}
        left_out, unseen = ({name: reason for name, reason in rows.items() if name in actions} for rows in (LEFT_OUT, UNSEEN))
        waits = scope.waits and PROFILES[self.profile].timers
        for label, topics in _topics(scope, joined=sizes.joined):
            if WHEEL_TIMER_TOPIC in {_names(scope)[t] for t in topics}:
                continue  # clients may send to it, unlike to the scope's other topics of this class
            for needs in (self.needs, WHEEL) if waits else (self.needs,):
                yield OutsideModel(
                    self.name, ", ".join(filter(None, (label, needs))), instance, steps, normal, response,
                    partial(_is_mine, topics, scope.waits, needs == WHEEL), refused, left_out, unseen, observe=sizes.observe, needs=needs,
                    longest=6 if needs == ENDED else 40, start=start,
                )  # fmt: skip

    def _steps(self, scope: Scope, specification: Specification) -> dict[str, StepBuilder]:
        names, profile = _names(scope), PROFILES[self.profile]
        shared = {t for t, kind in enumerate(scope.topics) if kind not in ("ordinary", "retry", "illegal", "long")}
        column, retry = next((v for v in specification.model.variables if v.name == "group.listed"), None), scope.named("retry")
        place = column.slot((0, retry[0])) if column is not None and retry else None

        def listed(state: State) -> int:
            return 0 if place is None else state[place]

        def administrated(action: str, values: Values, state: State) -> Sequence[Step] | NotTaken:
            del state
            if values["t"] in shared and not profile.guards_topics:
                return NotTaken.SHARED
            return [STEPS[action](names, BODY, **_stated(values))]

        return {
            "request": partial(_request, names, shared, scope.counts.hi),
            "update_topic": partial(administrated, "update_topic"),
            "delete_topic": partial(administrated, "delete_topic"),
            "update_group": _update_group,
            "commit_offset": _commit_offset,
            "forget_offset": partial(_forget_offset, profile, listed),
            "crash": lambda values, state: [("crash", {})],
        }


def _stated(values: Values) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("p", "b", "size")}


def _request(names: Sequence[str], shared: Collection[int], queues: int, values: Values, state: State) -> Sequence[Step]:
    """A queue id beyond the scope's `queues` is beyond those of a topic that the broker has from the start, too."""
    del state
    stated = _stated(values)
    if stated["t"] in shared and stated["queue"] >= queues:
        stated["queue"] += _BEYOND
    level, timed, half = (stated.pop(name, 0) for name in ("level", "timed", "half"))
    properties = (
        ({DELAY: str(level)} if level else {}) | ({TIMER_DELAY_SEC: NEVER_DUE} if timed else {}) | ({TRAN_MSG: "true"} if half else {})
    )
    name, arguments = STEPS["request"](names, BODY, **stated)
    return [(name, arguments | ({"properties": properties} if properties else {}))]


def _update_group(values: Values, state: State) -> Sequence[Step] | NotTaken:
    del state
    if not values["known"]:
        return NotTaken.SETTING
    if values["listed"]:
        return [("group", {"group": GROUP, "retries": values["limit"], "queues": values["queues"]})]
    return [("delete_group", {"group": GROUP, "offsets": False})]


def _commit_offset(values: Values, state: State) -> Sequence[Step]:
    del state
    step = {"group": GROUP, "topic": SUBJECT, "offset": values["at"]}
    return [("commit", step if values["whole"] else step | {"without": "commitOffset"})]


def _forget_offset(profile: Profile, listed: Callable[[State], int], values: Values, state: State) -> Sequence[Step] | NotTaken:
    """Deleting a group only removes its offsets if the group is not in the table."""
    del values
    if not profile.clean_offsets or listed(state):
        return NotTaken.NO_STEP
    return [("delete_group", {"group": GROUP, "offsets": True})]


def _is_mine(topics: frozenset[int], waits: bool, timed: bool, action: str, values: Values) -> bool:
    if waits and action == "request" and values["timed"] != timed:
        return False
    return values.get("t", min(topics)) in topics


def _topics(scope: Scope, *, joined: bool) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the parts of a scope: its topics, or all topics that a group joins."""
    own = [t for t, kind in enumerate(scope.topics) if kind in ("retry", "ordinary")]
    if joined:
        yield "group", frozenset(own)
    for t, kind in enumerate(scope.topics):
        if not (joined and t in own):
            number = scope.topics[:t].count(kind)
            yield kind + (f" {number + 1}" if number else ""), frozenset({t})


def _slots(specification: Specification, names: Sequence[str], topics: Sequence[int] | None = None) -> Iterator[int]:
    """Yield the slots of these variables; `topics`: only of these, for variables over broker and topic."""
    for variable in specification.model.variables:
        if variable.name.partition(".")[0] in names:
            yield from (variable.slot(at) for at in variable.elements() if topics is None or at[1] in topics)


def _names(scope: Scope) -> list[str]:
    forbidden = iter(_FORBIDDEN)
    return [next(forbidden) if kind == "forbidden" else TOPICS.get(kind, SUBJECT) for kind in scope.topics]
