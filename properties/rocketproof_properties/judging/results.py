"""The output of `judge` as a run from which reports are written: one history, a recording, or many histories.

The run is computed from the JSON alone, so a saved judgement yields the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rocketproof_traces.bulk.kinds import BROKEN, UNREADABLE

from ..reports import recurring
from ..reports.exitcode import exit_code
from ..reports.recurring import EXPLAINED, SPECIFICATION
from ..reports.results import Outcome, Result, Run, SourcePlace, first_line, lines

COMMAND: Final = "judge"
_KINDS: Final = ({"verdict", "parts", "findings", "unknown"}, {"cases", "unexplained"}, {"histories", "findings", "verdicts"})


def run(data: Mapping[str, Any], subject: str, code: int) -> Run:
    """Return the run of a judgement's data. `subject` names the judged file or folder, `code` is the exit code."""
    return Run(COMMAND, subject, tuple(_results(data, subject)), code, str(data["profile"]))


def read(data: Any) -> Run | None:
    """Return the run that `judge --json` wrote into `data`, None for other data."""
    if not isinstance(data, dict) or not any(kind <= data.keys() for kind in _KINDS):
        return None
    judged = run(data, "", 0)
    code = exit_code(findings=judged.attention, undecided=judged.of("undecided"))
    return Run(judged.command, "", judged.results, code, judged.profile)


def _results(data: Mapping[str, Any], subject: str) -> Iterator[Result]:
    profile = str(data["profile"])

    unexplained_results: list[Result] = []
    for finding in data.get("unexplained", ()):  # of a recording
        unexplained_results.append(
            _unexplained(
                profile,
                finding["case"],
                f"recorded {finding['recorded']}; {_refusal(finding)}",
                _values(finding),
                SourcePlace(subject) if subject else None,
            )
        )
    for finding in data.get("findings", ()):
        if "refused" in finding:  # of one history
            at, refused = f"{finding['part']}, event {finding['seq']} ({finding['op']} of {finding['process']})", finding["refused"]
            explained = f"answers of this part that are explained before it: {len(finding['prefix'])}"
            steps = ["one order of steps that explains them:", *(f"  {step}" for step in finding["steps"])] if finding["steps"] else []
            place = SourcePlace(subject) if subject else None
            text, details = f"recorded {finding['recorded']}; {_refusal(refused)}", lines([_values(refused), explained, *steps])
            unexplained_results.append(_unexplained(profile, at, text, details, place))
            continue
        if finding.get("kind") == BROKEN:
            yield result_of(finding, profile)
        else:
            unexplained_results.append(result_of(finding, profile))
    yield from unexplained_results
    for text in data.get("unknown", ()):
        yield recurring.undecided(profile, text)
    histories: dict[str, list[Mapping[str, Any]]] = {}
    for row in data.get("verdicts", ()):  # of the parts of many histories
        histories.setdefault(str(row["history"]), []).append(row)
    for history, parts in histories.items():
        if all(row["verdict"] == "ok" for row in parts):
            yield recurring.explained(profile, history, sum(row["explained"] for row in parts))
    if "verdicts" not in data and not unexplained_results and not data.get("unknown"):
        yield recurring.explained(profile, "", data["explained"])


def result_of(finding: Mapping[str, Any], profile: str) -> Result:
    """Return the result of a finding about one of many histories."""
    if finding.get("kind") == BROKEN:
        return _of_rule(finding, profile)
    place = None if finding.get("file") is None else SourcePlace(str(finding["file"]), finding.get("line"))
    if finding.get("kind") == UNREADABLE:
        return _unexplained(profile, str(finding["history"]), str(finding["recorded"]), place=place, verdict="unreadable")
    at = f"{finding['history']}, {finding['part']}, event {finding['seq']} ({finding['op']} of {finding['process']})"
    return _unexplained(profile, at, f"recorded {finding['recorded']}; {_refusal(finding)}", _values(finding), place)


def _unexplained(
    profile: str, about: str, text: str, details: str = "", place: SourcePlace | None = None, verdict: str = "not explained"
) -> Result:
    outcome: Outcome = "differs" if verdict == "not explained" else "error"
    return Result(
        SPECIFICATION, EXPLAINED, outcome, verdict, "explained", profile,
        about=about, message=first_line(text), details=details, place=place,
    )  # fmt: skip


def _of_rule(finding: Mapping[str, Any], profile: str) -> Result:
    """Return the result of a row that breaks a user's rule. A note is no problem."""
    event = "" if finding["seq"] is None else f", event {finding['seq']} ({finding['op']} of {finding['process']})"
    about = f"{finding['history']}{', ' + finding['part'] if finding['part'] else ''}{event}"
    is_note = finding["severity"] == "note"
    message = f"{'a note: ' if is_note else ''}expected {finding['specified']}, found {finding['recorded']}"
    return Result(
        finding["rule"], finding["sentence"], "ok" if is_note else "differs", "violated", "holds", profile,
        about=about, message=message, properties={"severity": finding["severity"]},
    )  # fmt: skip


def _refusal(row: Mapping[str, Any]) -> str:
    if not row.get("sentence"):
        return f"the specification {row['specified']}"
    reason = f"{row['action']} is refused by guard '{row['guard']}' ({row['sentence']})" if row.get("guard") else row["sentence"]
    return f"the specification {row['specified']}; {reason}"


def _values(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in (row.get("values") or {}).items())
