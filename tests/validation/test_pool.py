"""The pool of phrases and the table of boundaries: promised values are drawn, steps reach each boundary, and the seed determines the
programs.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.catalogue import conditions as about
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.programs import pool
from rocketproof_properties.programs.boundaries import BOUNDARIES, SIDES, Boundary, met, unread
from rocketproof_properties.programs.measures import MeasuredRequest
from rocketproof_properties.programs.program import POOL, Program, ProgramOptions, generate
from rocketproof_properties.programs.settings import ENDED
from rocketproof_properties.programs.vocabulary import Step

BOUNDED = [pytest.param(boundary, side, id=f"{boundary.name} {SIDES[side]}") for boundary in BOUNDARIES for side in boundary.sides]


def stored_unread(profile: str, *steps: Step) -> set[str]:
    return set().union(*map(unread, pool.requests(steps, PROFILES[profile])))


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
@pytest.mark.parametrize(("boundary", "side"), BOUNDED)
def test_boundary_steps_reach_boundary(boundary: Boundary, side: int, profile: str) -> None:
    if not boundary.applies(PROFILES[profile]):
        assert not [phrase for phrase in pool.phrases(PROFILES[profile]) if phrase.boundary == (boundary.name, SIDES[side])]
        return
    found = {each for sent in pool.requests(boundary.at(side, PROFILES[profile]), PROFILES[profile]) for each in met(sent)}
    assert (boundary.name, SIDES[side]) in found


def test_each_boundary_names_existing_rules() -> None:
    ids = {id_ for boundary in BOUNDARIES for id_ in boundary.rules.split()}
    assert {id_ for id_ in ids if not id_.startswith("HAZ-")} <= rules().keys()


@pytest.mark.behaviour("APP-08", "STO-02", "HAZ-49")
def test_name_is_measured_in_bytes_if_record_length_is() -> None:
    given_up = ("back", {"group": "値" * 60, "level": -1})
    assert stored_unread("P494", given_up) == {about.WIDE_NAMES}
    assert stored_unread("P533", given_up) == set()  # such a group is refused
    assert stored_unread("P494", ("back", {"group": "g" * 100, "level": -1})) == set()
    assert stored_unread("P45", ("send", {"topic": "値" * 60})) == {about.WIDE_NAMES}
    assert stored_unread("P49", ("send", {"topic": "値" * 60})) == set()
    assert stored_unread("P45", ("send", {"topic": "値" * 128})) == set()  # too many characters, which is looked at


@pytest.mark.behaviour("BAT-03", "APP-08", "HAZ-50")
def test_item_with_broker_additions_has_separate_boundary() -> None:
    fits, beyond = (("send", {"items": [("a", {"p": "v" * size})]}) for size in (32_742, 32_743))
    assert stored_unread("P494", fits) == set()
    assert stored_unread("P494", beyond) == {about.OWN_PROPERTIES}
    assert stored_unread("P45", beyond) == set()  # nothing is added


@pytest.mark.behaviour("BAT-03", "HAZ-50")
def test_broker_that_is_not_traced_adds_more() -> None:
    """The broker of a drawn program is unknown: a record beyond the limit without tracing counts as lost with tracing too."""
    name = "bytes of an item's properties, with the broker's own"
    for profile, lost in (("P494", {1}), ("P533", {0, 1})):
        phrases = {phrase.boundary: phrase.unread for phrase in pool.phrases(PROFILES[profile])}
        assert {side for side, word in SIDES.items() if phrases.get((name, word))} == lost


@pytest.mark.behaviour("APP-08", "HAZ-51")
def test_ipv6_flags_are_used_if_profile_accepts_them() -> None:
    for flag in (16, 32, 48):
        assert stored_unread("P49", ("send", {"sys_flag": flag})) == {about.LONGER_HOSTS}
        assert stored_unread("P45", ("send", {"sys_flag": flag})) == set()
    assert stored_unread("P49", ("send", {"sys_flag": 12})) == set()


def test_unreadable_records_are_stored_only_in_private_queues() -> None:
    programs = generate(ProgramOptions("P494", 600, 2, configure=True, start=True, end=True))
    ended = [program for program in programs if program.needs == ENDED]
    assert all(program.steps[-1] in (("crash", {}), ("question", {})) for program in ended)
    stored = set().union(*(stored_unread("P494", *program.steps) for program in ended))
    assert set(about.UNREAD) <= stored <= {*about.UNREAD, about.UNCOUNTED}
    assert not set().union(*(stored_unread("P494", *program.steps) for program in programs if program.needs != ENDED))
    assert not [program for program in generate(ProgramOptions("P494", 60, 3, configure=True, start=True)) if program.needs == ENDED]


@pytest.mark.behaviour("TRX-04", "HAZ-61")
@pytest.mark.parametrize("profile", ["P45", "P494", "P533"])
def test_half_message_without_count_space_has_one_byte_too_many(profile: str) -> None:
    (unchecked,) = (boundary for boundary in BOUNDARIES if boundary.unread == about.UNCOUNTED)
    stored = {side: stored_unread(profile, *unchecked.at(side, PROFILES[profile])) for side in SIDES}
    assert stored == {-1: set(), 0: set(), 1: {about.UNCOUNTED}}
    assert not unchecked.applies(PROFILES["P40"]) and not [*unchecked.measure(measured("P40", unchecked.at(1, PROFILES["P45"])[1]))]


def measured(profile: str, step: Step) -> MeasuredRequest:
    (found,) = pool.requests([step], PROFILES[profile])
    return found


def test_every_phrase_and_value_occurs_and_half_messages_often_end() -> None:
    programs = [
        program for program in generate(ProgramOptions("P494", 1500, 4, configure=True, start=True, end=True)) if program.source == POOL
    ]
    steps = [step for program in programs for step in program.steps]
    drawn = {(name, key, repr(value)) for name, args in steps for key, value in args.items()}
    offered = {
        (name, key, repr(value))
        for phrase in pool.phrases(PROFILES["P494"])
        for name, values in phrase.steps
        for key, of in values.items()
        for value in of
        if value is not None
    }
    assert len(offered - drawn) <= len(offered) // 9
    halves = [program for program in programs if any("TRAN_MSG" in str(args) for _, args in program.steps)]
    assert sum(any(name == "end" for name, _ in half.steps) for half in halves) > len(halves) // 2
    assert sum(any(name == "delete" for name, _ in program.steps) for program in programs) > len(programs) // 20


def test_least_seen_value_is_first() -> None:
    seen = pool.DrawCounts(random.Random(1))
    drawn = Counter[str]()
    for _ in range(90):
        rarest = seen.rarest("abc", lambda each: [each])
        seen.note([rarest])
        drawn[rarest] += 1
    assert set(drawn.values()) == {30}


@pytest.mark.behaviour("APP-08", "BAT-03", "HAZ-50")
def test_broker_without_traces_adds_byte_more() -> None:
    """It stores the absence of a trace, which is a letter longer: at the limit the record is unreadable."""
    (fitting,) = (boundary for boundary in BOUNDARIES if boundary.unread == about.OWN_PROPERTIES)
    (at, *_) = (sent for sent in pool.requests(fitting.at(0, PROFILES["P533"]), PROFILES["P533"]) if sent.op == "batch")
    assert [unread(at._replace(trace=trace)) for trace in ("true", "false")] == [set(), {about.OWN_PROPERTIES}]


@cache
def ordinary(*, plain: bool = False) -> list[Program]:
    """Return programs without settings, in the order of a run."""
    return [
        program
        for program in generate(ProgramOptions("P533", 400, 3, configure=True, start=True, end=True, plain=plain))
        if not program.needs
    ]


def test_unseen_value_is_first_in_short_run() -> None:
    programs = ordinary()
    assert {True, False} == {program.source == POOL for program in programs[:20]}, "programs of all sources are mixed"
    drawn, by_chance = (
        {(name, key, repr(value)) for program in first for name, args in program.steps for key, value in args.items()}
        for first in ([program for program in chosen if program.source == POOL][:100] for chosen in (programs, ordinary(plain=True)))
    )
    assert len(drawn) > 1.1 * len(by_chance)


def test_each_optional_send_field_is_omitted_alone_and_early() -> None:
    early = [step for program in ordinary()[:200] for step in program.steps]
    left_out = {args["without"] for name, args in early if name == "send" and args.keys() == {"topic", "without"}}
    assert left_out == {"properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch"}
