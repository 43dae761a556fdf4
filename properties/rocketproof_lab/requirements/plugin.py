"""For the project's own tests: the marker `behaviour(*ids)`, and the results of the marked tests.

    pytest -p rocketproof_lab.requirements.plugin --requirements FILE

A test with an unknown id is an error at collection. `--requirements FILE` writes the names of the tests that passed, failed and were
skipped, for each id of the run's tests. A test passes if its own body ran and passed.

An installed rocketproof does not register this plugin. A project that wants it names it, as tests/conftest.py does. PYTEST_DONT_REWRITE:
the module contains no asserts.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from rocketproof_properties.catalogue.rules import is_known, rules
from rocketproof_properties.reports import files as store
from rocketproof_properties.reports.choices import InputError, offer

from . import so_far

MARKER = "behaviour"
EVERY = 0.5
"""Minimum time in seconds between two writes of the results so far."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("rocketproof").addoption(
        "--requirements",
        metavar="FILE",
        help="write which tests passed for each id of the described behaviour; `rocketproof requirements --results FILE` reads it",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(*ids): ids of the rules, properties and hazards that the test is evidence for")
    given: str | None = config.getoption("--requirements")
    if given is not None and not hasattr(config, "workerinput"):  # xdist workers report to the process that writes
        path = config.invocation_params.dir / given
        if given == str(store.STREAM):
            raise pytest.UsageError("--requirements -: pytest prints on standard output; give a file")
        try:
            store.check_writable(path, "--requirements")
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(ResultsPlugin(path))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Make unknown ids an error of the file. This fails any run, including one distributed over processes."""
    report = yield
    wrong = [line for item in report.result or () if isinstance(item, pytest.Item) for line in _mistakes(item)]
    if wrong:
        report.outcome = "failed"
        report.longrepr = "\n".join(dict.fromkeys(wrong))
        report.result = []
    return report


def _mistakes(item: pytest.Item) -> list[str]:
    mistakes = []
    for mark in item.iter_markers(MARKER):
        if not mark.args or mark.kwargs:
            mistakes.append(f"{item.nodeid}: {MARKER}() takes one or more ids, such as {MARKER}('CHK-10')")
        mistakes += [
            f"{item.nodeid}: {MARKER}({id_!r}) is not a rule, property, hazard or mutant; {offer(str(id_), rules())}"
            for id_ in mark.args
            if not isinstance(id_, str) or not is_known(id_)
        ]
    return mistakes


def pytest_itemcollected(item: pytest.Item) -> None:
    """Add the ids to the test's properties, which its reports contain, also between processes."""
    ids = dict.fromkeys(id_ for mark in item.iter_markers(MARKER) for id_ in mark.args)
    item.user_properties += [(MARKER, id_) for id_ in ids]


class ResultsPlugin:
    """Follows a run and writes its results to a file at the end, unless some tests could not be collected.

    Until then the results so far are in a file next to it. It is at most `EVERY` seconds old and is deleted at the end.

    Raises InputError if a file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = 0.0
        self._ids: dict[str, list[str]] = {}
        self._outcomes: dict[str, str] = {}
        self._whole = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._whole = self._whole and not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a test's outcome. A failure in any phase is final. Only the test body can pass, and not if a failure was expected."""
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
        if self._whole and time.monotonic() - self._written >= EVERY:
            self._written = time.monotonic()
            store.write_json(so_far(self._path), self.data(), "--requirements")

    def pytest_sessionfinish(self) -> None:
        so_far(self._path).unlink(missing_ok=True)
        if self._whole:
            store.write_json(self._path, self.data(), "--requirements")
        elif self._path.is_file():
            self._path.unlink()

    def data(self) -> dict[str, dict[str, list[str]]]:
        """Return the tests by id and outcome, sorted by name."""
        results: dict[str, dict[str, list[str]]] = {}
        for test, outcome in sorted(self._outcomes.items()):
            for id_ in self._ids[test]:
                results.setdefault(id_, {"passed": [], "failed": [], "skipped": []})[outcome].append(test)
        return dict(sorted(results.items()))
