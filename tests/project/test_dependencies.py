"""The tests that a newcomer runs import what the group `test` installs, and nothing that only developers have."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
ELSEWHERE = {ROOT / "tests" / name for name in ("long", "real", "spark")}
"""Tests that are only collected if their folder is named, and that need Java, Go or a browser."""


def imports(path: Path) -> Iterator[str]:
    """Yield the packages that a module imports when it is loaded."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def name_of(requirement: str) -> str:
    """Return the normal form of the distribution's name in a requirement."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[._-]+", "-", found[0]).lower()


def installed_with(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that these requirements install, with theirs; those of an extra are left out."""
    left, found = [name_of(each) for each in requirements], set[str]()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            with suppress(PackageNotFoundError):  # for another system
                left += [name_of(each) for each in requires(name) or () if "extra ==" not in each]
    return found


def test_default_tests_import_only_what_their_group_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    given = installed_with([*project["project"]["dependencies"], *project["dependency-groups"]["test"]])
    tests = [path for path in (ROOT / "tests").rglob("*.py") if ELSEWHERE.isdisjoint(path.parents)]
    own = {path.stem for folder in ("tests", "model/examples", "properties/bench") for path in (ROOT / folder).rglob("*.py")}
    own |= {path.parent.name for path in ROOT.glob("*/*/__init__.py")}
    of_import = packages_distributions()
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in tests
        for name in imports(path)
        if name not in sys.stdlib_module_names and name not in own and given.isdisjoint(map(name_of, of_import.get(name, ())))
    }
    assert len(tests) > 400 and missing == set()
