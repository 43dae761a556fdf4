"""The machine detects forbidden behaviour of the implementation, names the guard that refuses it, and keeps it as a test."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proportion import few, in_proportion
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import RocketproofError
from rocketproof_model.result import Limits, Move
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.drivers import abstraction
from rocketproof_properties.conformance.drivers.sending import SendingDriver
from rocketproof_properties.conformance.stateful import report
from rocketproof_properties.conformance.stateful.engine import cover, driver_of
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.machine import Campaign, run
from rocketproof_properties.conformance.stateful.replay import replay

PROGRAMS = 60


def campaign(scope: str, profile: str = "P49", **given: Any) -> tuple[ModelSource, Campaign]:
    source = ModelSource(scope, profile, tuple(sorted(given.items())))
    subject = source.subject()
    return source, Campaign(subject.instance, driver_of(source, subject))


def found(scope: str, profile: str = "P49", **given: Any) -> ConformanceError:
    finding = run(campaign(scope, profile, **given)[1], PROGRAMS, 1, shrink=False)
    assert finding is not None, "nothing was noticed"
    return finding


@pytest.mark.parametrize("scope", ["tiny", "small", "creation", "names", "restart", "store", "skew"])
def test_implementation_follows_specification(scope: str) -> None:
    assert run(campaign(scope)[1], in_proportion(10), 3) is None


def test_same_seed_gives_same_programs() -> None:
    def seen(seed: int) -> list[str]:
        made = campaign("creation")[1]
        made.watched = tuple(made.instance.model.properties)
        run(made, 5, seed)
        return [f"{made.seen.steps}", *(f"{a}{n}" for a, n in made.offers.taken.items())]

    assert seen(4) == seen(4)
    assert seen(4) != seen(5)


PLANTED = {
    "counts swapped": lambda c: TopicConfig(c.topic_name, c.write_queue_nums, 0, c.perm),
    "permission without its lowest bit": lambda c: TopicConfig(c.topic_name, c.read_queue_nums, c.write_queue_nums, c.perm & 6),
}


@pytest.mark.parametrize("name", PLANTED)
def test_error_in_abstraction_of_topic_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change = PLANTED[name]
    real = abstraction._config

    def wrong(found: Any, name: str, at: Any, config: Any, lowest: int) -> None:
        real(found, name, at, config if config is None else change(config), lowest)

    monkeypatch.setattr(abstraction, "_config", wrong)
    assert "was expected" in found("tiny").text


@pytest.mark.parametrize(
    ("variable", "scope"),
    few(
        [
            ("version", "tiny"),
            ("file_version", "tiny"),
            ("lock", "tiny"),
            ("registration_version", "tiny"),
            ("registration_in_flight", "tiny"),
            ("live_version", "tiny"),
            ("route.entries", "tiny"),
            ("creations", "tiny"),
            ("announcements", "tiny"),
            ("job.phase", "tiny"),
            ("job.created", "tiny"),
            ("job.touched", "tiny"),
            ("job.answer", "tiny"),
            ("job.appended", "tiny"),
            ("known_route", "tiny"),
            ("queues", "tiny"),
            ("sent", "tiny"),
            ("up", "restart"),
            ("live", "restart"),
            ("job.checks", "names"),
            ("job.queue", "store"),
            ("job.offset", "store"),
            ("offset", "store"),
            ("records", "store"),
            ("entries", "store"),
            ("filled", "store"),
            ("segment", "store"),
            ("flushed", "store"),
        ],
        10,
    ),
)
def test_unchanging_variable_is_noticed(variable: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An abstraction function that omits a variable always returns its first value."""
    real, first = abstraction._put, dict[Any, Any]()

    def forgetful(found: Any, name: str, at: Any, value: Any) -> None:
        real(found, name, at, first.setdefault(at, value) if name == variable else value)

    monkeypatch.setattr(abstraction, "_put", forgetful)
    finding = found(scope, existing=True) if scope == "store" else found(scope)
    table, dot, column = variable.partition(".")
    assert re.search(rf"  {table}\[[^]]+\]{re.escape(dot + column)}: ", finding.text), finding.text


