"""The HTML page of a run: one self-contained file in a folder, next to the witnesses of unexpected results.

Verdicts are folded by theme and property; those with an unexpected verdict are open.

The page loads nothing: its style and script are inside, and its policy allows no others. Results are inserted as text, never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import quote

from jinja2 import BaseLoader, Environment, StrictUndefined, Template

from rocketproof_protocol.shown import printable

from . import files as store
from .choices import InputError
from .markdown import closing, grouped
from .output import counted
from .results import OUTCOMES, WORDS, Listed, Outcome, Result, Run
from .since import Changes

INDEX: Final = "index.html"
WITNESSES: Final = "witnesses"
ThemeOf = Callable[[str, str], str]
"""Returns the theme of the property with an id and a sentence, empty if it belongs to none."""
FEW: Final = 12
"""The number of results up to which no property is folded."""


def no_theme(_: str, __: str) -> str:
    """Return that a property belongs to no theme."""
    return ""


def write(
    run: Run,
    folder: Path,
    changes: Changes | None = None,
    listed: Sequence[Listed] = (),
    option: str = "--html ",
    theme_of: ThemeOf = no_theme,
) -> Path:
    """Write the page and copies of the witnesses that it links, and return the page's path.

    `listed` are the explorer's pages in the folder. Properties are grouped by `theme_of`. Raises InputError if a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        links = _copied(run, folder)
    except OSError as error:
        raise InputError(f"{option}{folder} cannot be written ({error.strerror}); give a folder of your own") from None
    linked = {path for witness_links in links.values() for _, path in witness_links}
    more = [replace(entry, path=quote(entry.path)) for entry in listed if quote(entry.path) not in linked]
    store.replace_text(folder / INDEX, html(run, changes, links, more, theme_of), option)
    return folder / INDEX


def stem_of(witness: str) -> str:
    """Return a witness file's name without its suffixes."""
    name = Path(witness).name
    return name.removesuffix(".itf.json") if name.endswith(".itf.json") else Path(name).stem


