"""The table of values: each argument of a step has one list of values, and phrases draw from it."""

from __future__ import annotations

import pytest

from nonempty import nonempty
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.phrase import step
from rocketproof_properties.programs.phrases import CLOCKS, CORRUPTIONS
from rocketproof_properties.programs.pool import PHRASES, phrases
from rocketproof_properties.programs.program import ProgramOptions, generate
from rocketproof_properties.programs.selections import OTHERS, SELECTIONS
from rocketproof_properties.programs.values import VALUES, one_of
from rocketproof_properties.programs.vocabulary import ADDRESSED, FORMED, STEPS, arguments

EVERY = (
    *PHRASES,
    *CORRUPTIONS,
    *CLOCKS,
    *(phrase for chosen in SELECTIONS.values() for phrase in chosen.phrases),
    *(each for of in OTHERS.values() for each in of),
)


def test_each_row_is_a_step_with_its_arguments() -> None:
    for kind, values in nonempty(VALUES.items()):
        assert values.keys() <= {*STEPS[kind].arguments, *ADDRESSED, *FORMED}, kind
        for name, choices in nonempty(values.items()):
            assert len({(type(value), repr(value)) for value in choices}) == len(choices), (kind, name)


def test_each_list_of_values_is_drawn_as_a_whole_somewhere() -> None:
    """An argument that no phrase varies over all of its values would not need a list. Sizes and ranges of some phrases are their own, and
    some phrases have the one value that is not the default."""
    varied = {(kind, name, len(choices)) for each in EVERY for kind, values in each.steps for name, choices in values.items()}
    own = {("send", "properties"), ("send", "leave"), ("send", "ended"), ("leave", "producers")}
    missing = {(kind, name) for kind, values in VALUES.items() for name, of in values.items() if (kind, name, len(of)) not in varied}
    assert missing - own <= {
        ("time", "millis"),
        ("commit", "offset"),
        ("configure", "line"),
        ("store", "state"),
        ("forget_topic", "cluster"),
    }


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_each_value_of_a_phrase_is_an_argument_of_its_step(profile: str) -> None:
    for each in (*phrases(PROFILES[profile]), *EVERY):
        for kind, values in each.steps:
            arguments((kind, {name: choices[0] for name, choices in values.items()}))


def test_a_varied_argument_has_all_values_and_its_own_default() -> None:
    _, values = step("send", "queue unit flag", queue=3, topic="A", times=one_of(1, 2))
    assert values["queue"][0] == 3 and sorted(values["queue"]) == sorted(VALUES["send"]["queue"])
    assert values["unit"] == VALUES["send"]["unit"] and values["topic"] == ("A",) and values["times"] == (1, 2)
    assert step("send", "queue", queue=one_of(0, 1))[1]["queue"] == (0, 1)


def test_phrases_have_different_names() -> None:
    names = [phrase.name for phrase in phrases(PROFILES["P494"])]
    assert len(set(names)) == len(names)


def test_up_to_eight_clients_send_first_messages_at_once() -> None:
    programs = generate(ProgramOptions("P494", 300, 1))
    clients = [one.clients for one in programs if one.concurrent]
    assert max(clients) == 8 and len(clients) > len(programs) // 20
    assert not [one for one in generate(ProgramOptions("P494", 300, 1, concurrent=False)) if one.concurrent]