def test_step_that_guard_refuses_names_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that creates topics although the template lacks INHERIT."""
    monkeypatch.setattr("rocketproof_impl.broker.topics.is_inherited", lambda perm: True)
    finding = found("creation", auto_create=False, template_in_file=True)
    assert "the guard 'may inherit' refuses" in finding.text
    assert "the template's permission has INHERIT" in finding.text


@pytest.mark.nightly
def test_finding_is_small_and_runs_as_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, made = campaign("creation")
    with monkeypatch.context() as patch:
        patch.setattr(TopicConfigManager, "persist", lambda self: None)
        finding = run(made, PROGRAMS, 1)
    assert finding is not None
    assert len(finding.steps) <= 9, "eight steps lead to the file, the ninth writes it"
    path = report.save(source, finding, tmp_path)
    planted = "import rocketproof_impl.broker.topics as t\n\nt.TopicConfigManager.persist = lambda self: None\n\n\n"
    (tmp_path / "test_planted.py").write_text(planted + path.read_text())

    def pytest_run(file: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)], capture_output=True, text=True)

    sound, broken = pytest_run(path), pytest_run(tmp_path / "test_planted.py")
    assert sound.returncode == 0, sound.stdout
    assert broken.returncode == 1
    assert finding.text.splitlines()[0] in broken.stdout


@pytest.mark.parametrize("name", ["look_again_found", "unlock_found", "lock_timeout"])
def test_uncovered_action_is_performed_by_shortest_path(name: str) -> None:
    source = ModelSource("creation", "P49", ())
    coverage = cover(source, source.subject(), name, Limits())
    assert coverage is not None
    assert coverage.taken[name] == 1


def test_action_is_covered_by_path_target_allows() -> None:
    """The search's shortest path to a confirmation flushes unprompted. Group commit does that only if no request waits for it."""
    source = ModelSource("flush", "P49", ())
    coverage = cover(source, source.subject(), "confirm", Limits())
    assert coverage is not None
    assert coverage.taken["confirm"] == 1
    assert "flush_unasked" not in {name for name, times in coverage.taken.items() if times}


def test_action_that_cannot_happen_is_not_covered() -> None:
    source = ModelSource("tiny", "P49", ())
    assert cover(source, source.subject(), "lock_timeout", Limits()) is None


def test_leaked_lock_is_finding() -> None:
    """The lock is held while no thread creates a topic."""
    steps = [
        "find_template(p=0)",
        "send(p=0, b=0, q=0)",
    ]
    followed = replay("tiny", "P49", steps)
    assert isinstance(followed.driver, SendingDriver)
    followed.driver.cluster.broker().topics.lock.held = True
    with pytest.raises(abstraction.Deviation, match="held, and by no request"):
        followed.driver.observe()


CREATED = ["look_up_missing", "acquire_lock", "look_again_missing", "template_found", "build"]
CREATED += ["put", "next_version", "persist", "unlock", "announce"]
AT_HAND = {
    "the topic that it made": ({}, CREATED, 1, 2, "refuse_queue"),
    "the topic that it found": ({"existing": True}, ["look_up"], 2, 1, "accept_queue"),
}


@pytest.mark.behaviour("CHK-10", "TCM-30")
@pytest.mark.parametrize(("given", "steps", "numbers", "counts", "end"), AT_HAND.values(), ids=AT_HAND)
def test_queue_id_is_chosen_from_current_configuration(
    given: dict[str, bool], steps: list[str], numbers: int, counts: int, end: str
) -> None:
    """An administrator's update takes effect between the query and the check, of the specification and of the broker alike."""
    update = f"update_topic(b=0, t=6, read={counts}, write={counts}, perm=6)"
    way = [f"request(p=0, b=0, t=6, d=0, numbers={numbers}, queue=1, kind=not, size=1)", *(f"{step}(p=0)" for step in steps)]
    arrives = ["accept_registration(b=0)"] if "announce" in steps else []
    followed = replay("names", "P49", [*way, *arrives, update], {"sends": 1, "update_budget": 1, **given})
    assert followed.attempt(Move(end, (0,)))


def test_label_that_is_no_step_is_refused() -> None:
    with pytest.raises(RocketproofError, match="fly"):
        replay("tiny", "P49", ["fly(p=0)"])
