"""A validation as a run that reports are written from. It is made of the report's JSON alone, so that a saved one gives the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number

from ..catalogue.rules import rules
from ..reports.results import Outcome, Result, Run, first_line, lines
from .faults.claims import FAULT_CLAIMS
from .faults.kinds import DISK, KILL, POWER, SLAVE, THREADS

SCHEMA: Final = "rocketproof-validation"
"""Of report.json."""
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
_CONNECTION: Final = "faults of the connection are not held against the broker"


def run(data: Mapping[str, Any], folder: Path | None = None) -> Run:
    """What report.json holds; `folder` is that of the report, for the programs of findings. Raises KeyError and the like where it lacks
    what it should have."""
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
    """The run of a report.json or of `validate --json`, None if it is none."""
    return run(data) if isinstance(data, dict) and data.get("schema") == SCHEMA else None


def _results(data: Mapping[str, Any], profile: str, folder: Path | None) -> Iterator[Result]:
    for finding in _by_cause(data["findings"]):
        yield _finding(finding, profile, data["verdicts"], folder)
    yield from _left_open(data, profile)
    for row in data["verdicts"]:
        if row["expected"] == "violated" or not row["broken"]:  # what was broken and should not be is a finding
            yield _row(row, profile)
    for witness in data["witnesses"]:
        yield _witness(witness, profile)
    if data.get("transport", {}).get("counts"):  # a report that was written before there were faults of the connection has none
        yield _transport(data["transport"], profile)
    for faults in data["faults"]:
        yield from _faults(faults, profile)


def _by_cause(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Findings of one cause behind each other, the one with the shortest program first."""
    first: dict[str, int] = {}
    for number, one in enumerate(findings):
        first.setdefault(_cause(one), number)

    def place(one: Mapping[str, Any]) -> tuple[int, int, int]:
        steps = one["program"]["steps"]
        return first[_cause(one)], len(steps), sum(len(args) for _, args in steps)

    return sorted(findings, key=place)


def _cause(one: Mapping[str, Any]) -> str:
    return str(one.get("cause") or f"{one['property']} by {one['judge']}")


def _finding(one: Mapping[str, Any], profile: str, rows: Any, folder: Path | None) -> Result:
    sentence = next((row["sentence"] for row in rows if row["id"] == one["property"] and row["sentence"]), "")
    if not sentence:
        sentence = next((row["sentence"] for row in rows if row["id"] == one["judge"]), "") or f"by the {one['judge']}"
    accepted = one.get("accepted")
    file = str(folder / one["file"]) if folder is not None and one["file"] else ""
    program = [f"  {name}({', '.join(f'{key}={value!r}' for key, value in args.items())})" for name, args in one["program"]["steps"]]
    repeated = f"done again, the program showed it {one['again']} of {one['repeats']} times" if one["repeats"] else ""
    once = one.get("reproduced") is False
    message = f"not reproduced in {one['repeats']} repetitions: {first_line(one['text'])}" if once else first_line(one["text"])
    return Result(
        one["property"],
        sentence,
        "accepted" if accepted else "undecided" if once else "differs",
        "not reproduced" if once else "violated",
        "holds",
        profile,
        about=f"by the {one['judge']}",
        message=f"accepted until {accepted['until']}: {accepted['reason']}" if accepted else message,
        details=lines(
            [
                one["text"] if "\n" in one["text"] else "",
                f"the guard that refuses: {one['guard']}" if one.get("guard") else "",
                *_rules(one.get("rules") or ()),
                f"shown by {one['programs']} programs, this is the shortest:" if program else "",
                *program,
                f"on a broker with {one['program']['needs']}" if one["program"].get("needs") else "",
                repeated,
                f"recorded in {one['history']}",
            ]
        ),
        witness=file,
        commands=(f"python {file} BROKER",) if file else (),
        cause=str(one.get("cause", "")),
        properties={"programs": str(one["programs"]), "history": str(one["history"])},
    )


def _rules(ids: Sequence[str]) -> list[str]:
    """The rules that decide what differs, with their sentences; ids that this release does not know stand alone."""
    head = ["the rule that it contradicts:"] if len(ids) == 1 else ["decided by one of these rules:"] if ids else []
    return [*head, *(f"  {id_} {rules()[id_].sentence}" if id_ in rules() else f"  {id_}" for id_ in ids)]


