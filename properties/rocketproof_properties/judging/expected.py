"""Which claims about histories a program may break under a profile, according to the catalogue.

A case of the catalogue has a condition: what its programs do. A generated program may do several of these things and then has all their
conditions. A broken claim is known if a case with one of the program's conditions expects the violation. It is a finding if a case expects
the claim to hold in every program, or in programs of this program's source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal

from rocketproof_profiles import PROFILES, lineage
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, REQUEST_CODE_NOT_SUPPORTED, SUCCESS
from rocketproof_protocol.flags import READ
from rocketproof_protocol.numbers import java_boolean, java_int
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE
from rocketproof_spec.bounds import is_given_up
from rocketproof_traces.checker.left_out import BUSY
from rocketproof_traces.stored.layout import FIXED_SIZE

from ..brokers.runs.exchanges import Rebuilt
from ..brokers.runs.parsed import ParsedHistory
from ..brokers.runs.sendbacks import updated_group
from ..catalogue import conditions as about
from ..catalogue.claim import SEEDS, Case
from ..catalogue.table import CASES
from ..programs.boundaries import unread
from ..programs.call import may_be_held
from ..programs.parts import Capability
from ..programs.vocabulary import Step, arguments
from .done import measured

Expected = Literal["holds", "violated", "open"]
ENOUGH: Final = 30
"""A known violation has vanished if none of this many programs with its condition shows it."""

HIDDEN: Final = frozenset({"INV-54", "INV-55", "INV-56", "LIV-01", "LIV-02", "LIV-06", "INV-38.records"})
"""Claims about facts that a program on the wire cannot observe: statistics, hooks, client state, time spans of hours."""

OF_QUEUES: Final = frozenset({"INV-34.records", "INV-35.records", "INV-36.records"})
"""Claims that need every record of a queue from its beginning."""
OF_PLACES: Final = frozenset({"INV-06.records", "INV-43", "INV-44", "INV-45", "INV-51"})
"""Claims that need every record that a request stored."""
OF_ORIGINS: Final = frozenset({"INV-07.records", "INV-46", "INV-47", "INV-48", "INV-49", "INV-50"})
"""Claims about the origin of a record: a request or an earlier record."""
OF_QUESTIONS: Final = frozenset({"AUX-33.asked"})
"""Claims about the broker's own check requests. A check request can be lost too."""
OF_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "mappedFileSizeCommitLog": frozenset({"INV-37", "INV-38.records", "INV-39"}) | OF_PLACES,
    "maxMessageSize": frozenset({"INV-40"}),
    "transactionCheckInterval": OF_QUESTIONS,
}
"""Claims that depend on a setting of the broker. They are not decided if the setting's value is unknown."""
IN_DOUBT: Final = OF_QUEUES | OF_PLACES | OF_ORIGINS | OF_QUESTIONS
"""Claims that are not decided if responses were lost: it is unknown then what those requests stored."""


HELD: Final = "a pull that is held for a one-way caller"
_ANSWERING: Final = frozenset({BUSY, HELD})

ON_THE_WIRE: Final[Mapping[str, Capability | None]] = {
    **dict.fromkeys((about.DELAYED, about.HALF_ONES, about.HALF_DELAYED, about.AT_LIMIT, about.BY_NAME)),
    **dict.fromkeys((about.SENT_BACK, about.GIVEN_UP, about.NO_RETRY, about.BATCHED, about.UNKNOWN, about.REGISTERED, about.MOVED)),
    about.TOO_LARGE: Capability.START,
}
"""Conditions that programs of clients create, with the capability that the target needs for them."""


@cache
def cases(profile: str) -> tuple[Case, ...]:
    """Return the cases about histories: the profile's own cases, then those of the profiles it refines, up to P49 or an earlier seed."""
    inherited: list[Case] = []
    names = lineage(profile)
    for name in names[: 1 + min(names.index(seed) for seed in SEEDS if seed in names)]:
        named = {(case.claim, case.condition) for case in inherited}
        inherited += [
            case for case in CASES if case.kind == "history" and case.profile == name and (case.claim, case.condition) not in named
        ]
    return tuple(inherited)


