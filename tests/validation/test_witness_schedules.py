"""Witnesses with the end and start of brokers, with retries and updates of topics: performed from outside, or refused with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from seeded import SeededFault

from rocketproof_impl.producer.send import Sending
from rocketproof_model import Expr, all_of, exists, search
from rocketproof_model.result import Witness
from rocketproof_properties.brokers.deployment import NotOffered
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands import run
from rocketproof_properties.conformance.witnesses.known import Performed, find, perform
from rocketproof_properties.conformance.witnesses.schedule import schedule
from rocketproof_properties.validation.validate import mark
from rocketproof_spec import SCOPES, Specification, build, constants
from rocketproof_traces.witness import itf

PROFILE = "P494"
OFF = {"auto_create": False, "template_in_file": True}


def reached(scope: str, formula: Expr, **given: object) -> Witness:
    """Return the shortest path to a state of a scope."""
    specification = build(scope)
    claim = specification.model.claim("(reached)", "the state is reached", "reachable", formula)
    instance = specification.model.given(**constants(PROFILE, **given))
    (found,) = search.explore(instance, [claim]).outcomes
    assert found.witness is not None
    return found.witness


def comes_back(s: Specification) -> Expr:
    """A killed broker has the topic created by an answered message; another message was lost."""
    stored = exists(s.Producer, lambda p: (s.job[p].answer == "SUCCESS") & s.job[p].created)
    lost = exists(s.Producer, lambda p: s.job[p].answer == "lost")
    known: Expr = s.config[0, s.scope.subject].known
    return stored & lost & s.up[0] & known


def is_changed(s: Specification) -> Expr:
    """A message is stored in a topic that an administrator made write-protected."""
    job, t = s.job[0], s.scope.subject
    return (job.answer == "SUCCESS") & (job.topic == t) & ~job.created & (s.updates > 0) & (s.config[0, t].perm == 4)


def is_tried_again(s: Specification) -> Expr:
    """Both brokers have refused a message."""
    return exists(s.Producer, lambda p: (s.job[p].answer == "TOPIC_NOT_EXIST") & (s.job[p].tries == 1)) & all_of(s.up[b] for b in s.Broker)


@pytest.fixture(scope="module")
def killed() -> Witness:
    return reached("restart", comes_back(build("restart")), crash_budget=1)


def actions(witness: Witness) -> list[str]:
    return [move.action for move in witness.moves]


@pytest.mark.slow
@pytest.mark.behaviour("PER-03", "NS-08", "NS-10")
def test_killed_broker_returns_with_its_topics(killed: Witness) -> None:
    course = schedule(killed)
    assert actions(course)[-5:] == ["crash", "expire", "restart", "register", "accept_registration"]
    done = perform(Served(PROFILE), SCOPES["restart"], course, mark())
    assert done.agrees, done
    assert [said.rpartition(": ")[2] for said in done.said] == ["SUCCESS", "broker-a is killed", "lost", "broker-a is started again"]


@pytest.mark.slow
def test_broker_that_does_not_keep_its_topics_is_found(killed: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a topic created by a message is not written to the file."""
    monkeypatch.setattr("rocketproof_properties.conformance.witnesses.wire.PATIENCE", 1.0)
    done = perform(SeededFault("M-41"), SCOPES["restart"], schedule(killed), mark())
    assert done.problem.startswith("accept_registration(b=broker-a): the route of ") and done.said[-1] == "broker-a is started again", done


def test_target_that_cannot_be_killed_loses_witness(killed: Witness) -> None:
    with pytest.raises(NotOffered, match=r"does not offer 'kill': .* witnesses"):
        perform(InProcess(PROFILE), SCOPES["restart"], schedule(killed), mark())


@pytest.mark.behaviour("TCM-30", "CHK-11")
def test_administrators_update_is_performed() -> None:
    witness = schedule(reached("names", is_changed(build("names")), update_budget=1, sends=1))
    assert "update_topic" in actions(witness)
    done = perform(InProcess(PROFILE), SCOPES["names"], witness, mark())
    assert done.agrees and done.said[0].startswith("an administrator changes"), done


