"""HAZ-23 on real releases: after one batch fails in the lock of the log, some brokers reject every message."""

from __future__ import annotations

import time

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import codes
from rocketproof_protocol.flags import BORN_IPV6

COMMANDS = ("java", "mvn")
SECONDS = 5.0
BUSY_FROM = 1.0
"""Seconds in the lock from which on the page cache counts as busy (osPageCacheBusyTimeOutMills)."""


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3", "5.4.0", "5.5.0"])
@pytest.mark.behaviour("HAZ-23", "CL-05", "STO-03")
def test_one_batch_failing_in_lock_makes_broker_seem_busy(version: str) -> None:
    profile = PROFILES[nearest_profile(version)]
    with Apache(version).open() as running:
        line = TcpConnection(running.brokers["broker-a"])

        def send(**args: object) -> Command:
            return line.ask(plain("send", **args), SECONDS)

        try:
            assert send().code == codes.SUCCESS
            failed = send(items=[["a", {}], ["b", {}]], sys_flag=BORN_IPV6)
            assert failed.code == codes.SYSTEM_ERROR and "OutOfBounds" in str(failed.remark)
            time.sleep(BUSY_FROM + 0.3)  # a broker has no clock but the machine's
            found = [send().code for _ in range(3)]
            assert found == [codes.SUCCESS if profile.resets_lock_time else codes.SYSTEM_BUSY] * 3
        finally:
            line.close()
        running.stop("broker-a")
        running.restart("broker-a")
        with running.connect("broker-a") as again:
            assert again.ask(plain("send"), SECONDS).code == codes.SUCCESS
