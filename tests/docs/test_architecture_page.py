"""The architecture page and the recipes of CONTRIBUTING.md name existing files."""

import re
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_lab.architecture import diagram, imports

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "properties/docs/architecture.md"


def test_the_diagram_shows_the_imports() -> None:
    assert f"```mermaid\n{diagram(imports())}\n```" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("page", [PAGE, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_named_file_exists(page: Path) -> None:
    """The reader replaces THEME and NAME by a file name."""
    roots = (ROOT, ROOT / "properties/rocketproof_properties", ROOT / "properties/rocketproof_lab")
    for name in nonempty(re.findall(r"`([a-z_]+/[\w./]+)`", page.read_text("utf-8"))):
        known = any((root / name).exists() for root in roots) or name.startswith(("drivers/", "broker/", "history/", "checker/"))
        assert re.search("THEME|NAME", name) or known, f"{page.name} names {name}, which does not exist"


def test_the_page_names_every_package() -> None:
    named = set(re.findall(r"^\| `(\w+)`", PAGE.read_text("utf-8"), re.MULTILINE))
    assert set(imports().nodes) - {"pytest_plugin"} <= named
