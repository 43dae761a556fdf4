"""Write a text file so that a reader sees either the old content or the complete new content."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .errors import TraceError


def replace_text(path: str | Path, text: str) -> None:
    """Replace the file's content atomically. Raises TraceError and keeps the file unchanged if that fails."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise TraceError(str(path), f"cannot be written ({error.strerror})", "give a file in a folder of your own") from None
    finally:
        with suppress(OSError):  # mostly because it is the file now
            part.unlink()
