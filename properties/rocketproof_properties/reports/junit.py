"""JUnit XML, as GitLab, Jenkins and others show it: a test for each result, with a sentence for its name.

What is not as expected is a failure, an error an error; what was not decided, not tried or accepted is skipped, with the reason.
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
    """A test with the place that GitLab links."""

    file = Attr()
    line = Attr()


def write(run: Run) -> str:
    """The run as a file of JUnit."""
    suite = TestSuite(one_line(run.title))
    if run.started:
        suite.timestamp = run.started.partition("+")[0]
    for name, value in {"exit": str(run.exit), "tool": run.tool, "stopped": run.stopped, "command": run.line}.items():
        if value:
            suite.add_property(name, one_line(value))
    times: Counter[str] = Counter()
    cases = []
    for one in run.results:
        name = one_line(one.name)
        times[name] += 1
        cases.append(_case(run, one, name if times[name] == 1 else f"{name} #{times[name]}"))
    suite.add_testcases(cases)
    if run.notes:
        suite.append(SystemOut(printable("\n".join(run.notes))))  # type: ignore[no-untyped-call]  # junitparser's has no types
    report = JUnitXml("rocketproof")
    report.add_testsuite(suite)
    report.time = suite.time = round(run.seconds, 3)
    file = io.BytesIO()
    report.write(file, pretty=True)
    return file.getvalue().decode("utf-8")


def _case(run: Run, one: Result, name: str) -> TestCase:
    group = ".".join(one_line(part) for part in ("rocketproof", run.command, one.profile, one.id) if part)
    case = _Case(name, group, one.seconds)
    if one.place is not None:
        case.file = one_line(one.place.file)
        if one.place.line is not None:
            case.line = str(one.place.line)
    message = one_line(one.said)
    if one.outcome in _SKIPPED:
        case.result = [Skipped(f"{WORDS[one.outcome]}: {message}")]
    elif one.outcome != "ok":
        found = (Error if one.outcome == "error" else Failure)(message)
        found.text = printable(_text(one))
        case.result = [found]
    kept = {"cause": one.cause, **one.properties}
    if any(kept.values()):
        properties = Properties()  # type: ignore[no-untyped-call]  # junitparser's has no types
        for key, value in kept.items():
            if value:
                properties.add_property(Property(one_line(key), one_line(value)))
        case.append(properties)  # type: ignore[no-untyped-call]  # junitparser's has no types
    return case


def _text(one: Result) -> str:
    return lines(
        [one.message, one.details, one.witness and f"witness: {one.witness}", *one.commands, f"stated in {one.place}" if one.place else ""]
    )
