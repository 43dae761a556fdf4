"""Pages of the explorer of what a run found, which the run's page (`--html DIR`) lists: witnesses, histories, recordings."""

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
    """A page to write: the stem of its file, what it is called, a few words beside, and what makes its document."""

    stem: str
    title: str
    said: str
    make: Callable[[], Mapping[str, Any]]


def of_run(run: Run, most: int) -> list[PageEntry]:
    """Those of the witnesses of a run's results, what is not as expected first; no more than `most`."""
    entries: dict[str, PageEntry] = {}
    for one in (*run.attention, *run.results):
        if one.witness.endswith(WITNESS) and one.witness not in entries:
            said = ", ".join(part for part in (one.profile, one.condition, one.scope) if part)
            title = f"{one.id} {one.verdict}: {one.sentence}"
            entries[one.witness] = PageEntry(Path(one.witness).name.removesuffix(WITNESS), title, said, _witness(one.witness))
    return list(entries.values())[:most]


def _witness(path: str) -> Callable[[], Mapping[str, Any]]:
    return lambda: traces.of_file(path).document()


def of_judgement(file: Path, found: HistoryVerdict | Judgement) -> list[PageEntry]:
    """That of a judged history, or of each `cfg` of a recording. Raises RocketproofError for a file that cannot be read again."""
    made = histories.documents(file, found)
    return [PageEntry(stem, one["title"], one["verdict"]["sentence"], partial(dict, one)) for stem, one in made.items()]


def of_validation(report: Path) -> list[PageEntry]:
    """Those of the histories of a validation's findings. Raises InputError."""
    return [PageEntry(Path(one.history).stem, one.title, one.program, _finding(one)) for one in findings.of_report(report)]


def _finding(kept: findings.SavedFinding) -> Callable[[], Mapping[str, Any]]:
    return lambda: findings.opened(kept, lambda _: None).document()


def write(folder: Path, entries: Sequence[PageEntry]) -> list[Listed]:
    """Write the pages; where they stand. Of what cannot be shown there is the reason. Ctrl-C leaves out the rest. Raises InputError."""
    listed: list[Listed] = []
    used: set[str] = set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with counting("page") as report:
            for number, entry in enumerate(entries, 1):
                interrupts.stop_if_interrupted()  # while results are written no signal raises by itself
                report(number, len(entries))
                name = next(n for n in chain([f"{entry.stem}.html"], (f"{entry.stem}-{k}.html" for k in count(2))) if n not in used)
                used.add(name)
                try:
                    page.write(folder / name, entry.make())
                except RocketproofError as error:
                    listed.append(Listed("", entry.title, str(error)))
                else:
                    listed.append(Listed(f"{folder.name}/{name}", entry.title, entry.said))
    except KeyboardInterrupt:
        interrupts.heard()
    except OSError as error:
        raise InputError(f"--html {folder.parent} cannot be written ({error.strerror}); give a folder of your own") from None
    return listed


__all__ = ["PageEntry", "of_judgement", "of_run", "of_validation", "write"]
