"""Each room's README has a map in which every module and package of the room is found, and a package says what it is for."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("model", "impl", "traces", "properties")
MAPS = {"properties": "docs/architecture.md"}
"""The pages that map the packages of a folder, if they are not its README."""
PACKAGES = [file.parent for room in SOURCE_FOLDERS for file in sorted((ROOT / room).rglob("rocketproof*/**/__init__.py"))]

TOP: Final = {"model", "impl", "properties", "traces", "tests", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
              "AGENTS.md", "action.yml"}  # fmt: skip


def test_the_project_folder_has_nothing_else() -> None:
    """Tests and tools leave nothing there that could be committed."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"],
                            cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    if listed.returncode:
        pytest.skip("needs a git clone: otherwise nobody knows what git would ignore")
    names = {line.split("/")[0] for line in listed.stdout.splitlines() if (ROOT / line).exists()}
    assert {name for name in names if not name.startswith(".")} == TOP


@pytest.mark.parametrize("room", SOURCE_FOLDERS)
def test_the_map_of_a_room_has_all_that_is_in_it(room: str) -> None:
    map_page = MAPS.get(room, "README.md")
    text = (ROOT / room / map_page).read_text("utf-8")
    named = {part.removesuffix(".py") for span in re.findall(r"`([^`\n]+)`", text) for part in span.strip("/").split("/")}
    inside = [path for package in PACKAGES if package.parent == ROOT / room for path in package.iterdir()]
    modules = [path for path in inside if path.suffix == ".py" or path in PACKAGES]
    missing = sorted(str(path.relative_to(ROOT)) for path in modules if path.stem not in named and not path.stem.startswith("_"))
    assert not missing, f"{room}/{map_page} does not list {missing}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_a_package_says_what_it_is_for(package: Path) -> None:
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8")))


def test_names_of_test_files_are_unique() -> None:
    """Folders of tests are no packages, so that pytest collects no two modules of one name."""
    names = Counter(file.name for file in (ROOT / "tests").rglob("*.py") if file.name != "conftest.py")
    assert len(names) > 300
    assert {name for name, times in names.items() if times > 1} == set()