def _copied(run: Run, folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the links of each witness: its page if the folder has one, and a copy of its file if the result needs attention."""
    links: dict[str, list[tuple[str, str]]] = {}
    bad = {result.witness for result in run.attention}
    histories = {file: result.properties.get("history", "") for result in run.results if (file := _shown_by(result))}
    for witness, history in histories.items():
        name = Path(witness).name
        stems = (name, Path(name).stem, stem_of(name), *([Path(history).stem] if history else []))
        pages = [f"{place}{stem}.html" for place in (f"{WITNESSES}/", "") for stem in stems]
        targets = [page for page in pages if (folder / page).is_file()][:1]
        if witness in bad and Path(witness).is_file():
            copy = folder / WITNESSES / name
            copy.parent.mkdir(exist_ok=True)
            if not (copy.exists() and copy.samefile(witness)):
                shutil.copyfile(witness, copy)
            targets.append(f"{WITNESSES}/{name}")
        if targets:
            links[witness] = [(_link_text(target, bool(history) or is_history(witness)), quote(target)) for target in targets]
    return links


def is_history(file: str) -> bool:
    """Return whether a file has the name of a history."""
    return any(part in (".ndjson", ".jsonl") for part in Path(file).suffixes)


def _shown_by(result: Result) -> str:
    """Return the file that shows a result: its witness, or the history that was judged."""
    if result.witness or result.place is None:
        return result.witness
    return result.place.file if is_history(result.place.file) else ""


def _link_text(target: str, of_history: bool) -> str:
    """Return what a link opens, in words."""
    if target.endswith(".html"):
        return "open the history" if of_history else "walk through the trace"
    return f"file {Path(target).name}"


@cache
def _template() -> Template:
    environment = Environment(loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.finalize = lambda value: printable(value) if type(value) is str else value
    return environment.from_string(_part("page.html.j2"))


def _part(name: str) -> str:
    return files("rocketproof_properties.reports").joinpath(name).read_text("utf-8")


def html(
    run: Run,
    changes: Changes | None = None,
    links: dict[str, list[tuple[str, str]]] | None = None,
    more: Sequence[Listed] = (),
    theme_of: ThemeOf = no_theme,
) -> str:
    """Return the page as text. `links` are the links of witnesses, `more` the pages that belong to no single result."""
    return _template().render(
        run=run,
        closing=closing(run),
        style=_Inside(_part("page.css")),
        script=_Inside(_part("page.js")),
        words=WORDS,
        outcomes=[(outcome, WORDS[outcome], number) for outcome in OUTCOMES if (number := run.count(outcome))],
        groups=grouped(run.attention),
        themes=_themes(run.results, theme_of),
        links_of=lambda result: (links or {}).get(_shown_by(result), []),
        more=more,
        changes=changes,
        unlike=_unlike(changes),
        properties=counted(len({result.id for result in run.results}), "property", "properties"),
        counted=counted,
    )


@dataclass(frozen=True)
class PropertyRows:
    """The results of one property, each with the text that the filter searches; `open` if one is unexpected."""

    id: str
    sentence: str
    rows: tuple[tuple[Result, str], ...]
    open: bool

    @property
    def counts(self) -> str:
        return _counts([result for result, _ in self.rows])


@dataclass(frozen=True)
class ThemeRows:
    """The properties of a theme; the name is empty if the run has properties of no theme."""

    name: str
    properties: tuple[PropertyRows, ...]

    @property
    def open(self) -> bool:
        return any(each.open for each in self.properties)

    @property
    def counts(self) -> str:
        return _counts([result for each in self.properties for result, _ in each.rows])


def _themes(results: Sequence[Result], theme_of: ThemeOf) -> list[ThemeRows]:
    """Group results by theme and property, in the order of the results. With few results all are open."""
    by_theme: dict[str, dict[tuple[str, str], list[Result]]] = {}
    for result in results:
        properties = by_theme.setdefault(theme_of(result.id, result.sentence), {})
        properties.setdefault((result.id, result.sentence), []).append(result)
    few = len(results) <= FEW
    return [
        ThemeRows(
            name,
            tuple(
                PropertyRows(
                    id_,
                    sentence,
                    tuple((each, _searched(each)) for each in sorted(rows, key=lambda each: OUTCOMES.index(each.outcome))),
                    few or any(map(_is_unexpected, rows)),
                )
                for (id_, sentence), rows in sorted(properties.items(), key=lambda group: not any(map(_is_unexpected, group[1])))
            ),
        )
        for name, properties in by_theme.items()
    ]


def _is_unexpected(result: Result) -> bool:
    return result.outcome in ("error", "differs")


def _counts(results: Sequence[Result]) -> str:
    """Return `1 not as expected, 12 as expected`."""
    numbers: dict[Outcome, int] = {outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES}
    return ", ".join(f"{number} {WORDS[outcome]}" for outcome, number in numbers.items() if number)


class _Inside:
    """A style or a script inside the page, with the digest by which the page's policy allows it."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self.digest = base64.b64encode(hashlib.sha256(self._text.encode("utf-8")).digest()).decode("ascii")

    def __html__(self) -> str:
        return self._text


def _searched(result: Result) -> str:
    """Return the text in which the filter searches."""
    case = (
        result.id,
        result.sentence,
        result.about,
        result.profile,
        result.condition,
        result.engine,
        result.scope,
        result.verdict,
        result.expected,
        result.message,
    )
    return " ".join(part for part in (*case, WORDS[result.outcome]) if part).lower()


def _unlike(changes: Changes | None) -> dict[tuple[str, ...], str]:
    """Return, by a result's key, the remark that it is new or that its verdict changed."""
    if changes is None:
        return {}
    words = dict.fromkeys(changes.added, "new")
    for pair in changes.flipped.values():
        before = pair.before
        words[pair.now.key] = f"was {WORDS[before.outcome] if before.verdict == pair.now.verdict else before.verdict}"
    return words
