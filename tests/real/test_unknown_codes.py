"""Requests of codes that a real broker or name server does not know: refused, and not answered to one-way callers."""

from __future__ import annotations

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_protocol.codes import LITE_PULL_MESSAGE, REQUEST_CODE_NOT_SUPPORTED

COMMANDS = ("java", "mvn")
UNKNOWN = 9999
SECONDS = 5.0


@pytest.mark.parametrize("version", ["4.5.2", "4.7.0", "4.9.0", "4.9.1", "4.9.4", "5.3.3"])
@pytest.mark.behaviour("REM-05", "HAZ-26", "INV-03")
def test_one_way_request_of_unknown_code_gets_no_response(version: str) -> None:
    profile = PROFILES[nearest_profile(version)]
    refused = (REQUEST_CODE_NOT_SUPPORTED, f" request type {UNKNOWN} not supported")
    with Apache(version).open() as running:
        assert told(running.brokers["broker-a"]) == (None if profile.leaves_unknown else refused)
        assert (told(str(running.name_server)) is not None) == profile.name_server_refuses


@pytest.mark.parametrize("version", ["4.9.4", "5.0.0", "5.3.3"])
@pytest.mark.behaviour("REM-05")
def test_lite_pull_is_known_since_500(version: str) -> None:
    """Without fields, a pull is an error; only a broker that does not know the request calls it unsupported."""
    with Apache(version).open() as running:
        line = TcpConnection(running.brokers["broker-a"])
        try:
            unsupported = line.ask(Command(LITE_PULL_MESSAGE), SECONDS).code == REQUEST_CODE_NOT_SUPPORTED
        finally:
            line.close()
    assert unsupported != PROFILES[nearest_profile(version)].lite_pulls


def told(address: str) -> tuple[int, str | None] | None:
    """Return the response, None without one. By then an earlier one-way request has got no response either."""
    line = TcpConnection(address)
    try:
        line.send_one_way(Command(UNKNOWN), SECONDS)
        answer = line.ask(Command(UNKNOWN), SECONDS)
        line.listen(0.3)
    except TimedOut:
        return None
    finally:
        line.close()
        assert line.strays == []
    return answer.code, answer.remark
