"""What `judge` found as a run that reports are written from: of one history, of a recording, of many histories.

It is made of the JSON alone, so that a saved judgement gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..reports.exitcode import exit_code
from ..reports.results import Outcome, Result, Run, SourcePlace, first_line, lines

COMMAND: Final = "judge"
_ID: Final = "specification"
_SENTENCE: Final = "the specification explains what the clients saw"
_KINDS: Final = ({"verdict", "parts", "findings", "unknown"}, {"cases", "unexplained"}, {"histories", "findings", "verdicts"})


def run(data: Mapping[str, Any], subject: str, code: int) -> Run:
    """A judgement's data; `subject` names the file or folder that was judged, `code` is the exit code."""
    return Run(COMMAND, subject, tuple(_results(data, subject)), code, str(data["profile"]))


def read(data: Any) -> Run | None:
    """The run of which `judge --json` wrote this, None if it is none."""
    if not isinstance(data, dict) or not any(kind <= data.keys() for kind in _KINDS):
        return None
    found = run(data, "", 0)
    code = exit_code(findings=found.attention, undecided=found.of("undecided"))
    return Run(found.command, "", found.results, code, found.profile)


def _results(data: Mapping[str, Any], subject: str) -> Iterator[Result]:
    profile = str(data["profile"])

    def unexplained(about: str, text: str, details: str = "", place: SourcePlace | None = None, verdict: str = "not explained") -> Result:
        outcome: Outcome = "differs" if verdict == "not explained" else "error"
        return Result(
            _ID, _SENTENCE, outcome, verdict, "explained", profile, about=about, message=first_line(text), details=details, place=place
        )  # fmt: skip

    found: list[Result] = []
    for one in data.get("unexplained", ()):  # of a recording
        found.append(
            unexplained(
                one["case"], f"recorded {one['recorded']}; {_refusal(one)}", _values(one), SourcePlace(subject) if subject else None
            )
        )
    for one in data.get("findings", ()):
        if "refused" in one:  # of one history
            at, refused = f"{one['part']}, event {one['seq']} ({one['op']} of {one['process']})", one["refused"]
            explained = f"answers of this part that are explained before it: {len(one['prefix'])}"
            steps = ["one order of steps that explains them:", *(f"  {step}" for step in one["steps"])] if one["steps"] else []
            place = SourcePlace(subject) if subject else None
            found.append(
                unexplained(at, f"recorded {one['recorded']}; {_refusal(refused)}", lines([_values(refused), explained, *steps]), place)
            )
            continue
        place = None if one.get("file") is None else SourcePlace(str(one["file"]), one.get("line"))
        if one.get("kind") == "unreadable":
            found.append(unexplained(str(one["history"]), str(one["recorded"]), place=place, verdict="unreadable"))
        else:
            at = f"{one['history']}, {one['part']}, event {one['seq']} ({one['op']} of {one['process']})"
            found.append(unexplained(at, f"recorded {one['recorded']}; {_refusal(one)}", _values(one), place))
    yield from found
    for text in data.get("unknown", ()):
        yield Result(_ID, _SENTENCE, "undecided", "unknown", "explained", profile, about=first_line(text), message=text)
    histories: dict[str, list[Mapping[str, Any]]] = {}
    for row in data.get("verdicts", ()):  # of the parts of many histories
        histories.setdefault(str(row["history"]), []).append(row)
    for history, parts in histories.items():
        if all(row["verdict"] == "ok" for row in parts):
            yield _explained(profile, history, sum(row["explained"] for row in parts))
    if "verdicts" not in data and not found and not data.get("unknown"):
        yield _explained(profile, "", data["explained"])


def _explained(profile: str, about: str, answers: int) -> Result:
    return Result(_ID, _SENTENCE, "ok", "explained", "explained", profile, about=about, message=f"{answers:,} answers explained")


def _refusal(one: Mapping[str, Any]) -> str:
    if not one.get("sentence"):
        return f"the specification {one['specified']}"
    why = f"{one['action']} is refused by guard '{one['guard']}' ({one['sentence']})" if one.get("guard") else one["sentence"]
    return f"the specification {one['specified']}; {why}"


def _values(one: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in (one.get("values") or {}).items())
