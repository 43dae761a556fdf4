"""The rooms import each other in one direction only: the contracts under [tool.importlinter] hold, and they can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

HOUSE = Path(__file__).resolve().parents[2]
ROOMS = ("model", "impl", "traces", "properties")

VIOLATIONS = [
    ("model/rocketproof_model", "rocketproof_traces"),
    ("model/rocketproof_model", "rocketproof_properties"),
    ("model/rocketproof_model", "rocketproof_impl"),
    ("impl/rocketproof_impl", "rocketproof_model"),
    ("impl/rocketproof_impl", "rocketproof_traces"),
    ("impl/rocketproof_impl", "rocketproof_properties"),
    ("traces/rocketproof_traces", "rocketproof_impl"),
    ("traces/rocketproof_traces", "rocketproof_properties"),
    ("properties/rocketproof_properties", "rocketproof_bench"),
    ("model/rocketproof_profiles", "rocketproof_model"),
    ("model/rocketproof_protocol", "rocketproof_profiles"),
    ("model/rocketproof_profiles", "rocketproof_impl"),
]


def lint(house: Path) -> subprocess.CompletedProcess[str]:
    """Judge the packages in the rooms of `house` by the contracts in its pyproject.toml."""
    paths = os.pathsep.join(str(house / room) for room in ROOMS)
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--no-logo"],
        cwd=house, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter prints of a copy of the packages with every import of VIOLATIONS.

    Each is in a new module, one level down and in a function, so that no name of today's files matters.
    """
    house = tmp_path_factory.mktemp("house")
    shutil.copy(HOUSE / "pyproject.toml", house)
    for room in ROOMS:
        for package in (HOUSE / room).glob("rocketproof_*"):
            shutil.copytree(package, house / room / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    for package, imported in VIOLATIONS:
        below = house / package / "below"
        below.mkdir(exist_ok=True)
        (below / "__init__.py").touch()
        (below / f"imports_{imported}.py").write_text(f"def late():\n    import {imported}\n    return {imported}\n")
    found = lint(house)
    assert found.returncode == 1, found.stdout + found.stderr
    return found.stdout.replace("\n", "")


def test_the_rooms_follow_the_arrows() -> None:
    found = lint(HOUSE)
    assert found.returncode == 0, f"an import goes against the arrows (`lint-imports` shows it):\n{found.stdout}{found.stderr}"


@pytest.mark.parametrize(("package", "imported"), VIOLATIONS)
def test_an_import_against_the_arrows_is_found(spoilt: str, package: str, imported: str) -> None:
    importer = Path(package).name
    line = f"{importer}.below.imports_{imported} -> {imported}"
    assert line in spoilt, f"{importer} imports {imported}, and the contracts let it pass:\n{spoilt}"


def test_profiles_and_protocol_need_nothing_but_python() -> None:
    shared = ("rocketproof_profiles", "rocketproof_protocol")
    graph = grimp.build_graph(*shared, include_external_packages=True, cache_dir=None)
    own = {module for module in graph.modules if module.split(".")[0] in shared}
    needed = set().union(*(graph.find_modules_directly_imported_by(module) for module in own)) - own
    foreign = {module for module in needed if module.split(".")[0] not in sys.stdlib_module_names}
    assert not foreign, f"{shared} import {sorted(foreign)}, but model and impl share them as plain data"
