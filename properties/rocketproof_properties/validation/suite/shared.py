"""One run for all processes of a pytest session. The first process performs it; the others wait and read the results.

The processes share a folder that the session's first process names. The histories stay in the folder of the run, with `suite.json`: the
outcome of each entry.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from rocketproof_model import RocketproofError
from rocketproof_protocol.shown import json_text
from rocketproof_traces.explorer import page as pages

from ...brokers.choose import choose_named
from ...brokers.deployment import ValidationTarget
from ...conformance.witnesses.known import WITNESSES
from ...judging import documents as histories
from ...judging.specification import EXPANDED
from ...programs.parts import Capability
from ...reports import failures
from ...reports.output import counted
from .. import memory
from ..entries import SuiteEntry, entries
from ..report import ValidationReport
from ..undecided import MORE_STATES
from ..validate import Found, Progress, ValidationRequest, tried_first, validate
from .options import STATES, Options
from .outcomes import EntryOutcome, outcomes

SCHEMA: Final = "rocketproof-suite"
VERSION: Final = 1
FILE: Final = "suite.json"
PAGES: Final = "pages"
SHRINK: Final = 10.0
"""Seconds for shrinking the program of one finding."""
INTERRUPTED: Final = "Ctrl-C"
_RESULTS, _LOCK, _TOLD = "results.json", "lock", "told"


@dataclass(frozen=True)
class SuiteResults:
    """The results of the run.

    `error`: why there is no run. `stopped`: the reason of an early end. `undecided`: what no judge decided. `notes`: further remarks.
    """

    error: str = ""
    folder: str = ""
    stopped: str = ""
    summary: str = ""
    notes: tuple[str, ...] = ()
    outcomes: Mapping[str, EntryOutcome] = field(default_factory=dict)
    undecided: str = ""

    @property
    def too_little(self) -> str:
        """Why the run is incomplete: the target (not the user) ended it, or something is undecided; "" if it is complete."""
        ended = self.stopped and self.stopped != INTERRUPTED and not self.stopped.startswith("--time")
        return self.stopped if ended else self.undecided

    def data(self) -> dict[str, Any]:
        rows = {id_: outcome.data() for id_, outcome in self.outcomes.items()}
        return {"schema": SCHEMA, "version": VERSION, **vars(self), "notes": list(self.notes), "outcomes": rows}

    @staticmethod
    def read(path: Path) -> SuiteResults:
        data = json.loads(path.read_text("utf-8"))
        rows = {id_: EntryOutcome(**row) for id_, row in data["outcomes"].items()}
        return SuiteResults(data["error"], data["folder"], data["stopped"], data["summary"], tuple(data["notes"]), rows, data["undecided"])


def target_of(options: Options) -> ValidationTarget:
    """Return the target to validate. Raises InputError, TargetError."""
    return choose_named(options.target, options.profile)


def entries_of(target: ValidationTarget, options: Options) -> tuple[SuiteEntry, ...]:
    """Return all entries for a target. A folder in the options counts as the capability to read its store."""
    return entries(target.profile, target.offers | ({Capability.STORE} if options.store is not None else set()))


def known(scratch: Path) -> SuiteResults | None:
    """Return the results of the run; None if it was not performed yet."""
    path = scratch / _RESULTS
    return SuiteResults.read(path) if path.exists() else None


def obtain(
    scratch: Path, options: Options, base: Path, progress: Progress = lambda what, done, all_: None, found: Found = lambda sentence: None
) -> SuiteResults:
    """Return the results of the run. Perform it unless another process has. `base` is the folder for numbered runs.

    Raises KeyboardInterrupt if it was interrupted; the histories are kept.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with FileLock(scratch / _LOCK):
        results = known(scratch)
        if results is not None:
            return results
        try:
            results = _perform(options, base, progress, found)
        except RocketproofError as error:
            results = SuiteResults(error=f"{options.target}: {error}" if options.target not in str(error) else str(error))
        except Exception as error:
            _keep(scratch, SuiteResults(error=f"the run failed: {type(error).__name__}: {error}"))
            raise
        _keep(scratch, results)
    if results.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return results


def is_first_to_report(scratch: Path) -> bool:
    """Return True for the first call in a session, so that an error of the run is reported once."""
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(scratch / _TOLD, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _keep(scratch: Path, results: SuiteResults) -> None:
    part = scratch / f"{_RESULTS}.part"
    part.write_text(json.dumps(results.data()), "utf-8")
    part.replace(scratch / _RESULTS)


def _perform(options: Options, base: Path, progress: Progress, found: Found) -> SuiteResults:
    target = target_of(options)
    folder = options.report or next(path for n in itertools.count(1) if not (path := base / str(n)).exists())
    remembered = memory.file_of(target.name, target.profile)
    request = ValidationRequest(
        target,
        folder,
        options.programs,
        options.seed,
        seconds=options.seconds,
        shrink=SHRINK,
        states=options.states or EXPANDED.states,
        name_server=options.name_server,
        accepted=options.accepted(),
        exit_first=options.exit_first,
        witnesses=WITNESSES,
        remembered=memory.programs(failures.read(remembered)),
        audits=True,
        stores=() if options.store is None else (options.store,),
    )
    report = validate(request, progress, found)
    report.notes += filter(None, [memory.keep(report, tried_first(request), remembered)])

    def page(history: Path, entry: SuiteEntry) -> Path | None:
        return _drawn(history, folder / PAGES / f"{re.sub('[^A-Za-z0-9.-]+', '-', entry.id)}.html", target.profile, entry.title)

    entry_outcomes = outcomes(report, entries_of(target, options), folder, page)
    stopped = report.stopped or report.transport.undecided
    results = SuiteResults(
        "", str(folder), stopped, _summary(report), (*report.notes, *_faults(report)), entry_outcomes, _undecided(report)
    )
    (folder / FILE).write_text(json_text(results.data(), indent=1) + "\n", "utf-8")
    return results


def _drawn(history: Path, file: Path, profile: str, title: str) -> Path | None:
    """Write the page of a history; return None if it cannot be drawn, because a run's verdicts do not depend on it."""
    try:
        drawn = histories.of_file(history, profile, lambda _: None, title)
        file.parent.mkdir(exist_ok=True)
        pages.write(file, drawn.document())
    except (RocketproofError, OSError):
        return None
    return file


def _faults(report: ValidationReport) -> list[str]:
    """Return a line on the faults of the connections, if there are any."""
    counts = report.transport.counts
    listed = ", ".join(f"{kind} ({times} times)" for kind, times in counts.items())
    return [f"faults of the connection, which are held against nobody: {listed}"] if counts else []


def _undecided(report: ValidationReport) -> str:
    """Return the number of undecided verdicts, the first with its reason, and the remedy; "" if there are none."""
    if not report.undecided:
        return ""
    first, count = report.undecided[0], counted(len(report.undecided), "verdict")
    wider = f"; a larger {STATES.flag} may decide it" if first.remedy == MORE_STATES else "; another run may decide it"
    return f"{count} not decided: {first.what} ({first.history}): {first.reason}{wider}"


def _summary(report: ValidationReport) -> str:
    name, version = str(report.target.get("name", "")), str(report.target.get("version") or "")
    what = name if version in name else f"{name} {version}"
    requests = sum(program.requests for program in report.judged)
    done = f"{len(report.judged)} programs, {requests:,} requests, {report.seconds:.1f} s, seed {report.seed}"
    return f"{what} under {report.profile}: {done}"
