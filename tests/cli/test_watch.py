"""`rocketproof check FILE --watch` decides again what changed, waits for the correction of an error, and ends by Ctrl-C."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketproof_properties.commands import run

MODEL = '''
from rocketproof_model import Int, Model
from sizes import MOST

def model():
    m = Model("counter")
    count = m.var("count", Int(0, 5), init=0)

    @m.action()
    def add(a):
        """One more."""
        a.guard("room", count < MOST, "there is room")
        a.set(count, count + 1)

    m.always("few", count < 4, "there are few")
    m.always("not many", count <= 5, "there are not many")
    return m
'''
PATIENCE = 60


class Watching:
    """A running command. Its lines are read as soon as it prints them."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-u", "-m", "rocketproof_properties.commands", "check", "few.py", "--watch", "--witnesses", "w"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "ROCKETPROOF_CACHE": str(folder / "cache")}
        del env["ROCKETPROOF_FRESH"]  # the tests' default: nothing is cached
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def checked(self) -> str:
        """Return the output of a check, up to the line that it waits for a change."""
        lines = []
        while True:
            line = self._lines.get(timeout=PATIENCE)
            if "watching few.py" in line:
                return "".join(lines)
            assert line, f"it has ended: {''.join(lines)}"
            lines.append(line)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    (tmp_path / "few.py").write_text(MODEL)
    (tmp_path / "sizes.py").write_text("MOST = 3\n")
    started = Watching(tmp_path)
    yield started
    started.end()


def replaced(file: Path, change: Callable[[str], str]) -> None:
    """Change a file as editors do: a new file replaces it."""
    part = file.with_suffix(".part")
    part.write_text(change(file.read_text()))
    part.replace(file)


def test_changes_are_decided_again(tmp_path: Path, watching: Watching) -> None:
    assert "2 verdicts, all as expected" in watching.checked()
    replaced(tmp_path / "few.py", lambda text: text.replace("count < 4", "count < 2"))
    assert "2 verdicts, 1 not as expected" in watching.checked()
    replaced(tmp_path / "few.py", lambda text: f"{text}# a comment\n")
    assert "2 cached" in watching.checked(), "nothing has changed that is decided"
    replaced(tmp_path / "few.py", lambda text: text.replace("count < MOST", "cuont < MOST"))
    assert "few.py:12:25: NameError" in watching.checked()
    replaced(tmp_path / "few.py", lambda text: text.replace("cuont < MOST", "count < MOST").replace("count < 2", "count < 4"))
    assert "2 verdicts, all as expected" in watching.checked()
    replaced(tmp_path / "sizes.py", lambda text: "MOST = 4\n")
    assert "1 not as expected" in watching.checked(), "a module of the model counts too"
    began = time.monotonic()
    replaced(tmp_path / "sizes.py", lambda text: "MOST = 3\n")
    assert "all as expected" in watching.checked()
    assert time.monotonic() - began < 30
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(PATIENCE) == 0


def test_specification_is_not_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--watch"]) == 2
    assert "give the file of your model" in capsys.readouterr().err
