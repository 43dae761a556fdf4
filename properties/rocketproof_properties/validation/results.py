"""Convert a validation into the run that reports are written from.

Only the report's JSON is used, so that a saved report gives the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number

from ..reports.results import Outcome, Result, Run, first_line, lines
from .faults.claims import FAULT_CLAIMS
from .faults.kinds import DISK, KILL, POWER, SLAVE, THREADS

SCHEMA: Final = "rocketproof-validation"
"""The schema of report.json."""
REPORT: Final = "report.json"
COMMAND: Final = "validate"
HOLD: Final = "behind a fault of the machine a broker has what it promised"
STRUCK: Final = {
    KILL: "a broker was killed under load",
    POWER: "the power failed under load",
    DISK: "the disk had a fault under load",
    THREADS: "no thread could be started under load",
    SLAVE: "a master and its slave were struck under load",
}
_DECIDED: Final = "a judge comes to a verdict on each program, and on each topic that programs share"
_DONE: Final = "what many programs promise, one of them does"
_JUDGED: Final = "programs are performed and judged"
_VALID: Final = "no accepted deviation is over"
_COVERED: Final = "responses show every transition of the scope that requests can cause"
_CONNECTION: Final = "faults of the connection are not held against the broker"


def run(data: Mapping[str, Any], folder: Path | None = None) -> Run:
    """Return the run for the content of report.json.

    `folder` is the report's folder, for the paths of programs. Raises KeyError and similar errors if keys are missing.
    """
    profile = str(data["profile"])
    target = data["target"]
    name, version = str(target.get("name", "")), str(target.get("version") or "")
    notes = [*data.get("said", ()), *(f"lost, since the target does not offer {what}: {loss}" for what, loss in data["lost"].items())]
    return Run(
        COMMAND,
        f"{name} {version}".strip() if version not in name else name,
        tuple(_results(data, profile, folder)),
        whole_number(data["exit"]),
        profile,
        str(data["began"]),
        float(data["seconds"]),
        str(data["tool"]),
        tuple(map(str, notes)) + ((str(target["note"]),) if target.get("note") else ()),
        str(data["stopped"]),
    )


def read(data: Any) -> Run | None:
    """Return the run of a report.json or of `validate --json`; None for other data."""
    return run(data) if isinstance(data, dict) and data.get("schema") == SCHEMA else None


def _results(data: Mapping[str, Any], profile: str, folder: Path | None) -> Iterator[Result]:
    for finding in data["findings"]:
        yield _finding(finding, profile, data["verdicts"], folder)
    yield from _left_open(data, profile)
    fixed = data.get("fixed", {})
    for row in data["verdicts"]:
        if row["expected"] == "violated" or not row["broken"]:  # an unexpected violation is a finding instead
            yield _row(row, profile, fixed.get(row["id"]))
    for witness in data["witnesses"]:
        yield _witness(witness, profile, fixed.get(witness["hazard"]))
    if data.get("transport", {}).get("counts"):  # older reports lack faults of the connection
        yield _transport(data["transport"], profile)
    for faults in data["faults"]:
        yield from _faults(faults, profile)
    if "coverage" in data:
        yield from _coverage(data["coverage"], profile)


def _coverage(data: Mapping[str, Any], profile: str) -> Iterator[Result]:
    """Yield the transition coverage of each scope, with a line for each action."""
    from .cover import MISSED  # imports the model

    for total in data["scopes"]:
        name, reachable, covered = total["scope"], whole_number(total["reachable"]), whole_number(total["covered"])
        missed = any(reason in total["rest"] for reason in MISSED)
        outcome: Outcome = "undecided" if missed or not covered else "ok"
        actions = [row for row in data["actions"] if row["scope"] == name]
        yield Result(
            f"cover.{name}", _COVERED, outcome, "covered" if outcome == "ok" else "not covered", "covered", profile, scope=name,
            message=f"{covered:,} of {reachable:,} reachable transitions covered, of {total['inScope']:,} in the scope",
            details=lines([*(f"{times:,}: {reason}" for reason, times in total["rest"].items()), *map(_action, actions)]),
            properties={"inScope": str(total["inScope"]), "reachable": str(reachable), "covered": str(covered)},
        )  # fmt: skip


def _action(row: Mapping[str, Any]) -> str:
    guards = "".join(f"; refused by {name!r} {of['covered']:,} of {of['reachable']:,}" for name, of in row["guards"].items())
    part = f"{row['part']}: " if row["part"] else ""
    return f"{part}{row['action']}: {row['covered']:,} of {row['reachable']:,} reachable, {row['inScope']:,} in the scope{guards}"


def _finding(finding: Mapping[str, Any], profile: str, rows: Any, folder: Path | None) -> Result:
    sentence = next((row["sentence"] for row in rows if row["id"] == finding["property"] and row["sentence"]), "")
    if not sentence:
        sentence = next((row["sentence"] for row in rows if row["id"] == finding["judge"]), "") or f"by the {finding['judge']}"
    accepted = finding.get("accepted")
    file = str(folder / finding["file"]) if folder is not None and finding["file"] else ""
    not_reproduced = finding.get("reproduced") is False
    message = (
        f"not reproduced in {finding['repeats']} repetitions: {first_line(finding['text'])}"
        if not_reproduced
        else first_line(finding["text"])
    )
    return Result(
        finding["property"],
        sentence,
        "accepted" if accepted else "undecided" if not_reproduced else "differs",
        "not reproduced" if not_reproduced else "violated",
        "holds",
        profile,
        about=f"by the {finding['judge']}",
        message=_accepted(accepted) if accepted else message,
        details=lines(
            [
                finding.get("details") or finding["text"],  # older reports lack the details
                f"recorded in {finding['history']}",
            ]
        ),
        witness=file,
        commands=(f"python {file} BROKER",) if file else (),
        cause=str(finding.get("cause", "")),
        properties={"programs": str(finding["programs"]), "history": str(finding["history"])},
    )


def _left_open(data: Mapping[str, Any], profile: str) -> Iterator[Result]:
    """Yield everything that makes the exit code 3, and expired accepted deviations, which make it 1.

    Reports of earlier versions lack these keys.
    """
    for question in data.get("undecided", ()):
        yield Result(
            question["judge"], _DECIDED, "undecided", "not decided", "holds", profile, about=f"{question['what']}, {question['history']}",
            message=first_line(question["reason"]), details=f"recorded in {question['history']}",
        )  # fmt: skip
    for what in data.get("missing", ()):
        yield Result("programs", _DONE, "undecided", "never done", "done", profile, about=what, message=f"never done: {what}")
    if "programs" in data and not data["programs"]["judged"]:
        yield Result("programs", _JUDGED, "undecided", "none was judged", "judged", profile, message="no program was judged")
    for text in data.get("over", ()):
        yield Result("accept", _VALID, "differs", "over", "valid", profile, about=text, message=text)


def _row(row: Mapping[str, Any], profile: str, fixed: Mapping[str, str] | None) -> Result:
    """Return the result for a claim without finding: it held, or a known violation was shown, or was not shown.

    `fixed`: the entry that accepts that the violation is not shown.
    """
    undecided = row.get("undecided", 0)
    outcome: Outcome = "ok" if row["agrees"] else "differs" if row["agrees"] is not None else "undecided" if undecided else "skipped"
    shown = f"{row['broken']} of {row['tried']} programs showed it"
    message = {
        "ok": shown if row["broken"] else f"{row['tried']} programs could have shown otherwise",
        "undecided": f"{undecided} of {undecided + row['tried']} programs, shared topics and logs were not decided",
        "skipped": f"a known violation that {row['tried']} programs have not shown, too few to miss it",
    }.get(outcome, f"known to be violated, and {row['tried']} programs have not shown it")
    if outcome == "differs" and fixed:
        outcome, message = "accepted", _accepted(fixed)
    verdict = "violated" if row["broken"] else "holds" if row["expected"] == "holds" else "not shown"
    if outcome == "undecided":
        verdict = "not decided"
    return Result(
        row["id"], row["sentence"] or row["id"], outcome, verdict, row["expected"], profile, row["condition"], message=message,
        properties={"tried": str(row["tried"]), "broken": str(row["broken"])},
    )  # fmt: skip


def _accepted(entry: Mapping[str, str]) -> str:
    return f"accepted until {entry['until']}: {entry['reason']}"


def _witness(witness: Mapping[str, Any], profile: str, fixed: Mapping[str, str] | None) -> Result:
    outcome: Outcome = "skipped" if witness["reproduced"] is None else "ok" if witness["reproduced"] else "differs"
    verdict = {"skipped": "not replayed", "ok": "reproduced", "differs": "not reproduced"}[outcome]
    text = " ".join(witness["said"]) if outcome == "skipped" else "" if outcome == "ok" else (witness["said"] or [""])[-1]
    if outcome == "differs" and fixed:
        outcome, text = "accepted", _accepted(fixed)
    return Result(
        witness["hazard"], f"the witness of {witness['property']} in the model is what the target does: {witness['sentence']}", outcome,
        verdict, "reproduced", profile, witness["condition"], message=first_line(text),
        details="" if outcome == "ok" else lines([*witness["steps"], *witness["said"]]),
    )  # fmt: skip


def _transport(faults: Mapping[str, Any], profile: str) -> Result:
    counts = ", ".join(f"{kind} {number:,}" for kind, number in faults["counts"].items())
    outcome: Outcome = "undecided" if faults["undecided"] else "skipped"
    return Result(
        "transport", _CONNECTION, outcome, "could not be judged" if faults["undecided"] else "not judged", profile=profile,
        message=faults["undecided"] or counts, details=lines([counts, *faults["examples"]]),
    )  # fmt: skip


def _faults(data: Mapping[str, Any], profile: str) -> Iterator[Result]:
    """Yield the results of one kind of fault: one per violated claim, or one if nothing is wrong."""
    kind, rounds, states = data["kind"], data["rounds"], data["states"]
    summary = f"{rounds} times {STRUCK[kind]}, started {states} times, {data['acknowledged']:,} messages acknowledged"
    if data["unknown"]:
        open_ = [*map(str, data["unknown"])]
        yield Result(
            f"faults.{kind}",
            HOLD,
            "undecided",
            "not known",
            "holds",
            profile,
            about=summary,
            message=first_line(open_[0]),
            details=lines(open_),
        )
    elif not data["wrong"]:
        outcome: Outcome = "ok" if rounds else "skipped"
        yield Result(f"faults.{kind}", HOLD, outcome, "holds" if rounds else "not tried", "holds", profile, message=summary)
    for claim in dict.fromkeys(violation["claim"] for violation in data["wrong"]):
        rows = [violation for violation in data["wrong"] if violation["claim"] == claim]
        known = all(violation["reason"] for violation in rows)
        texts = [f"{violation['where']}: {violation['text']}" for violation in rows]
        yield Result(
            f"faults.{kind}.{claim.replace(' ', '_')}", FAULT_CLAIMS[claim].sentence, "ok" if known else "differs", "violated",
            "violated" if known else "holds", profile, about=summary, message=first_line(texts[0]),
            details=lines([rows[0]["reason"], *texts]),
        )  # fmt: skip
