"""The entries of the catalogue that a validation can judge, each with its sentence and expected verdict.

The suite (`suite/`) has an item for each entry. The kinds are:

- *property*: a claim about histories, or a promise. A condition under which the profile expects a violation is an entry of its own. Rules
  about a broker's files are properties too, if they can be read. So are properties of states that a witness of the model violates, if
  brokers can be started for it.
- *rule*: a rule that a guard of the specification states, or that alone decides a field of a response, a record or a topic's entry
  (`judging/reference/rules.py`). It is contradicted if that guard refuses what a broker did, or if the field differs.
- *specification* and *reference*: everything that no single rule decides, by kind of request or state.
- *hazard*: a witness that is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ..brokers.deployment import LOST
from ..catalogue.promises.statements import promises
from ..catalogue.rules import rules
from ..catalogue.table import CLAIMS, HISTORY_CLAIMS, claims_of
from ..conformance.witnesses.known import WITNESSES, KnownHazard
from ..judging import storefiles
from ..judging.claims import HIDDEN, ON_THE_WIRE, cases
from ..judging.reference.rules import SHOWN
from ..judging.specification import guards
from ..judging.verdicts import JudgedProgram, ProgramFinding
from ..judging.wholelog import CLAIMS as OF_LOGS
from ..programs.parts import Capability

Kind = Literal["property", "rule", "specification", "reference", "hazard"]
_ADMINISTRATION: Final = frozenset({"update_topic", "delete_topic", "update_group", "delete_group"})
_MAKING: Final = frozenset({"put", "update_topic"})


@dataclass(frozen=True)
class SuiteEntry:
    """One entry.

    `expected` is the profile's verdict, under `condition` if there is one, with its `reason`. `needs` is the capability that a target needs
    for programs about it, None for none. `claims` are the properties that a hazard violates. `witness` is the hazard whose witness violates
    a property of states.
    """

    id: str
    sentence: str
    kind: Kind
    expected: Literal["holds", "violated"] = "holds"
    condition: str = ""
    reason: str = ""
    needs: Capability | None = None
    claims: tuple[str, ...] = ()
    witness: str = ""

    @property
    def title(self) -> str:
        return f"{self.id} {self.sentence}"

    @property
    def lost(self) -> str:
        """What a target without the capability loses."""
        return "" if self.needs is None else LOST[self.needs]


@dataclass(frozen=True)
class _Compared:
    """A kind of comparison with the reference implementation.

    `about` is the part of a finding's property before the dot, `fields` the part after it.
    """

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
    _compared("search", "the offset of a queue by a time is that of the reference implementation", "search"),
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
"""In order of precedence: a finding belongs to the first entry that matches."""

_SPECIFIED: Final[Mapping[str, str]] = {
    "specification.send": "an answer to a send is one that the specification gives: its code, queue and offset",
    "specification.update_topic": "an administrator's change of a topic is answered as the specification answers it",
    "specification.topics": "a broker has the topics that the specification has, with their queues and permissions",
}


def entries(profile: str, offers: frozenset[Capability]) -> tuple[SuiteEntry, ...]:
    """Return all entries for a profile and a target with these capabilities, in the order in which they run."""
    witnesses = WITNESSES if Capability.START in offers else ()
    result = [
        *_properties(profile),
        *_promises(),
        *(_of_files() if Capability.STORE in offers else ()),
        *(entry for known_hazard in witnesses for entry in _of_states(known_hazard)),
        *_rules(profile),
    ]
    result += [SuiteEntry(id_, sentence, "specification") for id_, sentence in _SPECIFIED.items()]
    result += [SuiteEntry(compared.id, compared.sentence, "reference") for compared in _COMPARED]
    for known_hazard in witnesses:
        result.append(
            SuiteEntry(
                known_hazard.hazard,
                known_hazard.case.sentence,
                "hazard",
                "violated",
                known_hazard.condition,
                known_hazard.case.reason,
                claims=known_hazard.broken,
            )
        )
    return tuple(result)


def _of_files() -> list[SuiteEntry]:
    """Return the rules of the audit about a broker's files."""
    return [SuiteEntry(rule.id, rule.claim.sentence, "property", needs=Capability.STORE) for rule in storefiles.rules()]


