"""Links of the documents have a target: a file of the project, and a heading in it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from session import ROOT

SKIPPED = {".venv", ".git", "node_modules", ".rocketproof", ".changes", "tests", ".cache"}


def documents() -> Iterator[Path]:
    """Return the pages without entering the skipped folders, which have thousands of files."""
    for folder, inside, files in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in SKIPPED]
        yield from (Path(folder, name) for name in files if name.endswith(".md"))


DOCUMENTS = sorted(documents())
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings on GitHub and on the site."""
    heads = re.findall(r"^#+ +(.*)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_have_targets(document: Path) -> None:
    broken = []
    for target in LINK.findall(CODE.sub("", document.read_text("utf-8"))):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_every_page_is_reachable_from_the_readme() -> None:
    """Reachable means by following links."""
    found, ahead = set(), [ROOT / "README.md"]
    while ahead:
        document = ahead.pop()
        if document in found:
            continue
        found.add(document)
        for target in LINK.findall(document.read_text("utf-8")):
            file = (document.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists():
                ahead.append(file)
    assert [str(one.relative_to(ROOT)) for one in DOCUMENTS if one not in found and one.parent.name in {"docs", "results"}] == []
