"""Waits and deadlines by the simulated clock: locks, expiry, news and patience; another time is a finding."""

from __future__ import annotations

import pytest

from rocketproof_impl import routeinfo
from rocketproof_impl.broker import topics
from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.periodic import Periodic
from rocketproof_impl.producer import instance
from rocketproof_impl.producer.send import Sending
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


@behaviour("TCM-10", "TCM-21", "INV-20", "INV-25", "HAZ-08")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_other_lock_wait_limit_is_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "LOCK_TIMEOUT_MILLIS", millis)
    steps = ["arrive(r=0, retry=False)", "arrive(r=1, retry=True)", *["second()"] * 3, "give_up(r=1)"]
    with pytest.raises(ConformanceError):
        replay("locks", "P49", steps)


@behaviour("NS-07", "LIV-04")
@pytest.mark.parametrize(("millis", "offset"), [(119_000, 10), (121_000, 1)])
def test_another_time_of_expiry_is_finding(millis: int, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans 120 s after the last registration, which is not late, or 121 s after it, which is."""
    monkeypatch.setattr(routeinfo, "EXPIRED_MILLIS", millis)
    steps = [f"begin(offset={offset})", "die()", *["second()"] * offset, "look()", *[*["second()"] * 10, "look()"] * 12]
    with pytest.raises(ConformanceError, match="listed"):
        replay("expiry", "P49", steps)


SECONDS = ["second()"] * 30
ASKED = ["begin(offset=29)", "create()", "second()", "ask()"]


@behaviour("NS-10", "CLI-21", "LIV-01", "LIV-02")
def test_another_period_of_registrations_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(offset=0)", *SECONDS, "register()"]
    replay("news", "P49", steps)
    monkeypatch.setattr(Registration, "PERIODIC", (Periodic("register_periodically", 10_000, 40_000),))
    with pytest.raises(ConformanceError, match="40 is not"):
        replay("news", "P49", steps)


@behaviour("NS-06", "CLI-17", "LIV-02")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_another_time_limit_of_refresh_is_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [*ASKED, "second()", "second()", "announce()", "serve()", "second()", "learn()"]
    replay("news", "P49", steps)
    monkeypatch.setattr(instance, "TIMEOUT_MILLIS", millis)
    with pytest.raises(ConformanceError):
        replay("news", "P49", steps)


@behaviour("CLI-15", "LIV-07")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_another_wait_for_clients_lock_is_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(known=False)", *["second()"] * 3, "lock_times_out()"]
    replay("patience", "P49", steps)
    monkeypatch.setattr(instance, "LOCK_TIMEOUT_MILLIS", millis)
    with pytest.raises(ConformanceError):
        replay("patience", "P49", steps)


@behaviour("CLI-28", "LIV-07")
def test_attempt_with_full_time_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(known=True)", "attempt(known=True)", "second()", "fails()", "attempt(known=True)"]
    replay("patience", "P49", steps)
    prepare = Sending.prepare
    monkeypatch.setattr(Sending, "prepare", lambda self, queue, timeout: prepare(self, queue, self.timeout))
    with pytest.raises(ConformanceError, match="rest of the time"):
        replay("patience", "P49", steps)


@behaviour("CLI-17")
def test_name_server_that_does_not_answer_ends_send() -> None:
    replay("patience", "P49", ["begin(known=False)", "get_lock()", *["second()"] * 3, "no_answer()"])


def test_event_within_second_counts_from_that_second() -> None:
    """A refresh leaves a millisecond late: a later creation or registration in the same second belongs to that second."""
    replay("news", "P494", ["begin(offset=28)", "second()", "second()", "ask()", "create()", "second()"])
    replay("news", "P494", ["begin(offset=0)", *["second()"] * 30, "ask()", "register()", "second()"])
