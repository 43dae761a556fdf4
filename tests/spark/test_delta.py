"""Result tables in Delta: the command of the page adds two runs, and its script reads them with deltalake and DuckDB.

No Delta is built for the PySpark of this environment, so the test installs an older one in an environment of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from written_store import Sent, write_store

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "properties" / "docs" / "tables.md").read_text("utf-8").partition("### Delta")[2].partition("\n## ")[0]
INSTALLED = ("pyspark==4.2.0", "deltalake==1.6.6", f"duckdb=={metadata.version('duckdb')}")
WAIT = 1800  # seconds; a limit for what hangs, also on a loaded machine

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of an environment with this project, and a PySpark that Delta is built for."""
    home = tmp_path_factory.mktemp("delta")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
    install = [*uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python")]
    subprocess.run([*install, "--editable", f"{ROOT}[spark]", *INSTALLED], cwd=home, check=True)  # not in the project, which pins PySpark
    return home / "bin"


def block(language: str) -> str:
    """Return the only block of a language in the page's section."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def test_runs_in_delta_are_read_by_another_engine(programs: Path, tmp_path: Path) -> None:
    write_store(tmp_path / "store", [Sent(f"T{n % 3}", n % 9) for n in range(40)], 1 << 12)
    script = f"PATH={programs}:$PATH\n{block('bash')}"
    for _ in range(2):
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=WAIT)
        assert done.returncode == 1, done.stderr
    queries = """
print("runs", duckdb.sql("SELECT count(DISTINCT runId), min(exitCode), max(exitCode) FROM runs").fetchone())
joined = duckdb.sql("SELECT * FROM metrics SEMI JOIN runs USING (runId)")
print("rules", duckdb.sql("SELECT count(DISTINCT rule), count(*), count_if(violated > 0) > 0 FROM joined").fetchone())
"""
    read = [programs / "python", "-c", block("python") + queries]
    done = subprocess.run(read, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    *printed, runs, rules = done.stdout.splitlines()
    assert runs == "runs (2, 1, 1)" and "exitCode" in "".join(printed)
    found = re.fullmatch(r"rules \(([0-9]+), ([0-9]+), (\w+)\)", rules)
    assert found is not None, rules
    count, rows, broken = found.groups()
    assert int(rows) == 2 * int(count) > 0 and broken == "True"
