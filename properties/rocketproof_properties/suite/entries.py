"""What the suite has an item for: each id of the catalogue that programs on a wire can show, with its sentence and expected verdict.

Four kinds. A *property* is a claim about histories; where the profile expects that it is broken under a condition, that is an entry of its
own. A *rule* is one that a guard of the specification states: it is contradicted where that guard refuses what a broker did. What no single
guard refuses is an entry of the *specification* or of the *reference* implementation, by what is asked or looked at. A *hazard* is a
witness of the model that is replayed where brokers can be started for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from rocketproof_model import Action
from rocketproof_profiles import PROFILES
from rocketproof_traces.checker.shape import Shape, model_of

from ..catalogue import HISTORY_CLAIMS
from ..deployments.deployment import LOST
from ..judging.expected import HIDDEN, ON_THE_WIRE, cases
from ..judging.judging import Judged, Verdict
from ..judging.wholelog import CLAIMS as OF_LOGS
from ..rules import rules
from ..steps.parts import Capability
from ..witnesses.known import WITNESSES

Kind = Literal["property", "rule", "specification", "reference", "hazard"]
_ADMINISTRATION: Final = frozenset({"update_topic", "delete_topic", "update_group", "delete_group"})
_MAKING: Final = frozenset({"put", "update_topic"})
_NAMES: Final = ("blank name", "illegal characters", "name too long", "forbidden topic")
_REFUSING: Final = ("order topic on a read-only broker", "illegal queue id")
_ACCEPTING: Final = ("legal queue id", "may inherit", "retry topic")
"""Guards that state a rule. Others say where a request is, or what nobody sees from outside."""
_NOT: Final = "not: "


@dataclass(frozen=True)
class Entry:
    """One item. `expected` is the profile's verdict, under `condition` where it has one, for a `reason`. `needs` is what a target has to
    offer for programs that put it to the test, None for nothing; `claims` are the properties that a hazard breaks."""

    id: str
    sentence: str
    kind: Kind
    expected: Literal["holds", "violated"] = "holds"
    condition: str = ""
    reason: str = ""
    needs: Capability | None = None
    claims: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.id} {self.sentence}"

    @property
    def lost(self) -> str:
        """What a target without that loses."""
        return "" if self.needs is None else LOST[self.needs]


@dataclass(frozen=True)
class _Compared:
    """What the reference implementation is compared in: `fields` are the names of a finding's property, `about` the word before its dot."""

    id: str
    sentence: str
    about: frozenset[str]
    fields: frozenset[str] = frozenset()
    prefix: str = ""

    def has(self, about: str, field: str) -> bool:
        if self.about and about not in self.about:
            return False
        if self.fields:
            return field in self.fields
        return field.startswith(self.prefix)


def _compared(id_: str, sentence: str, about: str, fields: str = "", prefix: str = "") -> _Compared:
    return _Compared(f"reference.{id_}", sentence, frozenset(about.split()), frozenset(fields.split("|")) - {""}, prefix)


_COMPARED: Final = (
    _compared("send", "a send gets the code, remark and fields that the reference implementation answers", "send batch"),
    _compared("send_back", "a send-back gets the code and remark that the reference implementation answers", "send_back"),
    _compared("administration", "an administrator's request is answered as by the reference implementation", " ".join(_ADMINISTRATION)),
    _compared("route", "the name server knows the queues and addresses that the reference implementation knows", "route"),
    _compared("earliest", "the time of a queue's first message is that of the reference implementation", "earliest"),
    _compared("topic.made", "a topic is there if and only if the reference implementation has made it", "topic", "the broker's entry"),
    _compared(
        "topic.queues", "a topic has as many queues as the reference implementation gives it", "topic", "readQueueNums|writeQueueNums"
    ),
    _compared("topic.perm", "a topic has the permission that the reference implementation gives it", "topic", "perm"),
    _compared("topic.flags", "a topic has the flags, order and filter that the reference implementation gives it", "topic"),
    _compared("queue", "a queue counts the messages that the reference implementation puts into it", "queue"),
    _compared("record.property", "a record has the properties that the reference implementation stores", "record", prefix="property "),
    _compared("record", "a record is there, and has the fields, that the reference implementation stores", "record"),
    _compared("other", "any other request is answered as by the reference implementation", ""),
)
"""In order: the first that fits a finding has it."""

_SPECIFIED: Final[Mapping[str, str]] = {
    "specification.send": "an answer to a send is one that the specification gives: its code, queue and offset",
    "specification.update_topic": "an administrator's change of a topic is answered as the specification answers it",
    "specification.topics": "a broker has the topics that the specification has, with their queues and permissions",
}


