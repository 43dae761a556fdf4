"""Explorer pages of a run's witnesses, histories and recordings. The page of the run (`--html DIR`) lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError, interrupts
from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.explorer import page

from ...judging import documents as histories
from ...reports.choices import InputError
from ...reports.output import counting
from ...reports.results import Listed, Run
from . import findings, traces
from .openings import WITNESS


@dataclass(frozen=True)
class PageEntry:
    """A page to write: the stem of its file, its title, a short remark for the list, and the function that builds its document."""

    stem: str
    title: str
    remark: str
    make: Callable[[], Mapping[str, Any]]


def of_run(run: Run, most: int) -> list[PageEntry]:
    """Return the pages of the witnesses of a run's results, unexpected verdicts first; at most `most`."""
    entries: dict[str, PageEntry] = {}
    for result in (*run.attention, *run.results):
        if result.witness.endswith(WITNESS) and result.witness not in entries:
            remark = ", ".join(part for part in (result.profile, result.condition, result.scope) if part)
            title = f"{result.id} {result.verdict}: {result.sentence}"
            entries[result.witness] = PageEntry(Path(result.witness).name.removesuffix(WITNESS), title, remark, _witness(result.witness))
    return list(entries.values())[:most]


def _witness(path: str) -> Callable[[], Mapping[str, Any]]:
    return lambda: traces.of_file(path).document()


def of_judgement(file: Path, judged: HistoryVerdict | Judgement) -> list[PageEntry]:
    """Return the page of a judged history, or of each `cfg` of a recording. Raises RocketproofError if the file cannot be read again."""
    documents = histories.documents(file, judged)
    return [
        PageEntry(stem, document["title"], document["verdict"]["sentence"], partial(dict, document)) for stem, document in documents.items()
    ]


def of_validation(report: Path) -> list[PageEntry]:
    """Return the pages of the histories of a validation's findings. Raises InputError."""
    return [
        PageEntry(Path(finding.history).stem, finding.title, finding.program, _finding(finding)) for finding in findings.of_report(report)
    ]


def _finding(finding: findings.SavedFinding) -> Callable[[], Mapping[str, Any]]:
    return lambda: findings.opened(finding, lambda _: None).document()


def write(folder: Path, entries: Sequence[PageEntry]) -> list[Listed]:
    """Write the pages and return their list entries.

    A page that cannot be built is listed with the reason. Ctrl-C skips the rest. Raises InputError.
    """
    listed: list[Listed] = []
    used: set[str] = set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with counting("page") as report:
            for number, entry in enumerate(entries, 1):
                interrupts.stop_if_interrupted()  # while results are written, a signal raises no exception
                report(number, len(entries))
                name = next(n for n in chain([f"{entry.stem}.html"], (f"{entry.stem}-{k}.html" for k in count(2))) if n not in used)
                used.add(name)
                try:
                    page.write(folder / name, {**entry.make(), "run": True})
                except RocketproofError as error:
                    listed.append(Listed("", entry.title, str(error)))
                else:
                    listed.append(Listed(f"{folder.name}/{name}", entry.title, entry.remark))
    except KeyboardInterrupt:
        interrupts.heard()
    except OSError as error:
        raise InputError(f"--html {folder.parent} cannot be written ({error.strerror}); give a folder of your own") from None
    return listed


__all__ = ["PageEntry", "of_judgement", "of_run", "of_validation", "write"]
