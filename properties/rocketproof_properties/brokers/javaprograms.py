"""Java programs for the client of a RocketMQ release: compiled once, run with a small JVM that starts quickly."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import children, jars
from .deployment import TargetError

SECONDS = 300.0
"""Timeout for a compilation or a program."""

_FLAGS = ("-XX:+UseSerialGC", "-Xmx256m", "-Djava.net.preferIPv4Stack=true")
QUICK: Final = "-XX:TieredStopAtLevel=1"  # compiles less, which is faster for programs that run for seconds
_QUIET = '<configuration><root level="OFF"/></configuration>\n'


@dataclass(frozen=True)
class JavaPrograms:
    """The Java sources in a folder, compiled against the jars of a release."""

    sources: Path
    version: str = "4.9.4"

    def command(self, program: str, *arguments: str, home: Path, quick: bool = True) -> list[str]:
        """Return the command of a program. The client writes its files below `home`. Raises TargetError if Java or the jars are missing."""
        path = f"{self._classes()}:{jars.folder(self.version)}/*"
        flags = (*_FLAGS, QUICK) if quick else _FLAGS
        return [jars.java(), *flags, f"-Duser.home={home}", "-cp", path, program, *arguments]

    @contextmanager
    def started(self, program: str, *arguments: str, quick: bool = True) -> Iterator[subprocess.Popen[str]]:
        """Run a program with pipes to it. It is killed at the end or after `SECONDS`."""
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as home:
            command = self.command(program, *arguments, home=Path(home), quick=quick)
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            with children.started(command, **pipes) as child:
                limit = threading.Timer(SECONDS, child.kill)
                limit.start()
                try:
                    yield child
                finally:
                    limit.cancel()
                    child.kill()

    def run(self, program: str, *arguments: str, quick: bool = True) -> list[str]:
        """Return the lines that a program prints. Raises TargetError if it fails."""
        with self.started(program, *arguments, quick=quick) as child:
            printed, errors = child.communicate()
            if child.returncode:
                raise TargetError(f"{program} ended with code {child.returncode}: {_last(errors)}")
        return printed.splitlines()

    def _classes(self) -> Path:
        """Return the folder of the compiled sources. The same sources are compiled once."""
        sources = sorted(self.sources.glob("*.java"))
        digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
        folder = jars.cache() / "java" / f"{self.version}-{digest}"
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                classes = Path(work) / "classes"
                self._compile(sources, classes)
                if not folder.is_dir():  # another run may have been quicker
                    classes.rename(folder)
        return folder

    def _compile(self, sources: list[Path], into: Path) -> None:
        compiler = shutil.which("javac")
        if compiler is None:
            raise TargetError("there is no javac; install a Java development kit, 8 or later")
        command = [compiler, "-nowarn", "-encoding", "UTF-8", "-d", str(into), "-cp", f"{jars.folder(self.version)}/*", *map(str, sources)]
        done = children.completed(command, seconds=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise TargetError(f"{self.sources} cannot be compiled: {_last(done.stderr)}")
        (into / "logback.xml").write_text(_QUIET, "utf-8")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
