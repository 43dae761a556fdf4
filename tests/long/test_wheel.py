"""The wheel without the clone: each command works in an empty folder, or names in one line what it lacks."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from counter import COUNTER
from rocketproof_properties.commands.pages import SECTIONS
from rocketproof_properties.commands.program import app

pytestmark = pytest.mark.slow  # .ci/run runs it, not only .ci/nightly

ROOT = Path(__file__).resolve().parents[2]
WITNESS = ".rocketproof/witnesses/few-few.itf.json"
CALLS = {
    "check few.py --json verdicts.json": 1,
    f"show {WITNESS}": 0,
    f"explain {WITNESS} --step 2": 0,
    f"picture {WITNESS} --output few.svg": 0,
    f"diff {WITNESS} {WITNESS}": 0,
    f"to-test {WITNESS}": 0,
    f"explore {WITNESS} --html few.html": 0,
    "graph few.py --output few.dot": 0,
    "export tla few.py": 0,
    "hazard HAZ-03": 0,
    "docs": 0,
    "docs porting": 0,
    "certificate nothing.json": 2,
    "requirements CHK-10": 2,
    "requirements": 2,
    "mutate M-24": 2,
    "bench search": 2,
    f"replay {WITNESS}": 2,
    "judge cases.jsonl --profile P494": 0,
    "test --recording cases.jsonl --profile P494": 0,
    "validate --target inprocess --programs 2 --no-witnesses --report v": 0,
    "level --target inprocess --up-to 1": 0,
    "compare nothing nothing": 2,
    "audit nothing --engine local": 2,
    "campaign --programs 0": 2,
    "serve --profile P00": 2,
    "zoo": 0,
    "profile nothing": 2,
    "list hazards": 0,
    "promises": 0,
    "mcp --folder nothing": 2,
    "init model": 0,
    "run nothing.py": 2,
    "bisect nothing.py": 2,
}
"""A cheap call of each command, with its exit code."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run([ROOT / ".ci" / "wheel", folder], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel.

    It uses the dependencies of the current environment, but not its clone.
    """
    home = tmp_path_factory.mktemp("installed")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--offline", "--python", sys.executable, str(home)], check=True)
    found = home / "bin" / "python"
    subprocess.run([*uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(found), str(wheel)], check=True)
    inside = next(home.glob("lib/*/site-packages"))
    (inside / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # *.pth files in it are not read
    return found


def call(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False)


def test_commands_work_in_an_empty_folder_or_name_the_lack(python: Path, tmp_path: Path) -> None:
    place = call(python, tmp_path, "-c", "import rocketproof; print(rocketproof.__file__)").stdout
    assert str(ROOT) not in place and "site-packages" in place
    names = {name for name in app if not name.startswith("-")}
    assert names == {tokens.split()[0] for tokens in CALLS} | {"test"}
    (tmp_path / "few.py").write_text(COUNTER)
    cases = (ROOT / "tests" / "data" / "rocketmq-4.9.4.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "cases.jsonl").write_text("".join(cases[:3]))
    wrong = []
    for tokens, code in CALLS.items():
        done = call(python, tmp_path, "-m", "rocketproof_properties.commands", *tokens.split())
        lines = [line for line in done.stderr.splitlines() if line.startswith("rocketproof: ")]
        if done.returncode != code or "Traceback" in done.stderr or (code == 2 and len(lines) != 1):
            wrong.append(f"$ rocketproof {tokens}: {done.returncode}\n{done.stdout[-800:]}\n{done.stderr[-1500:]}")
    assert not wrong, "\n\n".join(wrong)
    assert json.loads((tmp_path / "verdicts.json").read_text("utf-8"))[0]["verdict"] == "violated"


def test_every_command_has_help(python: Path, tmp_path: Path) -> None:
    names = sorted(name for name in app if not name.startswith("-"))
    script = f"from rocketproof_properties.commands import run\nfor name in {names!r}:\n    assert run([name, '--help']) == 0, name\n"
    done = call(python, tmp_path, "-c", script)
    assert done.returncode == 0, done.stderr
    assert all(f"rocketproof {name}" in done.stdout for name in names)


def test_the_site_is_installed(python: Path, tmp_path: Path) -> None:
    first = Path(call(python, tmp_path, "-m", "rocketproof_properties.commands", "docs", "--path").stdout.strip())
    assert first.name == "index.html" and first.is_file()
    assert (first.parent / "properties" / "docs" / "porting.html").is_file()


def test_the_wheel_has_the_documentation_and_is_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    pages = {path for paths in SECTIONS.values() for path in paths}
    assert {f"rocketproof_properties/documents/{path}" for path in pages} <= set(names)
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name]
    assert wheel.stat().st_size < 5_000_000
