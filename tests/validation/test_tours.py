"""Transition tours: every request in every state of its topic, and what was taken least often first."""

from __future__ import annotations

import random

import pytest

from proportion import few
from rocketproof_properties.programs.pool import DrawCounts
from rocketproof_properties.programs.program import TOURS, ProgramOptions, generate
from rocketproof_properties.programs.tours import SCOPE, TAKEN, TourTransition, tables, tour

PROFILES = ("P40", "P45", "P494", "P533")
ORDINARY = SCOPE.topics.index("ordinary")


@pytest.mark.parametrize("profile", few(PROFILES, 1))
def test_transition_repeats_only_after_all_others_of_table(profile: str) -> None:
    """The tables reachable by one step, each with all its possible actions."""
    machine, seen = tables(profile), DrawCounts(random.Random(1))
    for _ in range(40):
        tour(seen, profile)
    assert set(seen.counts.values()) == {1}, "there is something new in each table that 40 programs come to"
    assert {draw.transition.action for draw in seen.counts if isinstance(draw, TourTransition)} == set(TAKEN)
    assert all(action.topic != SCOPE.topics.index("template") for action in machine.enabled(machine.start) if action.action != "request")


@pytest.mark.slow
def test_tour_covers_tables_that_chance_reaches_late() -> None:
    """With the same number of steps, by the tables of one topic and the actions on them."""
    toured, by_chance = DrawCounts(random.Random(5)), DrawCounts(random.Random(5), plain=True)
    for seen in (toured, by_chance):
        for _ in range(100):
            tour(seen, "P494")
    steps = [sum(seen.counts.values()) for seen in (toured, by_chance)]
    assert len(toured.counts) / steps[0] > len(by_chance.counts) / steps[1] > 0.5


def test_topic_is_created_changed_deleted_and_recreated() -> None:
    machine = tables("P494")
    state, known = machine.start, []
    for wanted in ("update_topic", "delete_topic", "request"):
        offered = [action for action in machine.enabled(state) if action.action == wanted and action.topic == ORDINARY]
        created = [machine.after(state, call) for call in offered]
        state = next(after for after in created if machine.of(after, ORDINARY) != machine.of(state, ORDINARY))
        known.append(machine.of(state, ORDINARY))
    absent = machine.of(machine.start, ORDINARY)
    assert known[0] != absent == known[1] != known[2]


def test_step_that_only_counts_returns_to_start_state() -> None:
    machine = tables("P494")
    (sent, *_) = (action for action in machine.enabled(machine.start) if machine.after(machine.start, action) == machine.start)
    assert sent.action == "request", "a refused request leaves nothing"


def test_tours_are_among_programs_and_determined_by_seed() -> None:
    first, again, other = (
        [program.steps for program in generate(ProgramOptions("P494", 60, seed)) if program.source == TOURS] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(first) > 2
