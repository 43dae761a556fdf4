"""The fixtures of the pytest plugin: a user's tests send to a broker, and the results are judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.validation.suite import items

pytest_plugins = ["pytester"]

PLUGIN = "rocketproof_properties.pytest_plugin"
assert items, "it is imported before any pytest inside this one, which would forget it and all that it imports"

SUITE = """
def test_orders(rocketproof_client, rocketproof_judge):
    answer = rocketproof_client.send(topic="orders", body="hello", queue=2)
    assert answer.code == 0
    assert answer.ext_fields["queueId"] == "2"
    rocketproof_client.step("back", record=0, group="g", level=-1)
    judged = rocketproof_judge()
    assert judged.requests == 2
    assert "INV-51" in judged.claims


def test_names_are_fresh(rocketproof_client, rocketproof_judge):
    answer = rocketproof_client.send(topic="orders", body="hello", queue=2)
    assert answer.ext_fields["queueOffset"] == "0"
    assert rocketproof_client.topic("orders") != "orders"
    assert rocketproof_client.call(9999).code == 3
    rocketproof_judge()
"""
WRONG = """
from rocketproof_properties.brokers.runs import client as session

def test_wrong(rocketproof_client, rocketproof_judge, monkeypatch):
    right = session.answer_data
    monkeypatch.setattr(session, "answer_data", lambda answer: right(answer) | {"remark": "all is well"})
    rocketproof_client.send(topic="orders")
    rocketproof_judge(ACCEPT)
"""


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest with only the plugin, inside this run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def call(suite: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(suite)
        return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", "-rs", *arguments)

    return call


def test_without_target_tests_are_skipped(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(SUITE)
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*no broker: give one with --rocketproof-target*"])


def test_suite_sends_and_has_it_judged(inner: Callable[..., pytest.RunResult]) -> None:
    inner(SUITE, "--rocketproof-target=inprocess", "--rocketproof-profile=P494").assert_outcomes(passed=2)


@pytest.mark.parametrize(("accept", "outcome"), [("()", "failed"), ("['send.remark', 'specification.send']", "passed")])
def test_deviation_fails_test_unless_accepted(inner: Callable[..., pytest.RunResult], accept: str, outcome: str) -> None:
    result = inner(WRONG.replace("ACCEPT", accept), "--rocketproof-target=inprocess")
    result.assert_outcomes(**{outcome: 1})
    if outcome == "failed":
        result.stdout.fnmatch_lines(['*send.remark: event 0*remark is "all is well"*', "*recorded in *.ndjson*"])


def test_missing_listener_is_reported_once(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(SUITE, "--rocketproof-target=127.0.0.1:9")
    result.assert_outcomes(errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*nobody listens at 127.0.0.1:9 (connection refused)*"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rocketproof-target=nothing"], "ERROR: --rocketproof-target nothing: give the address*"),
        (
            ["--rocketproof-target=inprocess", "--rocketproof-profile=P48"],
            f"ERROR: --rocketproof-profile: unknown profile 'P48'; the nearest of {len(PROFILES)} are P480*",
        ),
    ],
)
def test_wrong_option_is_reported_once_before_collection(inner: Callable[..., pytest.RunResult], options: list[str], said: str) -> None:
    result = inner(SUITE, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*collected*")
