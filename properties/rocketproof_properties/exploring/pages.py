"""Pages of the explorer in a folder, with an index that lists them: what `--html DIR` of check, judge and validate writes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import BaseLoader, Environment, StrictUndefined

from rocketproof_model import RocketproofError
from rocketproof_traces.checker.histories import Verdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.explorer import page
from rocketproof_traces.files import replace_text

from ..checks.rows import Row
from ..choices import InputError
from ..output import counted, counting, tell
from . import findings, histories, traces
from .openings import WITNESS

INDEX: Final = "index.html"
_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
li { margin: .4rem 0 }
small { opacity: .75 }
"""
_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{{ hash }}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<h1>{{ title }}</h1>
<ul>
{% for one in listed %}
<li><a href="{{ one.href }}">{{ one.title }}</a> <small>{{ one.said }}</small></li>
{% endfor %}
</ul>
</body>
</html>
"""


@dataclass(frozen=True)
class Entry:
    """A page to write: the stem of its file, what it is called, a few words beside, and what makes its document."""

    stem: str
    title: str
    said: str
    make: Callable[[], Mapping[str, Any]]


def of_check(folder: Path, rows: Iterable[Row]) -> None:
    """The pages of the witnesses that a check has kept. Raises InputError if the folder cannot be written."""
    entries = []
    for row in rows:
        if row.witness is not None and row.witness.endswith(WITNESS):
            said = ", ".join(part for part in (row.profile, row.condition, row.scope, counted(row.length or 0, "step")) if part)
            title = f"{row.id} {row.verdict}: {row.sentence}"
            entries.append(Entry(Path(row.witness).name.removesuffix(WITNESS), title, said, _witness(row.witness)))
    write(folder, "Counterexamples and examples", entries)


def _witness(path: str) -> Callable[[], Mapping[str, Any]]:
    return lambda: traces.of_file(path).document()


def of_judgement(folder: Path, file: Path, found: Verdict | Judgement) -> None:
    """The page of a judged history, or of each `cfg` of a recording. Raises InputError."""
    made = histories.documents(file, found)
    entries = [Entry(stem, one["title"], one["verdict"]["sentence"], partial(dict, one)) for stem, one in made.items()]
    write(folder, f"What the specification says of {file.name}", entries)


def of_validation(folder: Path, report: Path) -> None:
    """The pages of the histories of a validation's findings. Raises InputError."""
    entries = [Entry(Path(one.history).stem, one.title, one.program, _finding(one)) for one in findings.of_report(report)]
    write(folder, "Findings of a validation", entries)


def _finding(kept: findings.Kept) -> Callable[[], Mapping[str, Any]]:
    return lambda: findings.opened(kept, lambda _: None).document()


def write(folder: Path, title: str, entries: Sequence[Entry]) -> None:
    """Write the pages and their index. What cannot be shown is in the index with the reason. Raises InputError."""
    listed: list[dict[str, str]] = []
    used: set[str] = {INDEX}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with counting("page") as report:
            for number, entry in enumerate(entries, 1):
                report(number, len(entries))
                name = next(n for n in chain([f"{entry.stem}.html"], (f"{entry.stem}-{k}.html" for k in count(2))) if n not in used)
                used.add(name)
                row = {"href": quote(name), "title": entry.title, "said": entry.said}
                try:
                    document = entry.make()
                except RocketproofError as error:
                    listed.append({**row, "href": "#", "said": str(error)})
                    continue
                page.write(folder / name, document)
                listed.append(row)
        replace_text(folder / INDEX, index(title, listed))
    except OSError as error:
        raise InputError(f"--html {folder} cannot be written ({error.strerror}); give a folder of your own") from None
    tell(f"{counted(len(entries), 'page')} in {folder}: open {folder / INDEX} in a browser")


def index(title: str, listed: Sequence[Mapping[str, str]]) -> str:
    """The page that lists others; texts are text."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    environment = Environment(loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    found = environment.from_string(_TEMPLATE)
    return found.render(title=title, listed=listed, hash=f"sha256-{digest}", style=_STYLE)


__all__ = ["Entry", "index", "of_check", "of_judgement", "of_validation", "write"]
