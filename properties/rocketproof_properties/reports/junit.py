"""JUnit XML for GitLab, Jenkins and others: a test case for each result, named by a sentence.

A result that is not as expected is a failure, an error is an error. Undecided, untried and accepted results are skipped, with the reason.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import Final

from junitparser import Attr, Error, Failure, JUnitXml, Properties, Property, Skipped, SystemOut, TestCase, TestSuite

from rocketproof_protocol.shown import one_line, printable

from .results import WORDS, Result, Run, lines

_SKIPPED: Final = ("undecided", "accepted", "skipped")


class _Case(TestCase):
    """A test case with the attributes for GitLab's links."""

    file = Attr()
    line = Attr()


def write(run: Run) -> str:
    """Return the run as a JUnit file."""
    suite = TestSuite(one_line(run.title))
    if run.started:
        suite.timestamp = run.started.partition("+")[0]
    for name, value in {"exit": str(run.exit), "tool": run.tool, "stopped": run.stopped, "command": run.line}.items():
        if value:
            suite.add_property(name, one_line(value))
    times: Counter[str] = Counter()
    cases = []
    for result in run.results:
        name = one_line(result.name)
        times[name] += 1
        cases.append(_case(run, result, name if times[name] == 1 else f"{name} #{times[name]}"))
    suite.add_testcases(cases)
    if run.notes:
        suite.append(SystemOut(printable("\n".join(run.notes))))  # type: ignore[no-untyped-call]  # junitparser's has no types
    report = JUnitXml("rocketproof")
    report.add_testsuite(suite)
    report.time = suite.time = round(run.seconds, 3)
    file = io.BytesIO()
    report.write(file, pretty=True)
    return file.getvalue().decode("utf-8")


def _case(run: Run, result: Result, name: str) -> TestCase:
    group = ".".join(one_line(part) for part in ("rocketproof", run.command, result.profile, result.id) if part)
    case = _Case(name, group, result.seconds)
    if result.place is not None:
        case.file = one_line(result.place.file)
        if result.place.line is not None:
            case.line = str(result.place.line)
    message = one_line(result.said)
    if result.outcome in _SKIPPED:
        case.result = [Skipped(f"{WORDS[result.outcome]}: {message}")]
    elif result.outcome != "ok":
        problem = (Error if result.outcome == "error" else Failure)(message)
        problem.text = printable(_text(result))
        case.result = [problem]
    extra = {"cause": result.cause, **result.properties}
    if any(extra.values()):
        properties = Properties()  # type: ignore[no-untyped-call]  # junitparser's has no types
        for key, value in extra.items():
            if value:
                properties.add_property(Property(one_line(key), one_line(value)))
        case.append(properties)  # type: ignore[no-untyped-call]  # junitparser's has no types
    return case


def _text(result: Result) -> str:
    return lines(
        [
            result.message,
            result.details,
            result.witness and f"witness: {result.witness}",
            *result.commands,
            f"stated in {result.place}" if result.place else "",
        ]
    )
