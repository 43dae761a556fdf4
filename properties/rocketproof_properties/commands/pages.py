"""The pages of the documentation by audience, for `rocketproof docs`, the index page and the site. A clone and a wheel have them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..reports.choices import InputError, known

TUTORIAL, GUIDE, REFERENCE, EXPLANATION, RESULTS = KINDS = ("tutorial", "how-to", "reference", "explanation", "results")
"""The kinds of pages: learn by doing, reach a goal, look up, understand, and dated measurements."""

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Everyone": {
        "README.md": TUTORIAL,
        "properties/docs/index.md": REFERENCE,
        "properties/docs/installation.md": REFERENCE,
        "properties/docs/commands.md": REFERENCE,
        "model/docs/glossary.md": REFERENCE,
    },
    "You run RocketMQ and want to understand its surprises": {
        "traces/docs/counterexamples.md": TUTORIAL,
        "traces/docs/explorer.md": GUIDE,
        "model/docs/specification.md": EXPLANATION,
    },
    "You test an application that uses RocketMQ": {
        "properties/docs/application-tests.md": GUIDE,
    },
    "You let an agent work on RocketMQ": {
        "properties/docs/mcp.md": GUIDE,
    },
    "You run tests in CI": {
        "properties/docs/suite.md": TUTORIAL,
        "properties/docs/ci.md": GUIDE,
        "properties/docs/suite-gaps.md": REFERENCE,
    },
    "You write, port or change a broker": {
        "properties/docs/porting.md": TUTORIAL,
        "properties/docs/validate.md": GUIDE,
        "properties/docs/targets.md": REFERENCE,
        "properties/docs/requests.md": REFERENCE,
        "properties/docs/programs.md": EXPLANATION,
        "properties/docs/imperfect-targets.md": EXPLANATION,
        "properties/docs/faults.md": GUIDE,
        "properties/docs/releases.md": GUIDE,
        "properties/docs/profiles.md": REFERENCE,
        "properties/docs/known-bugs.md": GUIDE,
        "properties/docs/promises.md": REFERENCE,
    },
    "You have a bug report": {
        "properties/docs/run.md": GUIDE,
    },
    "You have stores or histories": {
        "traces/docs/audit.md": GUIDE,
        "traces/docs/audit-rules.md": REFERENCE,
        "traces/docs/own-rules.md": GUIDE,
        "properties/docs/tables.md": GUIDE,
        "traces/docs/judge.md": GUIDE,
        "traces/docs/judged.md": REFERENCE,
        "traces/docs/spark.md": GUIDE,
        "traces/docs/follow.md": GUIDE,
        "traces/docs/frames.md": GUIDE,
        "traces/docs/clusters.md": GUIDE,
        "properties/docs/campaign.md": GUIDE,
    },
    "You write a model": {
        "model/docs/tutorial.md": TUTORIAL,
        "model/docs/language.md": REFERENCE,
        "model/docs/expressions.md": REFERENCE,
        "model/docs/proofs.md": GUIDE,
        "model/docs/reductions.md": EXPLANATION,
        "model/docs/columns.md": GUIDE,
        "properties/docs/api.md": REFERENCE,
    },
    "You read files by a program": {
        "properties/docs/schemas.md": REFERENCE,
        "traces/docs/history.md": REFERENCE,
        "traces/docs/stored.md": REFERENCE,
        "traces/docs/explorer-documents.md": REFERENCE,
        "model/docs/portable-models.md": REFERENCE,
    },
    "You change rocketproof": {
        "CONTRIBUTING.md": GUIDE,
        "properties/docs/architecture.md": EXPLANATION,
        "model/README.md": REFERENCE,
        "impl/README.md": REFERENCE,
        "traces/README.md": REFERENCE,
        "tests/README.md": GUIDE,
        "properties/bench/README.md": GUIDE,
    },
    "Results": {
        "properties/docs/results/bug-reports.md": RESULTS,
        "properties/docs/results/release-changes.md": RESULTS,
        "properties/docs/results/release-validations.md": RESULTS,
        "properties/docs/results/known-bugs-found.md": RESULTS,
        "properties/docs/results/faults-found.md": RESULTS,
        "properties/docs/results/durability.md": RESULTS,
        "properties/docs/results/sent.md": RESULTS,
        "properties/docs/results/program-coverage.md": RESULTS,
        "properties/docs/results/transition-coverage.md": RESULTS,
        "properties/docs/results/store-audits.md": RESULTS,
        "properties/docs/results/producers.md": RESULTS,
        "properties/docs/results/client-tests.md": RESULTS,
        "properties/docs/results/rocketmq-rust.md": RESULTS,
        "properties/docs/results/alibaba-3.md": RESULTS,
        "properties/docs/results/mutants.md": RESULTS,
        "properties/docs/results/benchmarks.md": RESULTS,
        "properties/docs/results/test-costs.md": RESULTS,
    },
}
"""The pages by audience, by path in a clone, with their kind. The wheel has the same paths, so that their links work."""
INDEX: Final = "properties/docs/index.md"
"""The page that lists all others, generated from `SECTIONS`."""
ALIASES: Final[Mapping[str, str]] = {
    "zoo": "known-bugs",
    "changes": "release-changes",
    "other-releases": "release-validations",
    "reach": "programs",
    "clients": "producers",
    "properties": "validate",
}
"""Earlier names of pages."""
ASSETS: Final = (".svg", ".png", ".json")
"""Suffixes of files next to pages that belong to them."""


def folder() -> Path:
    """Return the folder of the pages: `documents` of the package in a wheel, the project's own folder in a clone."""
    inside = Path(__file__).parents[1] / "documents"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[3]