def _left_open(data: Mapping[str, Any], profile: str) -> Iterator[Result]:
    """What makes the exit code 3, or 1 where an accepted deviation is over, and is no verdict on a property. Reports of earlier versions
    lack these keys."""
    for one in data.get("undecided", ()):
        yield Result(
            one["judge"], _DECIDED, "undecided", "not decided", "holds", profile, about=f"{one['what']}, {one['history']}",
            message=first_line(one["reason"]), details=f"recorded in {one['history']}",
        )  # fmt: skip
    for what in data.get("missing", ()):
        yield Result("programs", _DONE, "undecided", "never done", "done", profile, about=what, message=f"never done: {what}")
    if "programs" in data and not data["programs"]["judged"]:
        yield Result("programs", _JUDGED, "undecided", "none was judged", "judged", profile, message="no program was judged")
    for text in data.get("over", ()):
        yield Result("accept", _VALID, "differs", "over", "valid", profile, about=text, message=text)


def _row(row: Mapping[str, Any], profile: str) -> Result:
    """A claim that no finding is about: it held, or a known violation was shown, or was not."""
    left = row.get("undecided", 0)
    outcome: Outcome = "ok" if row["agrees"] else "differs" if row["agrees"] is not None else "undecided" if left else "skipped"
    shown = f"{row['broken']} of {row['tried']} programs showed it"
    said = {
        "ok": shown if row["broken"] else f"{row['tried']} programs could have shown otherwise",
        "undecided": f"{left} of {left + row['tried']} programs, shared topics and logs were not decided",
        "skipped": f"a known violation that {row['tried']} programs have not shown, too few to miss it",
    }.get(outcome, f"known to be violated, and {row['tried']} programs have not shown it")
    verdict = "violated" if row["broken"] else "holds" if row["expected"] == "holds" else "not shown"
    if outcome == "undecided":
        verdict = "not decided"
    return Result(
        row["id"], row["sentence"] or row["id"], outcome, verdict, row["expected"], profile, row["condition"], message=said,
        properties={"tried": str(row["tried"]), "broken": str(row["broken"])},
    )  # fmt: skip


def _witness(one: Mapping[str, Any], profile: str) -> Result:
    outcome: Outcome = "skipped" if one["reproduced"] is None else "ok" if one["reproduced"] else "differs"
    verdict = {"skipped": "not replayed", "ok": "reproduced", "differs": "not reproduced"}[outcome]
    said = " ".join(one["said"]) if outcome == "skipped" else "" if outcome == "ok" else (one["said"] or [""])[-1]
    return Result(
        one["hazard"], f"the witness of {one['property']} in the model is what the target does: {one['sentence']}", outcome, verdict,
        "reproduced", profile, one["condition"], message=first_line(said),
        details="" if outcome == "ok" else lines([*one["steps"], *one["said"]]),
    )  # fmt: skip


def _transport(seen: Mapping[str, Any], profile: str) -> Result:
    counts = ", ".join(f"{kind} {number:,}" for kind, number in seen["counts"].items())
    outcome: Outcome = "undecided" if seen["undecided"] else "skipped"
    return Result(
        "transport", _CONNECTION, outcome, "could not be judged" if seen["undecided"] else "not judged", profile=profile,
        message=seen["undecided"] or counts, details=lines([counts, *seen["examples"]]),
    )  # fmt: skip


def _faults(data: Mapping[str, Any], profile: str) -> Iterator[Result]:
    """What faults of one kind have shown, claim by claim; where nothing is wrong, that."""
    kind, rounds, states = data["kind"], data["rounds"], data["states"]
    said = f"{rounds} times {STRUCK[kind]}, started {states} times, {data['acknowledged']:,} messages acknowledged"
    if data["unknown"]:
        open_ = [*map(str, data["unknown"])]
        yield Result(
            f"faults.{kind}",
            HOLD,
            "undecided",
            "not known",
            "holds",
            profile,
            about=said,
            message=first_line(open_[0]),
            details=lines(open_),
        )
    elif not data["wrong"]:
        outcome: Outcome = "ok" if rounds else "skipped"
        yield Result(f"faults.{kind}", HOLD, outcome, "holds" if rounds else "not tried", "holds", profile, message=said)
    for claim in dict.fromkeys(one["claim"] for one in data["wrong"]):
        rows = [one for one in data["wrong"] if one["claim"] == claim]
        known = all(one["reason"] for one in rows)
        texts = [f"{one['where']}: {one['text']}" for one in rows]
        yield Result(
            f"faults.{kind}.{claim.replace(' ', '_')}", FAULT_CLAIMS[claim].sentence, "ok" if known else "differs", "violated",
            "violated" if known else "holds", profile, about=said, message=first_line(texts[0]), details=lines([rows[0]["reason"], *texts]),
        )  # fmt: skip
