"""Write result files atomically, and check early whether they can be written. `-` is standard output."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.shown import json_text

from .choices import InputError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors for a full disk, and for a file that would be too large."""
STREAM: Final = Path("-")
"""The file name for standard output. Text for the user is then printed to standard error."""


def check_writable(path: Path, option: str = "--json") -> None:
    """Raise InputError for a result file that could not be written at the end of a long run. Its folder is created when the file is
    written.

    `option` is the option that names the file. If it ends in a colon, such as `--report junit:`, errors show the path right after it.
    """
    if path == STREAM:
        from . import output  # imports rich, which the pytest plugin does not need

        output.take_stdout(given(option, path))
        return
    if path.is_dir():
        raise InputError(f"{path} is a directory; give {option} a file name")
    existing = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if existing != path.absolute() and not existing.is_dir():
        raise InputError(f"{given(option, path)}: {existing} is a file and no folder; give a file in a folder of your own")
    if not os.access(existing, os.W_OK):
        raise InputError(f"{given(option, path)}: it may not be written; give a file in a folder of your own")


def given(option: str, path: Path) -> str:
    """Return the option with its path, as typed."""
    return f"{option}{path}" if option.endswith(":") else f"{option} {path}"


def write_json(path: Path, data: Mapping[str, Any] | Iterable[Mapping[str, Any]], option: str = "--json") -> None:
    """Write an object, or a list with one object per line, atomically."""
    if isinstance(data, Mapping):
        text = json_text(data, indent=1, allow_nan=False) + "\n"
    else:
        body = ",\n".join(json_text(dict(row), allow_nan=False) for row in data)
        text = f"[\n{body}\n]\n" if body else "[]\n"
    replace_text(path, text, option)


def replace_text(path: Path, text: str, option: str) -> None:
    """Write a text atomically. Missing folders are created. Raises InputError."""
    if path == STREAM:
        from . import output  # imports rich, which the pytest plugin does not need

        output.write(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")  # a pipe or a device
            return
        replace(path, lambda part: part.write_text(text, "utf-8"))
    except OSError as error:
        raise InputError(f"{given(option, path)} cannot be written ({error.strerror}); {remedy(error, 'a file in a folder')}") from None


def remedy(error: OSError, what: str = "a folder") -> str:
    """Return what to do about a file that cannot be written. `what` names the alternative if the disk is not full."""
    return "make room there, and run it again" if no_room(error) else f"give {what} of your own"


def no_room(error: OSError) -> bool:
    """Return whether the disk is full, or the file would be too large."""
    return error.errno in _FULL


def keep_witness(path: str, text: str | None, option: str = "--witnesses") -> str | None:
    """Write a witness, or another file of a verdict, and return its path. Missing folders are created. If `text` is None, delete the file
    of an earlier run. `option` names the folder.

    Raises InputError if it cannot be written.
    """
    file = Path(path)
    try:
        if text is None:
            file.unlink(missing_ok=True)
            return None
        if _is_text(file, text):
            return path
        file.parent.mkdir(parents=True, exist_ok=True)
        replace(file, lambda part: part.write_text(text, "utf-8"))
    except OSError as error:
        instead = remedy(error) if no_room(error) else f"give another folder with {option}"
        raise InputError(f"{path} cannot be written ({error.strerror}); {instead}") from None
    return path


def _is_text(file: Path, text: str) -> bool:
    """Return whether a file has this text. A read takes a tenth of the time of a replacement."""
    try:
        return file.read_bytes() == text.encode()
    except OSError:
        return False


def opened(path: str) -> str:
    """Return the file that `rocketproof explore` opens for a saved witness: the witness, or the history next to a test of messages."""
    return f"{path.removesuffix('.py')}.ndjson" if path.endswith(".py") else path


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically. Raises OSError."""
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