def entries(profile: str, offers: frozenset[Capability]) -> tuple[Entry, ...]:
    """All entries for a profile and a target that offers this, in the order in which they run."""
    found = [*_properties(profile), *_rules(profile)]
    found += [Entry(id_, sentence, "specification") for id_, sentence in _SPECIFIED.items()]
    found += [Entry(one.id, one.sentence, "reference") for one in _COMPARED]
    if Capability.START in offers:
        for one in WITNESSES:
            claims = (one.claim, *one.claims)
            found.append(Entry(one.hazard, one.case.sentence, "hazard", "violated", one.condition, one.case.reason, claims=claims))
    return tuple(found)


def _properties(profile: str) -> list[Entry]:
    found = []
    for claim in HISTORY_CLAIMS:
        mine = [case for case in cases(profile) if case.claim == claim.id]
        if any(case.expected == "holds" for case in mine) and (claim.id not in HIDDEN or claim.id in OF_LOGS):
            needs = Capability.STORE if claim.id in HIDDEN else None
            found.append(Entry(claim.id, claim.sentence, "property", needs=needs))
        if claim.id in HIDDEN:
            continue
        for case in mine:
            if case.expected == "violated" and case.condition in ON_THE_WIRE:
                id_, needs = f"{claim.id}[{case.condition}]", ON_THE_WIRE[case.condition]
                found.append(Entry(id_, claim.sentence, "property", "violated", case.condition, case.reason, needs))
    return found


@cache
def _stating(profile: str) -> Mapping[tuple[str, str], str]:
    """The rule that a guard states, the first of its action's, by action and guard."""
    names = _NAMES if PROFILES[profile].check_names else ("reserved name",)
    wanted = {*names, *_REFUSING, *_ACCEPTING}
    return {(action.name, guard.name): action.rules[0] for action in _actions(profile) for guard in action.guards if guard.name in wanted}


@cache
def guards(profile: str) -> Mapping[tuple[str, str], str]:
    """The rule that is contradicted where a guard refuses what a broker did, by action and guard.

    They are those of actions by which a request goes on: which of several reasons a broker had to refuse one, its answer does not tell.
    """
    stated = _stating(profile)
    rule = {_NOT + guard: id_ for (_, guard), id_ in stated.items()} | {g: id_ for (_, g), id_ in stated.items() if g in _ACCEPTING}
    going_on = [action for action in _actions(profile) if not action.name.startswith("refuse_")]
    return {(action.name, guard.name): rule[guard.name] for action in going_on for guard in action.guards if guard.name in rule}


def _actions(profile: str) -> Sequence[Action]:
    return model_of(Shape(profile, ("template", "ordinary", "retry"), 8))[1].actions


def _rules(profile: str) -> list[Entry]:
    stated = set(guards(profile).values())
    return [Entry(id_, rule.sentence, "rule") for id_, rule in rules().items() if id_ in stated]


def entry_of(verdict: Verdict, profile: str) -> str:
    """The id of the entry that a finding contradicts. Every finding contradicts one."""
    if verdict.judge == "claims":
        return verdict.property
    about, _, field = verdict.property.partition(".")
    if verdict.judge == "reference":
        return next(one.id for one in _COMPARED if one.has(about, field))
    action, _, guard = verdict.guard.partition(": ")
    rule = guards(profile).get((action, guard))
    if rule is not None:
        return rule
    return verdict.property if verdict.property in _SPECIFIED else "specification.topics"


def puts_to_the_test(judged: Judged, entry: Entry, profile: str) -> bool:
    """Whether a program could have contradicted an entry, as far as it was judged."""
    if entry.kind == "property":
        if entry.id.partition("[")[0] not in judged.exercised:
            return False
        _, expected, condition = judged.claims[entry.id.partition("[")[0]]
        return expected == entry.expected and condition == entry.condition if entry.condition else expected == "holds"
    if entry.kind == "rule":
        return any(rule == entry.id and action in judged.actions for (action, _), rule in _stating(profile).items())
    if entry.kind == "specification":
        return "specification" in judged.by and _explained(judged, entry.id)
    if entry.kind == "reference":
        return "reference" in judged.by and _compares(judged, entry.id.removeprefix("reference."))
    return False


def _explained(judged: Judged, id_: str) -> bool:
    if id_ == "specification.send":
        return bool(judged.asked & {"send", "batch"}) and bool(judged.actions)
    if id_ == "specification.update_topic":
        return bool(judged.actions & {"update_topic", "refuse_update"})
    return "topic_config" in judged.actions


def _compares(judged: Judged, what: str) -> bool:
    made = judged.asked & {"send", "batch", "update_topic"}
    if what.startswith("topic."):
        return bool(made) if what == "topic.made" else bool(judged.actions & _MAKING)
    if what.startswith("record"):
        return "INV-41" in judged.exercised
    if what == "queue":
        return "INV-36.records" in judged.exercised
    about = next(one.about for one in _COMPARED if one.id == f"reference.{what}")
    known = frozenset().union(*(one.about for one in _COMPARED))
    return bool(judged.asked & about if about else judged.asked - known)
