"""One run for all processes of a pytest session: who comes first performs it, the others wait and read what came of it.

They meet in a folder that the session's first process has named (`Session.scratch`). What was recorded stays in the folder of the run, with
`suite.json`: the outcome of each entry.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Mapping
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
from ...judging.judging import EXPANDED
from ...programs.parts import Capability
from ...reports import failures
from ...reports.output import counted
from .. import memory
from ..entries import SuiteEntry, entries
from ..report import ValidationReport
from ..undecided import MORE_STATES
from ..validate import Progress, ValidationRequest, tried_first, validate
from .options import STATES, Options
from .outcomes import EntryOutcome, outcomes

SCHEMA: Final = "rocketproof-suite"
VERSION: Final = 1
FILE: Final = "suite.json"
PAGES: Final = "pages"
SHRINK: Final = 10.0
"""Seconds for making the program of one finding smaller."""
INTERRUPTED: Final = "Ctrl-C"
_RESULTS, _LOCK, _TOLD = "results.json", "lock", "told"


@dataclass(frozen=True)
class SuiteResults:
    """What came of the run. `error`: why there is none; `stopped`: what ended it early; `undecided`: what no judge came to the end of;
    `notes`: what else is to be said of it."""

    error: str = ""
    folder: str = ""
    stopped: str = ""
    summary: str = ""
    notes: tuple[str, ...] = ()
    outcomes: Mapping[str, EntryOutcome] = field(default_factory=dict)
    undecided: str = ""

    @property
    def too_little(self) -> str:
        """Why the run says less than it was asked for: the target ended it, and not its user, or something is undecided; "" if it does
        not."""
        ended = self.stopped and self.stopped != INTERRUPTED and not self.stopped.startswith("--time")
        return self.stopped if ended else self.undecided

    def data(self) -> dict[str, Any]:
        rows = {id_: one.data() for id_, one in self.outcomes.items()}
        return {"schema": SCHEMA, "version": VERSION, **vars(self), "notes": list(self.notes), "outcomes": rows}

    @staticmethod
    def read(path: Path) -> SuiteResults:
        data = json.loads(path.read_text("utf-8"))
        rows = {id_: EntryOutcome(**row) for id_, row in data["outcomes"].items()}
        return SuiteResults(data["error"], data["folder"], data["stopped"], data["summary"], tuple(data["notes"]), rows, data["undecided"])


def target_of(options: Options) -> ValidationTarget:
    """What is validated. Raises InputError, TargetError."""
    return choose_named(options.target, options.profile)


def entries_of(target: ValidationTarget, options: Options) -> tuple[SuiteEntry, ...]:
    """All entries for a target. Its store is offered too where a folder is given."""
    return entries(target.profile, target.offers | ({Capability.STORE} if options.store is not None else set()))


def known(scratch: Path) -> SuiteResults | None:
    """What came of the run, None if nobody has made it yet."""
    path = scratch / _RESULTS
    return SuiteResults.read(path) if path.exists() else None


def obtain(scratch: Path, options: Options, base: Path, progress: Callable[[str, int, int], None]) -> SuiteResults:
    """What came of the run; it is made now unless another process has. `base`: the folder under which runs get a number.

    Raises KeyboardInterrupt when it was interrupted; what was recorded is kept.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with FileLock(scratch / _LOCK):
        found = known(scratch)
        if found is not None:
            return found
        try:
            found = _perform(options, base, progress)
        except RocketproofError as error:
            found = SuiteResults(error=f"{options.target}: {error}" if options.target not in str(error) else str(error))
        except Exception as error:
            _keep(scratch, SuiteResults(error=f"the run failed: {type(error).__name__}: {error}"))
            raise
        _keep(scratch, found)
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return found


def is_first_to_tell(scratch: Path) -> bool:
    """Whether nobody has told yet what went wrong with the run; after this somebody has."""
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


def _perform(options: Options, base: Path, progress: Progress) -> SuiteResults:
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
        witnesses=WITNESSES,
        remembered=memory.programs(failures.read(remembered)),
        audits=True,
        stores=() if options.store is None else (options.store,),
    )
    report = validate(request, progress)
    report.notes += filter(None, [memory.keep(report, tried_first(request), remembered)])

    def page(history: Path, entry: SuiteEntry) -> Path | None:
        return _drawn(history, folder / PAGES / f"{re.sub('[^A-Za-z0-9.-]+', '-', entry.id)}.html", target.profile, entry.title)

    found = outcomes(report, entries_of(target, options), folder, page)
    stopped = report.stopped or report.transport.undecided
    results = SuiteResults("", str(folder), stopped, _summary(report), (*report.notes, *_faults(report)), found, _undecided(report))
    (folder / FILE).write_text(json_text(results.data(), indent=1) + "\n", "utf-8")
    return results


def _drawn(history: Path, file: Path, profile: str, title: str) -> Path | None:
    """A history as a page, None where it cannot be drawn: a run's verdicts do not depend on it."""
    try:
        drawn = histories.of_file(history, profile, lambda _: None, title)
        file.parent.mkdir(exist_ok=True)
        pages.write(file, drawn.document())
    except (RocketproofError, OSError):
        return None
    return file


def _faults(report: ValidationReport) -> list[str]:
    """What became of the connections, in a line, if anything did."""
    counts = report.transport.counts
    told = ", ".join(f"{kind} ({times} times)" for kind, times in counts.items())
    return [f"faults of the connection, which are held against nobody: {told}"] if counts else []


def _undecided(report: ValidationReport) -> str:
    """What is undecided, the first with its reason, and what to do; "" if nothing is."""
    if not report.undecided:
        return ""
    first, many = report.undecided[0], counted(len(report.undecided), "verdict")
    wider = f"; a larger {STATES.flag} may decide it" if first.remedy == MORE_STATES else "; another run may decide it"
    return f"{many} not decided: {first.what} ({first.history}): {first.reason}{wider}"


def _summary(report: ValidationReport) -> str:
    name, version = str(report.target.get("name", "")), str(report.target.get("version") or "")
    what = name if version in name else f"{name} {version}"
    requests = sum(one.requests for one in report.judged)
    done = f"{len(report.judged)} programs, {requests:,} requests, {report.seconds:.1f} s, seed {report.seed}"
    return f"{what} under {report.profile}: {done}"
