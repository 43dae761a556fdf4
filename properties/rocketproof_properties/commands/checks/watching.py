"""Repeat a check of a model file whenever the file, or a module next to it, changes. Cached verdicts make a repetition decide only what
changed.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Final

from rocketproof_model import RocketproofError, interrupts

from ...catalogue.modelfile import NAMED
from ...catalogue.source import forget_files, stamp
from ...reports import output
from ...reports.exitcode import USAGE

_PAUSE: Final = 0.05
"""Seconds between two looks at the files."""
_OWN: Final = "rocketproof"
"""The beginning of the names of this project's modules, which are not imported again."""


def repeat(file: str, check: Callable[[], int]) -> int:
    """Check the model file at once and after each change, until Ctrl-C. Return the exit code of the last check.

    An error in the file is printed, and its correction waited for.
    """
    path = Path(file.partition(NAMED)[0])
    loaded, code = frozenset(sys.modules), USAGE
    modules: dict[str, str] = {}
    sys.dont_write_bytecode = True  # Python takes a file that changed within a second for the compiled one
    try:
        while True:
            before = _stamps(path, modules.values())
            interrupts.undecided()
            try:
                code = check()
            except RocketproofError as problem:
                code = USAGE
                output.tell(f"rocketproof: {' '.join(str(problem).split())}")
            if interrupts.came():
                return code
            modules = _modules(path, loaded)
            before = {file: before.get(file, now) for file, now in _stamps(path, modules.values()).items()}
            interrupts.undecided()
            output.tell(f"{time.strftime('%H:%M:%S')}: watching {path}; Ctrl-C stops")
            while _stamps(path, modules.values()) == before:
                interrupts.pause(_PAUSE)
            for name in modules:
                del sys.modules[name]
            linecache.checkcache()
            forget_files()
    except KeyboardInterrupt:
        interrupts.heard()
        return code


def _modules(path: Path, loaded: Set[str]) -> dict[str, str]:
    """Return the modules next to the model file that it has imported, each with its file. They are imported again for the next check."""
    folder = path.resolve().parent
    found = {}
    for name in sys.modules.keys() - loaded:
        file = Path(getattr(sys.modules[name], "__file__", None) or "")
        if file.is_absolute() and file.is_relative_to(folder) and not file.is_relative_to(sys.prefix) and not name.startswith(_OWN):
            found[name] = str(file)
    return found


def _stamps(path: Path, modules: Iterable[str]) -> dict[str, tuple[object, ...]]:
    """Return the stamp of each file. It changes when the file is replaced."""
    return {file: stamp(file) for file in (str(path), *modules)}
