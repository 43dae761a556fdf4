"""The model's witnesses, performed on real brokers: known violations, and what crashes, restarts, updates and retries bring about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocketproof_model import Int, all_of, search
from rocketproof_model.language import Guard
from rocketproof_model.result import Witness
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.witnesses.known import WITNESSES, KnownHazard, find, perform, replay
from rocketproof_properties.conformance.witnesses.schedule import from_outside, schedule
from rocketproof_properties.conformance.witnesses.smallmodels import perform_small_model
from rocketproof_properties.validation.validate import mark
from rocketproof_spec import SCOPES, constants, specify

COMMANDS = ("java", "mvn")
PROFILE = "P494"
FAILOVER = replace(
    SCOPES["small"],
    name="failover",
    producers=1,
    queues=1,
    counts=Int(0, 1),
    numbers=Int(0, 1),
    queue_ids=Int(-1, 0),
    sends=1,
    crashes=True,
    updates=True,
    permissions=(6,),
)
"""Two brokers and a producer that tries again; one broker may crash and come back, and an administrator may change a topic."""


@pytest.mark.parametrize("wanted", WITNESSES, ids=lambda wanted: wanted.hazard)
def test_4_9_4_reproduces_witness(wanted: KnownHazard) -> None:
    replayed = replay(Apache("4.9.4"), wanted, mark())
    assert replayed.reproduced, replayed.said


def failover() -> Witness:
    """A message that one broker lost is stored by the other. The first broker returns, and an administrator changes its topic."""
    s = specify(FAILOVER)
    job, subject = s.job[0], [s.config[b, FAILOVER.subject] for b in s.Broker]
    idle = (job.phase == "idle") | (job.phase == "arrived") | (job.phase == "answered")
    alone = Guard("left alone", idle & all_of(~s.registration_in_flight[b] for b in s.Broker), "nothing is under way", True, "")
    s.model.actions = [replace(a, guards=(*a.guards, alone)) if from_outside(a) else a for a in s.model.actions]
    stored = (job.answer == "SUCCESS") & (job.tries == 1) & (subject[0].write == 1)
    changed = subject[1].known & (subject[1].write == 0) & (subject[1].read == 1)
    claim = s.model.claim(
        "(failover)", str(failover.__doc__), "reachable", stored & changed & (s.crashes > 0) & all_of(s.up[b] for b in s.Broker)
    )
    narrow = {"template_read": 1, "template_write": 1}
    instance = s.model.given(**constants(PROFILE), sends=1, retries=1, crash_budget=1, update_budget=1, **narrow)
    (found,) = search.explore(instance, [claim]).outcomes
    assert found.witness is not None
    return schedule(found.witness)


@pytest.mark.behaviour("CLI-24", "CLI-30", "NS-08", "NS-10", "PER-03", "TCM-30")
def test_4_9_4_follows_crash_retry_restart_and_update() -> None:
    course = failover()
    assert {"crash", "retry", "restart", "update_topic"} <= {move.action for move in course.moves}
    done = perform(Apache("4.9.4"), FAILOVER, course, mark())
    assert done.agrees, done
    assert len(done.said) == 5


@pytest.mark.behaviour("BACK-05", "TRX-05", "HAZ-30")
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
@pytest.mark.parametrize(
    ("scope", "claim", "given"),
    [
        ("transactions", "AUX-34", {}),
        ("backs", "INV-51.states", {"group_queues": 0}),
        ("progress", "AUX-49.reset", {"resets": True}),
        ("times", "AUX-112.there", {}),
    ],
)
def test_releases_follow_witnesses_of_small_models(version: str, scope: str, claim: str, given: dict[str, object]) -> None:
    follows(version, scope, claim, given)


@pytest.mark.behaviour("CL-06", "HAZ-63")
@pytest.mark.parametrize("claim", ["AUX-111", "AUX-111.only", "AUX-112"])
def test_4_9_4_follows_witnesses_of_missed_deadlines(claim: str) -> None:
    follows("4.9.4", "times", claim, {})


def follows(version: str, scope: str, claim: str, given: dict[str, object]) -> None:
    """Require that a release ends in the final state of a small model's witness."""
    target = Apache(version)
    source = ModelSource(scope, target.profile, tuple(sorted(given.items())))
    witness = find(source, claim)
    assert witness is not None
    done = perform_small_model(target, source, witness)
    assert done.agrees, done.problem
