"""A cluster whose workers have no rocketproof, no numba and nothing of the driver's environment: the code is sent to them."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from many_histories import history, write
from standalone import bare_python, cluster, command
from written_store import Sent, write_store

RULE = """
from rocketproof.rules import rule

@rule("SHOP-1", "no message is of T2")
def other(record):
    return record.topic != "T2"
"""


@dataclass(frozen=True)
class Bare:
    """A running cluster, and the Python of its workers."""

    url: str
    python: Path


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    folder = tmp_path_factory.mktemp("bare")
    with cluster(folder) as (url, _):
        yield Bare(url, bare_python(folder / "python"))


@pytest.mark.parametrize(
    ("given", "codes", "local"),
    [
        (["audit", "store", "--rules", "rules.py"], (1,), "local"),
        (["judge", "runs", "--profile", "P49", "--out", "out"], (1,), "local"),
        (["campaign", "--programs", "20", "--seed", "7", "--out", "out"], (0, 1), "local"),
        (["check", "--scope", "answers", "--property", "INV-01"], (0,), "explicit"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_workers_run_code_of_driver(bare: Bare, tmp_path: Path, given: list[str], codes: tuple[int, ...], local: str) -> None:
    write_store(tmp_path / "store", [Sent(f"T{n % 3}", n % 9) for n in range(40)], 1 << 12)
    (tmp_path / "rules.py").write_text(RULE)
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "wrong.ndjson", *history(sends=3, wrong="T1"))
    found = []
    for engine in (["spark", "--master", bare.url], [local]):
        done = command(tmp_path, *given, "--engine", *engine, "--json", "found.json", PYSPARK_PYTHON=str(bare.python))
        assert done.returncode in codes, done.stdout + done.stderr
        data = json.loads((tmp_path / "found.json").read_text())
        if given[0] == "check":
            data = [(row["verdict"], row["states"], row["transitions"]) for row in data]
        found.append((done.returncode, data))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert found[0] == found[1]
    assert found[0][1] or given[0] == "campaign"
    if "--rules" in given:
        assert any(row["property"] == "SHOP-1" for row in found[0][1])


def refused(bare: Bare, folder: Path, python: str, *more: str) -> str:
    """Return the only line of an audit that is refused."""
    write_store(folder / "store", [Sent("T")], 1 << 12)
    done = command(folder, "audit", "store", "--master", bare.url, *more, PYSPARK_PYTHON=python)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


def test_missing_python_is_one_line(bare: Bare, tmp_path: Path) -> None:
    said = refused(bare, tmp_path, "/opt/nowhere/python")
    assert said.startswith("rocketproof: Spark's workers: have no Python at /opt/nowhere/python; set PYSPARK_PYTHON to a Python 3.")


def test_other_python_version_is_one_line(bare: Bare, tmp_path: Path) -> None:
    other = next((found for name in ("python3.12", "python3.13", "python3.14") if (found := working(name))), None)
    if other is None:
        pytest.skip("needs another Python")
    assert "run Python 3.1" in (said := refused(bare, tmp_path, other))
    assert "and this process runs" in said


def working(name: str) -> str | None:
    """Return the interpreter's path if it starts."""
    path = shutil.which(name)
    found = path and subprocess.run([path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found and found.returncode == 0 else None


def test_old_dependency_is_one_line(bare: Bare, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "old", ("pyspark", "py4j", "pyarrow"))
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    (site / "numpy-1.26.0.dist-info").mkdir()
    (site / "numpy-1.26.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.0\n")
    said = refused(bare, tmp_path, str(python))
    assert "has numpy 1.26.0, and numpy>=2.0 is needed; install it there, or give the workers a packed environment" in said


def test_packed_environment_runs_tasks(bare: Bare, tmp_path: Path) -> None:
    """The archive holds links, as the virtual environment does."""
    archive = tmp_path / "environment.tar.gz"
    subprocess.run(["tar", "-czf", str(archive), "-C", str(bare.python.parents[1]), "."], check=True)
    write_store(tmp_path / "store", [Sent("T")], 1 << 12)
    done = command(tmp_path, "audit", "store", "--master", bare.url, "--environment", archive.name, PYSPARK_PYTHON="/opt/nowhere/python")
    assert done.returncode == 1, done.stderr
    assert "1 record of" in done.stdout or "1 records" in done.stdout
