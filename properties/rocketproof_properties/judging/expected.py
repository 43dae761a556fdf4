"""Which claims about histories a program of a profile may break, as the catalogue says.

A case of the catalogue holds under a condition, which is what the programs of the case do. A program on the wire may do
several of these things: it has the conditions of all of them. What it breaks is known if a case with one of its conditions says
so; it is a finding if a case says that the claim holds whatever is done, or in the programs that it was drawn from.
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
"""Programs of a condition after which a known violation that none of them shows has vanished."""

HIDDEN: Final = frozenset({"INV-54", "INV-55", "INV-56", "LIV-01", "LIV-02", "LIV-06", "INV-38.records"})
"""Claims about what no program on the wire can see: statistics, hooks, what clients know, hours."""

OF_QUEUES: Final = frozenset({"INV-34.records", "INV-35.records", "INV-36.records"})
"""Claims that need every record of a queue, from its begin."""
OF_PLACES: Final = frozenset({"INV-06.records", "INV-43", "INV-44", "INV-45", "INV-51"})
"""Claims that need every record that a request has stored."""
OF_ORIGINS: Final = frozenset({"INV-07.records", "INV-46", "INV-47", "INV-48", "INV-49", "INV-50"})
"""Claims about what a record was made of: a request, or an earlier record."""
OF_QUESTIONS: Final = frozenset({"AUX-33.asked"})
"""Claims about what a broker asks by itself: a question may be lost, too."""
OF_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "mappedFileSizeCommitLog": frozenset({"INV-37", "INV-38.records", "INV-39"}) | OF_PLACES,
    "maxMessageSize": frozenset({"INV-40"}),
    "transactionCheckInterval": OF_QUESTIONS,
}
"""Claims that depend on a setting of the broker, which are not decided where its value is unknown."""
IN_DOUBT: Final = OF_QUEUES | OF_PLACES | OF_ORIGINS | OF_QUESTIONS
"""What is not decided where answers were lost: nobody knows then what each request has stored."""


HELD: Final = "a pull that is held for a one-way caller"
_ANSWERING: Final = frozenset({BUSY, HELD})

ON_THE_WIRE: Final[Mapping[str, Capability | None]] = {
    **dict.fromkeys((about.DELAYED, about.HALF_ONES, about.HALF_DELAYED, about.AT_LIMIT, about.BY_NAME)),
    **dict.fromkeys((about.SENT_BACK, about.GIVEN_UP, about.NO_RETRY, about.BATCHED, about.UNKNOWN, about.REGISTERED, about.MOVED)),
    about.TOO_LARGE: Capability.START,
}
"""Conditions that programs of clients bring about, and what a target has to offer for that."""


@cache
def cases(profile: str) -> tuple[Case, ...]:
    """The cases about histories: a profile's own, then those of each profile that it refines, up to P49 or an earlier seed."""
    found: list[Case] = []
    names = lineage(profile)
    for name in names[: 1 + min(names.index(seed) for seed in SEEDS if seed in names)]:
        named = {(case.claim, case.condition) for case in found}
        found += [case for case in CASES if case.kind == "history" and case.profile == name and (case.claim, case.condition) not in named]
    return tuple(found)


def expected(profile: str, claim: str, conditions: frozenset[str], source: str) -> tuple[Expected, Case | None]:
    """What the catalogue says of a claim in a program that does all this, with the case that says it."""
    if claim == "INV-03" and not conditions.isdisjoint(_ANSWERING):
        return "open", None  # HAZ-26: a busy broker answers one-way callers too, and so does one that held their pulls
    if about.TOO_LARGE in conditions and claim in OF_PLACES and claim != "INV-06.records":
        return "open", None  # what was lost by INV-06 is nowhere
    if not conditions.isdisjoint(about.UNREAD) and claim in OF_PLACES | OF_QUEUES and claim != "INV-06.records":
        return "open", None  # and neither is what lay behind it
    mine = [case for case in cases(profile) if case.claim == claim]
    for case in mine:
        if case.expected == "violated" and case.condition in conditions:
            return "violated", case
    for case in mine:
        if case.expected == "holds" and case.condition in (about.ANYTHING, source):
            return "holds", case
    return "open", None


def conditions(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str) -> frozenset[str]:
    """What a program did, in the catalogue's words."""
    beyond = PROFILES[profile].dlq_beyond
    found = {about.ANYTHING, parsed.program.source}
    limit = rebuilt.whole.logs[parsed.broker].file_size
    updates = (updated_group(one) for one in parsed.asked if one.op == "update_group" and one.code in (None, SUCCESS))
    silent = {name for name, group in updates if group.silent}  # if only for a while, or perhaps, since the answer was lost
    for exchange in rebuilt.whole.exchanges:
        asked = exchange.request
        if asked.kind in ("send", "batch"):
            delayed, half = _positive(asked.properties), java_boolean(asked.properties.get("TRAN_MSG")) and asked.kind == "send"
            found |= {name for name, is_so in _KINDS.items() if is_so == (delayed, half)}
            if half and delayed:
                found |= {about.DELAYED, about.HALF_ONES}
            if asked.topic.startswith(RETRY_PREFIX) and is_given_up(asked.reconsume_times, exchange.limit, beyond=beyond):
                found.add(about.AT_LIMIT)
            if asked.queue_id < 0:
                found.add(about.DRAWN)
            if asked.topic == SCHEDULE:
                found.add(about.BY_NAME)
            if asked.kind == "send" and exchange.code == MESSAGE_ILLEGAL:
                found.add(about.REFUSED)
            if asked.kind == "batch":
                found.add(about.BATCHED)
            if FIXED_SIZE + sum(len(body or b"") for body in asked.bodies) + len(asked.topic) + 8 > limit:
                found.add(about.TOO_LARGE)
        elif asked.kind == "send_back":
            found |= {about.SENT_BACK, about.GIVEN_UP}
            if exchange.code == 0 and asked.group in silent:
                found.add(about.NO_RETRY)
        if asked.one_way and (asked.kind == "other" or exchange.code == REQUEST_CODE_NOT_SUPPORTED):
            found.add(about.UNKNOWN)  # P40 serves no ends of transactions
    for sent in measured(parsed, profile):
        found |= unread(sent)
    if parsed.ended:
        found.add(about.CRASHED)
    if parsed.busy:
        found.add(BUSY)
    if not PROFILES[profile].heeds_one_way and any(one.one_way and may_be_held(one.op, one.fields) for one in parsed.asked):
        found.add(HELD)
    if not PROFILES[profile].dlq_perm & READ:
        found.discard(about.GIVEN_UP)  # nobody can read what a send-back has made of it
    if any(name == "register" for name, _ in parsed.program.steps):
        found.add(about.REGISTERED)
    if _moves(parsed.program.steps):
        found.add(about.MOVED)
    return frozenset(found)


def _moves(steps: Sequence[Step]) -> bool:
    """Whether the address of a broker registers under two ids of its name."""
    registered = [arguments(step) for step in steps if step[0] == "register"]
    return len({(one["name"], one["address"]) for one in registered}) < len(
        {(one["name"], one["address"], one["broker_id"]) for one in registered}
    )


_KINDS: Final[Mapping[str, tuple[bool, bool]]] = {
    about.DELAYED: (True, False),
    about.HALF_ONES: (False, True),
    about.HALF_DELAYED: (True, True),
}


def _positive(properties: Mapping[str, str]) -> bool:
    return (java_int(properties.get("DELAY", "")) or 0) > 0
