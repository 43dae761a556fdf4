"""libfaketime, which gives a process another clock than the machine's, where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .deployment import TargetError

_FOLDERS: Final = (Path("/usr/lib"), Path("/usr/local/lib"))
_LIBRARY: Final = "faketime/libfaketimeMT.so.1"
"""The variant for processes with several threads."""


def library() -> Path | None:
    """Return the library, None if it is not installed."""
    places = (path for folder in _FOLDERS for path in (folder / _LIBRARY, *sorted(folder.glob(f"*-linux-*/{_LIBRARY}"))))
    return next((path for path in places if path.is_file()), None)


def environment(ahead: int) -> Mapping[str, str]:
    """Return the variables for a process whose clock is `ahead` milliseconds ahead of the machine's. The time since its start is real.

    Raises TargetError if the library is not installed.
    """
    found = library()
    if found is None:
        raise TargetError("a release's clock cannot be set, because libfaketime is not installed; install the Debian package libfaketime")
    real = dict.fromkeys(("DONT_FAKE_MONOTONIC", "FAKETIME_DONT_FAKE_MONOTONIC"), "1")  # the name depends on the library's release
    return {"LD_PRELOAD": str(found), "FAKETIME": f"{ahead / 1000:+.3f}", **real}
