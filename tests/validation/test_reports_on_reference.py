"""The reference implementation shows the problem of a bug report exactly where the release does."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_lab.bugreports import measured, programs
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.validation.handwritten.condition import condition_of
from rocketproof_properties.validation.handwritten.releases import bisect, perform_on_releases

LIGHT = "the reference has no light queues"
NAME_SERVER = "the reference's name server has no such setting"
WITHOUT: dict[str, str] = {
    "group-of-a-light-queue": LIGHT,
    "light-queue-ignores-delay": LIGHT,
    "light-queue-repeats-retries": LIGHT,
    "offset-of-a-light-queue": LIGHT,
    "offsets-lost-with-lmq": LIGHT,
    "name-server-never-ready": NAME_SERVER,
    "route-after-deletion-with-setting": NAME_SERVER,
    "deleted-message-returns": "a broker in this process cannot be killed",
    "index-lost-in-a-crash": "a broker in this process cannot be killed",
    "registered-on-a-new-connection": "the race is in threads that the reference does not have",
    "topic-list-without-body": "the reference does not serve request 18",
    "slave-keeps-offsets": "brokers in this process have no slaves",
    "slave-keeps-queues": "brokers in this process have no slaves",
    "slave-without-attributed-topic": "brokers in this process have no slaves",
    "smallest-offset-of-deleted-files": "it waits for 90 s",
}
"""Programs that the reference cannot perform, with the reason."""


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.9.4", "5.5.0"])
def test_reference_shows_what_the_release_shows(release: str, tmp_path: Path) -> None:
    chosen = [program for name, program in programs().items() if name not in WITHOUT and release in measured()[name].tried]
    perform_on_releases(nonempty(chosen), [release], folder=tmp_path, target_of=lambda release: InProcess(nearest_profile(release)))
    shown = {}
    for program in chosen:
        (row,) = bisect(program, [release], condition_of(program, None, None), folder=tmp_path).rows
        assert row.tried.cached, program.path
        shown[Path(program.path).stem] = row.shows == "yes"
    assert shown == {name: release in measured()[name].shows for name in shown}


def test_exceptions_are_programs() -> None:
    assert WITHOUT.keys() <= programs().keys()
