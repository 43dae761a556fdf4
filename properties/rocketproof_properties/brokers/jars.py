"""The jars of a release of Apache RocketMQ: from ROCKETMQ_HOME if it has that release, otherwise fetched once by Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from rocketproof_profiles.releases import line_of

from .children import completed
from .deployment import TargetError

CACHE: Final = "ROCKETPROOF_CACHE"
HOME: Final = "ROCKETMQ_HOME"
SECONDS = 900.0
"""Timeout for Maven."""

_MISSING = re.compile(r"Could not find artifact|was not found in")
_SILENT = re.compile(r"Could not transfer artifact|Unknown host|Connect to .* failed|offline mode", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+[\w.-]*")


def known_version(version: str) -> str:
    """Return the version if it has the form of one. Raises TargetError."""
    if not _VERSION.fullmatch(version):
        raise TargetError(f"apache:{version} names no release; give one such as apache:4.9.4")
    return version


def java() -> str:
    """Return the command that runs Java. Raises TargetError if there is none."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if command is None:
        raise TargetError(
            "there is no java"
            + (" in JAVA_HOME" if home else "")
            + "; install Java 8 or later (4.9), 17 or later is fine for all, or set JAVA_HOME"
        )
    return command


def cache() -> Path:
    """Return the folder for files that are fetched or built once."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "rocketproof")


def folder(version: str) -> Path:
    """Return the folder with the jars of a release, fetched by Maven on first use. Raises TargetError."""
    home = os.environ.get(HOME)
    if home and (Path(home) / "lib" / f"rocketmq-broker-{version}.jar").is_file():
        return Path(home) / "lib"
    cached = cache() / "apache" / version
    if not (cached / "lib").is_dir():
        _fetch(version, cached)
    return cached / "lib"


def _fetch(version: str, cached: Path) -> None:
    """Let Maven copy the jars to a temporary folder, and move that into place when it is complete."""
    maven = shutil.which("mvn")
    if maven is None:
        raise TargetError(f"there is no mvn to fetch RocketMQ {version} with; install Maven or point {HOME} at an unpacked {version}")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as work:
            (Path(work) / "pom.xml").write_text(_pom(version), "utf-8")
            _run_maven(
                [
                    maven,
                    "-B",
                    "-q",
                    "-Dstyle.color=never",
                    "dependency:copy-dependencies",
                    "-DoutputDirectory=lib",
                    "-DincludeScope=runtime",
                ],
                work,
                version,
            )
            if not (cached / "lib").is_dir():  # another run may have been quicker
                cached.mkdir(exist_ok=True)
                (Path(work) / "lib").rename(cached / "lib")
    except OSError as problem:
        if (cached / "lib").is_dir():
            return
        raise TargetError(f"{cached} cannot be written ({problem.strerror}); set {CACHE} to another folder") from None


def _run_maven(command: list[str], work: str, version: str) -> None:
    try:
        done = completed(command, seconds=SECONDS, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"Maven did not fetch RocketMQ {version} in {SECONDS:g} s; try again or point {HOME} at an unpacked one"
        ) from None
    if done.returncode or not (Path(work) / "lib" / f"rocketmq-broker-{version}.jar").is_file():
        raise TargetError(_failed(version, done.stdout + done.stderr))


def _failed(version: str, output: str) -> str:
    """Return in one line why Maven failed. Maven's own output is long and names its own files."""
    if _MISSING.search(output):
        return f"apache:{version}: there is no such release of RocketMQ in Maven's repository; give one such as apache:4.9.4"
    if _SILENT.search(output):
        return f"apache:{version}: Maven's repository does not answer; check the network, or point {HOME} at an unpacked {version}"
    shows = f"mvn dependency:get -Dartifact=org.apache.rocketmq:rocketmq-broker:{version}"
    return f"apache:{version}: Maven could not fetch it; `{shows}` shows why; or point {HOME} at an unpacked {version}"


def _pom(version: str) -> str:
    """Return a pom whose dependencies are the jars of a release."""
    start = line_of(version).start
    excluded = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>" for group, name in start.excluded
    )
    dependencies = "".join(
        f"<dependency><groupId>{start.group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"<exclusions>{excluded}</exclusions></dependency>"
        for name in start.artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>rocketproof</groupId>'
        f"<artifactId>jars</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>\n"
    )