def site() -> Path | None:
    """Return the first page of the site, which a release's wheel has in the package's folder `site`; None in a clone."""
    first = Path(__file__).parents[1] / "site" / "index.html"
    return first if first.is_file() else None


def pages() -> dict[str, Path]:
    """Return the pages by the names that a user types, such as `porting` and `ci`.

    A README has the name of its folder, the project's README is `readme`.
    """
    return {_name(path): folder() / path for paths in SECTIONS.values() for path in paths}


def _name(path: str) -> str:
    parts = Path(path)
    return (parts.stem if parts.stem != "README" else parts.parent.name or "readme").lower()


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return next((line.removeprefix("# ") for line in page.read_text("utf-8").splitlines() if line.startswith("# ")), page.stem)


def page(name: str) -> Path:
    """Return the page of that name or earlier name. Raises InputError with suggestions if there is none."""
    known_pages = pages()
    short = ALIASES.get(name.lower(), name.lower())
    return known_pages[known("page", short, known_pages)]


def index() -> str:
    """Return the index page in Markdown: each audience with its pages and their kinds."""
    parts = [_INDEX_HEAD]
    for section, paths in SECTIONS.items():
        rows = (
            f"| [{title(folder() / path)}]({os.path.relpath(path, Path(INDEX).parent)}) | {kind} | `rocketproof docs {_name(path)}` |"
            for path, kind in paths.items()
            if path != INDEX
        )
        parts.append("\n".join((f"\n## {section}\n", "| page | kind | in the terminal |", "| --- | --- | --- |", *rows)) + "\n")
    return "".join(parts)


_INDEX_HEAD: Final = """# All pages

Find your situation, then the kind of page: a *tutorial* teaches by doing, a *how-to* reaches one goal, a *reference* is for looking up,
an *explanation* gives reasons. *Results* are dated measurements.
`python -m rocketproof_properties.commands.pages` prints this page, and a test compares it.
"""

__all__ = ["ALIASES", "ASSETS", "INDEX", "KINDS", "SECTIONS", "InputError", "folder", "index", "page", "pages", "site", "title"]


if __name__ == "__main__":
    import sys

    sys.stdout.write(index())
