"""What pytest knows of the described behaviour: the marker `behaviour(*ids)`, which marked tests passed, and a broker to validate.

A test that carries an unknown id is an error at collection. `--requirements FILE` writes, for every id that a test of the
run carries, the names of the tests that passed, failed and were skipped; a test passed if its own body ran and did.

With `--rocketproof-target` a test of anybody's may send to a broker with the fixture `rocketproof_client`, and have what came of
it judged with `rocketproof_judge`.

pytest loads this module by its entry point where the project is installed and by `pytest_plugins` where it is not. Both
give it the same name, so that it is loaded once. PYTEST_DONT_REWRITE: there is no assert to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from . import store
from .choices import InputError, offer
from .rules import is_known, rules

if TYPE_CHECKING:
    from .judging.judging import Judged
    from .validation.suite import Suite, SuiteClient

MARKER = "behaviour"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocketproof")
    group.addoption(
        "--requirements",
        metavar="FILE",
        help="write which tests passed for each id of the described behaviour; `rocketproof requirements --results FILE` reads it",
    )
    group.addoption(
        "--rocketproof-target",
        metavar="TARGET",
        help="the broker that the fixtures rocketproof_client and rocketproof_judge use: its address, or apache:VERSION, served, "
        "inprocess, FILE.toml; tests that use them are skipped without it",
    )
    group.addoption("--rocketproof-nameserver", metavar="ADDRESS", help="the name server of a broker that is given by its address")
    group.addoption("--rocketproof-profile", metavar="NAME", help="the profile that the broker is judged by, such as P494")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(*ids): ids of the rules, properties and hazards that the test is evidence for")
    given: str | None = config.getoption("--requirements")
    if given is not None and not hasattr(config, "workerinput"):  # a worker of xdist reports to the process that writes
        path = config.invocation_params.dir / given
        try:
            store.check_writable(path, "--requirements")
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(Results(path))


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


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Make unknown ids an error of the file, by which any run fails, also one that is spread over processes."""
    report = yield
    wrong = [line for item in report.result or () if isinstance(item, pytest.Item) for line in _mistakes(item)]
    if wrong:
        report.outcome = "failed"
        report.longrepr = "\n".join(dict.fromkeys(wrong))
        report.result = []
    return report


def _mistakes(item: pytest.Item) -> list[str]:
    found = []
    for mark in item.iter_markers(MARKER):
        if not mark.args or mark.kwargs:
            found.append(f"{item.nodeid}: {MARKER}() takes one or more ids, such as {MARKER}('CHK-10')")
        found += [
            f"{item.nodeid}: {MARKER}({id_!r}) is not a rule, property, hazard or mutant; {offer(str(id_), rules())}"
            for id_ in mark.args
            if not isinstance(id_, str) or not is_known(id_)
        ]
    return found


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put the ids into the test's properties, which travel with its reports, also between processes."""
    ids = dict.fromkeys(id_ for mark in item.iter_markers(MARKER) for id_ in mark.args)
    item.user_properties += [(MARKER, id_) for id_ in ids]


class Results:
    """Follows a run and writes its results to a file when it ends, unless some tests could not be collected.

    Raises InputError if the file cannot be written then.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: dict[str, list[str]] = {}
        self._outcomes: dict[str, str] = {}
        self._whole = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._whole = self._whole and not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A failure in any phase stays; a pass is one of the body, and is none where a failure was expected."""
        ids = [str(value) for name, value in report.user_properties if name == MARKER]
        if not ids:
            return
        test = report.nodeid
        self._ids[test] = ids
        if report.failed:
            self._outcomes[test] = "failed"
        elif report.skipped or hasattr(report, "wasxfail"):
            self._outcomes.setdefault(test, "skipped")
        elif report.when == "call" and self._outcomes.get(test) != "failed":
            self._outcomes[test] = "passed"

    def pytest_sessionfinish(self) -> None:
        if self._whole:
            store.write_json(self._path, self.data(), "--requirements")
        elif self._path.is_file():
            self._path.unlink()

    def data(self) -> dict[str, dict[str, list[str]]]:
        """Per id the tests by outcome, all in the order of their names."""
        found: dict[str, dict[str, list[str]]] = {}
        for test, outcome in sorted(self._outcomes.items()):
            for id_ in self._ids[test]:
                found.setdefault(id_, {"passed": [], "failed": [], "skipped": []})[outcome].append(test)
        return dict(sorted(found.items()))
