"""The pages of the documentation, by audience, for the site and for `rocketproof docs`. They are found in a clone and in a wheel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..reports.choices import InputError, known

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Begin": ("README.md",),
    "To understand": ("traces/docs/counterexamples.md", "model/docs/specification.md", "model/docs/glossary.md", "traces/docs/explorer.md"),
    "To run in CI": ("properties/docs/suite.md", "properties/docs/ci.md", "properties/docs/imperfect-targets.md"),
    "To port a broker": (
        "properties/docs/porting.md",
        "properties/README.md",
        "properties/docs/reach.md",
        "properties/docs/faults.md",
        "properties/docs/zoo.md",
        "properties/docs/clients.md",
        "properties/docs/profiles.md",
        "properties/docs/releases.md",
        "properties/docs/changes.md",
        "properties/docs/validated/other-releases.md",
        "properties/docs/validated/rocketmq-rust.md",
        "properties/docs/validated/alibaba-3.md",
    ),
    "To write a model": (
        "model/docs/tutorial.md",
        "model/docs/language.md",
        "properties/docs/api.md",
        "model/docs/columns.md",
        "model/README.md",
    ),
    "To run at scale": ("traces/docs/audit.md", "properties/docs/campaign.md", "traces/docs/judge.md", "traces/docs/spark.md"),
    "Reference": (
        *(
            "properties/docs/installation.md",
            "properties/docs/schemas.md",
            "properties/docs/mutants.md",
            "model/docs/reductions.md",
            "traces/docs/history.md",
            "traces/docs/stored.md",
            "traces/README.md",
            "impl/README.md",
        ),
        *("properties/docs/architecture.md", "CONTRIBUTING.md", "tests/README.md", "properties/bench/README.md"),
    ),
}
"""The pages, by path in a clone. The wheel has the same paths, so that their links work."""
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
    """Return the page of that name. Raises InputError with suggestions if there is none."""
    known_pages = pages()
    return known_pages[known("page", name.lower(), known_pages)]


__all__ = ["ASSETS", "SECTIONS", "InputError", "folder", "page", "pages", "site", "title"]