def expected(profile: str, claim: str, conditions: frozenset[str], source: str) -> tuple[Expected, Case | None]:
    """Return the catalogue's expected verdict for a claim in a program with these conditions, and the case that states it."""
    if claim == "INV-03" and not conditions.isdisjoint(_ANSWERING):
        return "open", None  # HAZ-26: a broker answers one-way callers if it is busy or held their pulls
    if about.TOO_LARGE in conditions and claim in OF_PLACES and claim != "INV-06.records":
        return "open", None  # INV-06: the lost message is not stored
    if not conditions.isdisjoint(about.UNREAD) and claim in OF_PLACES | OF_QUEUES and claim != "INV-06.records":
        return "open", None  # nor can records after it be read
    mine = [case for case in cases(profile) if case.claim == claim]
    for case in mine:
        if case.expected == "violated" and case.condition in conditions:
            return "violated", case
    for case in mine:
        if case.expected == "holds" and case.condition in (about.ANYTHING, source):
            return "holds", case
    return "open", None


def conditions(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str) -> frozenset[str]:
    """Return the catalogue's conditions that a program meets."""
    beyond = PROFILES[profile].dlq_beyond
    conditions_met = {about.ANYTHING, parsed.program.source}
    limit = rebuilt.whole.logs[parsed.broker].file_size
    updates = (updated_group(each) for each in parsed.exchanges if each.op == "update_group" and each.code in (None, SUCCESS))
    silent = {name for name, group in updates if group.silent}  # even if only temporarily, or if the response was lost
    for exchange in rebuilt.whole.exchanges:
        request = exchange.request
        if request.kind in ("send", "batch"):
            delayed, half = _positive(request.properties), java_boolean(request.properties.get("TRAN_MSG")) and request.kind == "send"
            conditions_met |= {name for name, is_so in _KINDS.items() if is_so == (delayed, half)}
            if half and delayed:
                conditions_met |= {about.DELAYED, about.HALF_ONES}
            if request.topic.startswith(RETRY_PREFIX) and is_given_up(request.reconsume_times, exchange.limit, beyond=beyond):
                conditions_met.add(about.AT_LIMIT)
            if request.queue_id < 0:
                conditions_met.add(about.DRAWN)
            if request.topic == SCHEDULE:
                conditions_met.add(about.BY_NAME)
            if request.kind == "send" and exchange.code == MESSAGE_ILLEGAL:
                conditions_met.add(about.REFUSED)
            if request.kind == "batch":
                conditions_met.add(about.BATCHED)
            if FIXED_SIZE + sum(len(body or b"") for body in request.bodies) + len(request.topic) + 8 > limit:
                conditions_met.add(about.TOO_LARGE)
        elif request.kind == "send_back":
            conditions_met |= {about.SENT_BACK, about.GIVEN_UP}
            if exchange.code == 0 and request.group in silent:
                conditions_met.add(about.NO_RETRY)
        if request.one_way and (request.kind == "other" or exchange.code == REQUEST_CODE_NOT_SUPPORTED):
            conditions_met.add(about.UNKNOWN)  # P40 does not serve END_TRANSACTION
    for sent in measured(parsed, profile):
        conditions_met |= unread(sent)
    if parsed.ended:
        conditions_met.add(about.CRASHED)
    if parsed.busy:
        conditions_met.add(BUSY)
    if not PROFILES[profile].heeds_one_way and any(each.one_way and may_be_held(each.op, each.fields) for each in parsed.exchanges):
        conditions_met.add(HELD)
    if not PROFILES[profile].dlq_perm & READ:
        conditions_met.discard(about.GIVEN_UP)  # the record that a send-back stored cannot be read
    if any(name == "register" for name, _ in parsed.program.steps):
        conditions_met.add(about.REGISTERED)
    if _moves(parsed.program.steps):
        conditions_met.add(about.MOVED)
    return frozenset(conditions_met)


def _moves(steps: Sequence[Step]) -> bool:
    """Whether one address of a broker registers under two ids of the same name."""
    registered = [arguments(step) for step in steps if step[0] == "register"]
    return len({(row["name"], row["address"]) for row in registered}) < len(
        {(row["name"], row["address"], row["broker_id"]) for row in registered}
    )


_KINDS: Final[Mapping[str, tuple[bool, bool]]] = {
    about.DELAYED: (True, False),
    about.HALF_ONES: (False, True),
    about.HALF_DELAYED: (True, True),
}


def _positive(properties: Mapping[str, str]) -> bool:
    return (java_int(properties.get("DELAY", "")) or 0) > 0