def _of_states(known_hazard: KnownHazard) -> list[SuiteEntry]:
    """Return the properties of states that a witness violates. No response of a single program shows them."""
    sentences = {claim.id: claim.sentence for claim in CLAIMS}
    return [
        SuiteEntry(
            f"{id_}[{known_hazard.condition}]",
            sentences[id_],
            "property",
            "violated",
            known_hazard.condition,
            known_hazard.case.reason,
            witness=known_hazard.hazard,
        )
        for id_ in known_hazard.broken
    ]


def _properties(profile: str) -> list[SuiteEntry]:
    result = []
    for claim in HISTORY_CLAIMS:
        claim_cases = [case for case in cases(profile) if case.claim == claim.id]
        if any(case.expected == "holds" for case in claim_cases) and (claim.id not in HIDDEN or claim.id in OF_LOGS):
            needs = Capability.STORE if claim.id in HIDDEN else None
            result.append(SuiteEntry(claim.id, claim.sentence, "property", needs=needs))
        if claim.id in HIDDEN:
            continue
        for case in claim_cases:
            if case.expected == "violated" and case.condition in ON_THE_WIRE:
                id_, needs = f"{claim.id}[{case.condition}]", ON_THE_WIRE[case.condition]
                result.append(SuiteEntry(id_, claim.sentence, "property", "violated", case.condition, case.reason, needs))
    return result


def _promises() -> list[SuiteEntry]:
    """Return the promises that programs decide. Where a release breaks one, programs with that condition do not count."""
    return [SuiteEntry(promise.id, promise.sentence, "property") for promise in promises() if claims_of(promise)]


def _rules(profile: str) -> list[SuiteEntry]:
    decidable = SHOWN | set(guards(profile).values())
    return [SuiteEntry(id_, rule.sentence, "rule") for id_, rule in rules().items() if id_ in decidable]


def entry_of(verdict: ProgramFinding) -> str:
    """Return the id of the entry that a finding contradicts. There is always one."""
    if verdict.judge == "claims":
        return verdict.property
    if len(verdict.rules) == 1:
        return verdict.rules[0]
    about, _, field = verdict.property.partition(".")
    if verdict.judge == "reference":
        return next(compared.id for compared in _COMPARED if compared.has(about, field))
    return verdict.property if verdict.property in _SPECIFIED else "specification.topics"


def puts_to_the_test(judged: JudgedProgram, entry: SuiteEntry) -> bool:
    """Return whether a program could have contradicted an entry, as far as it was judged."""
    if entry.witness:
        return False
    if entry.kind == "property":
        if entry.id.partition("[")[0] not in judged.exercised:
            return False
        _, expected, condition = judged.claims[entry.id.partition("[")[0]]
        return expected == entry.expected and condition == entry.condition if entry.condition else expected == "holds"
    if entry.kind == "rule":
        return entry.id in judged.rules_held
    if entry.kind == "specification":
        return judged.decides("specification") and could_contradict(judged, entry.id)
    if entry.kind == "reference":
        return judged.decides("reference") and _compares(judged, entry.id.removeprefix("reference."))
    return False


def could_contradict(judged: JudgedProgram, id_: str) -> bool:
    """Return whether a program did anything that an entry of the specification is about, decided or not."""
    if id_ == "specification.send":
        return bool(judged.asked & {"send", "batch"}) and bool(judged.actions)
    if id_ == "specification.update_topic":
        return bool(judged.actions & {"update_topic", "refuse_update"})
    return "topic_config" in judged.actions


def _compares(judged: JudgedProgram, what: str) -> bool:
    creating = judged.asked & {"send", "batch", "update_topic"}
    if what.startswith("topic."):
        return bool(creating) if what == "topic.made" else bool(judged.actions & _MAKING)
    if what.startswith("record"):
        return "INV-41" in judged.exercised
    if what == "queue":
        return "INV-36.records" in judged.exercised
    about = next(compared.about for compared in _COMPARED if compared.id == f"reference.{what}")
    known = frozenset().union(*(compared.about for compared in _COMPARED))
    return bool(judged.asked & about if about else judged.asked - known)