def is_forgotten(s: Specification) -> Expr:
    """The name server has no route of a running broker's topic."""
    return (s.route[0, s.scope.subject].entries == 0) & s.live[0]


def is_stored(s: Specification) -> Expr:
    return (s.job[0].answer == "SUCCESS") & (s.job[0].topic == s.scope.subject)


@pytest.mark.parametrize(
    ("scope", "formula", "given", "said"),
    [
        ("told", is_forgotten, {"existing_read": 1, "existing_write": 1}, "an administrator forgets"),
        ("timers", is_stored, {}, "client 0 sends to"),
    ],
)
def test_a_route_set_by_hand_and_a_placed_message_are_performed(
    scope: str, formula: Callable[[Specification], Expr], given: dict[str, int], said: str
) -> None:
    witness = schedule(reached(scope, formula(build(scope)), existing=True, **given))
    done = perform(InProcess(PROFILE), SCOPES[scope], witness, mark())
    assert done.agrees and done.said[0].startswith(said), done


@pytest.fixture(scope="module")
def refused_twice() -> Witness:
    return schedule(reached("small", is_tried_again(build("small")), retries=1, **OFF))


def tried_again(witness: Witness) -> Performed:
    return perform(InProcess(PROFILE), SCOPES["small"], witness, mark())


@pytest.mark.behaviour("CLI-24", "CLI-30")
def test_producer_retries_where_witness_states(refused_twice: Witness) -> None:
    assert actions(refused_twice).count("retry") == 1
    done = tried_again(refused_twice)
    assert done.agrees, done
    assert ["tries again" in said for said in done.said] == [False, True]


@pytest.mark.behaviour("CLI-30")
def test_producer_without_retry_is_reported(refused_twice: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sending, "_may_retry", lambda sending, failure: False)
    done = tried_again(refused_twice)
    assert done.problem.startswith("look_up_missing(p=") and "the producer's send is over" in done.problem


# Refusals


@pytest.mark.parametrize(
    ("claim", "scope", "given", "said"),
    [
        (
            "REA-06",
            "restart",
            {},
            r"request\(p=client 1.*: a broker would have to wait for it in the middle of a request, and REA-06 is not shown",
        ),
        ("REA-03", "creation", {}, r"lock_timeout\(p=client 0\) cannot .*: another request would have to hold the broker's lock"),
        (
            "INV-53",
            "creation",
            {"existing": True, "existing_perm": 4},
            r"store\(p=client 0, draw=0\) cannot .*: the broker draws the queue by itself",
        ),
    ],
)
def test_steps_needing_broker_wait_are_refused(
    claim: str, scope: str, given: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ModelSource(scope, PROFILE, tuple(sorted(given.items())))
    witness = find(source, claim)
    assert witness is not None
    itf.write(witness, tmp_path / "witness.itf.json", source.record())
    assert run(["replay", str(tmp_path / "witness.itf.json"), "--target", "inprocess"]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert re.search(said, error), error


def test_witness_of_check_is_performed_on_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ModelSource("creation", PROFILE, tuple(sorted(OFF.items())))
    witness = find(source, "INV-16")
    assert witness is not None
    file, told = tmp_path / "witness.itf.json", tmp_path / "told.json"
    itf.write(witness, file, source.record())
    assert run(["replay", str(file), "--target", "inprocess", "--json", str(told)]) == 0
    data = json.loads(told.read_text())
    assert (data["property"], data["problem"], data["said"][0].rpartition(" ")[2]) == ("INV-16", "", "TOPIC_NOT_EXIST")
    assert "follows the witness of INV-16" in capsys.readouterr().out


def test_witness_about_inside_of_broker_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ModelSource("answers", PROFILE)
    witness = find(source, "REA-51")
    assert witness is not None
    itf.write(witness, tmp_path / "witness.itf.json", source.record())
    assert run(["replay", str(tmp_path / "witness.itf.json"), "--target", "inprocess"]) == 2
    assert "a witness of answers has nothing that clients do" in capsys.readouterr().err
