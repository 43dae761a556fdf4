"""A broker for anybody's tests: with `--rocketproof-target` a test may send to it with the fixture `rocketproof_client`, and have what
came of it judged with `rocketproof_judge`.

pytest loads this module by its entry point where the project is installed and by `pytest_plugins` where it is not. Both
give it the same name, so that it is loaded once. Whatever it registers has a name that begins with `rocketproof`.
PYTEST_DONT_REWRITE: there is no assert to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .judging.judging import Judged
    from .validation.suite import Suite, SuiteClient


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocketproof")
    group.addoption(
        "--rocketproof-target",
        metavar="TARGET",
        help="the broker that the fixtures rocketproof_client and rocketproof_judge use: its address, or apache:VERSION, served, "
        "inprocess, FILE.toml; tests that use them are skipped without it",
    )
    group.addoption("--rocketproof-nameserver", metavar="ADDRESS", help="the name server of a broker that is given by its address")
    group.addoption("--rocketproof-profile", metavar="NAME", help="the profile that the broker is judged by, such as P494")


@pytest.fixture(scope="session")
def rocketproof_target(request: pytest.FixtureRequest) -> str:
    """The target that the tests were given; they are skipped without one."""
    given: str | None = request.config.getoption("--rocketproof-target")
    if given is None:
        pytest.skip("no broker: give one with --rocketproof-target, such as 127.0.0.1:10911 or apache:4.9.4")
    return given


@pytest.fixture(scope="session")
def _rocketproof_suite(
    rocketproof_target: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Suite, None, None]:
    """The target, set up for the session."""
    from rocketproof_model import RocketproofError
    from rocketproof_profiles import PROFILES

    from .choices import known
    from .deployments.choose import choose
    from .validation.suite import Suite

    profile: str | None = request.config.getoption("--rocketproof-profile")
    try:
        address = rocketproof_target if _is_address(rocketproof_target) else None
        name = None if profile is None else known("profile", profile, PROFILES)
        target = choose(address, None if address else rocketproof_target, name, configure=False)
        running = target.open()
    except RocketproofError as error:
        pytest.fail(f"--rocketproof-target {rocketproof_target}: {error}", pytrace=False)
    with running:
        name_server: str | None = request.config.getoption("--rocketproof-nameserver")
        suite = Suite(running, target.profile, tmp_path_factory.mktemp("rocketproof"), name_server)
        yield suite
        suite.close()


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal()


@pytest.fixture
def rocketproof_client(_rocketproof_suite: Suite) -> Generator[SuiteClient, None, None]:
    """A client of the target: what it sends and gets is recorded, under names of topics and groups that no other test has."""
    client = _rocketproof_suite.client()
    yield client
    client.finish()


@pytest.fixture
def rocketproof_judge(_rocketproof_suite: Suite, rocketproof_client: SuiteClient) -> Callable[..., Judged]:
    """Judges what the client of this test has seen; call it at the end of the test."""

    def judge(accept: Collection[str] = ()) -> Judged:
        __tracebackhide__ = True
        return _rocketproof_suite.judge(rocketproof_client, accept)

    return judge
