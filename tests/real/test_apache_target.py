"""Apache RocketMQ as a target: the adapter does what it offers, and a fresh broker answers what the recorded one did."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from live_replay import LiveReplay, started_with

from rocketproof_properties.brokers.address import AddressTarget
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.ports import AROUND_BROKER, is_free
from rocketproof_properties.brokers.selftest import self_test
from rocketproof_properties.judging.reference.cases import read

COMMANDS = ("java", "mvn")
VERSIONS = ("4.9.4", "5.3.3")
DATA = Path(__file__).parents[1] / "data"
UNHURRIED = {"brokerFastFailureEnable": "false", "timerWheelEnable": "true"}
"""A busy machine must not show, and 5.x is as it was when it was recorded."""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


@pytest.mark.parametrize("version", VERSIONS)
def test_adapter_passes_its_self_test(version: str) -> None:
    found = list(self_test(Apache(version)))
    assert not [(check.what, check.problem) for check in found if not check.works]
    assert len(found) == 10


@pytest.mark.parametrize("version", VERSIONS)
def test_no_files_remain_and_address_reports_release(version: str) -> None:
    with Apache(version).open() as running:
        found = AddressTarget([str(running.name_server)])
        with found.open() as elsewhere:
            assert dict(elsewhere.brokers) == dict(running.brokers)
        assert found.version == version
        port = int(running.brokers["broker-a"].rpartition(":")[2])
        assert not any(is_free(port + distance) for distance in AROUND_BROKER)
    assert all(is_free(port + distance) for distance in AROUND_BROKER)
    assert not list(Path(tempfile.gettempdir()).glob("rocketproof-*"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cfg", ["A", "N", "M", "L"])
def test_fresh_broker_answers_as_recorded(version: str, cfg: str) -> None:
    cases = [case for case in read(DATA / f"rocketmq-{version}.jsonl").cases if case.cfg == cfg]
    with Apache(version).open(Setup(settings={**started_with(cfg), **UNHURRIED})) as running:
        found = list(LiveReplay(running, "broker-a", cases).play())
    different = [(case.label, differences) for case, differences in zip(cases, found, strict=True) if differences]
    assert not different
    assert len(found) == len(cases) > 0
