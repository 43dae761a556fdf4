"""Files of results, which appear whole or not at all, and the refusal of one that could not be written. `-` is standard output."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.shown import json_text

from .choices import InputError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""There is no room, or the file may not become so large."""
STREAM: Final = Path("-")
"""What a user gives for standard output. What is printed for a person goes to standard error then."""


def check_writable(path: Path, option: str = "--json") -> None:
    """Refuse a result file, given by the option, that could not be written at the end of a long run. Its folder is made when it is written.

    An option that ends in a colon, such as `--report junit:`, has the path right behind it.
    """
    if path == STREAM:
        from . import output  # rich, which a pytest plugin does without

        output.take_stdout(given(option, path))
        return
    if path.is_dir():
        raise InputError(f"{path} is a directory; give {option} a file name")
    known = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    if known != path.absolute() and not known.is_dir():
        raise InputError(f"{given(option, path)}: {known} is a file and no folder; give a file in a folder of your own")
    if not os.access(known, os.W_OK):
        raise InputError(f"{given(option, path)}: it may not be written; give a file in a folder of your own")


def given(option: str, path: Path) -> str:
    """The option with its path, as somebody types it."""
    return f"{option}{path}" if option.endswith(":") else f"{option} {path}"


def write_json(path: Path, data: Mapping[str, Any] | Iterable[Mapping[str, Any]], option: str = "--json") -> None:
    """Write an object, or a list of objects, one a line; the file appears whole or not at all."""
    if isinstance(data, Mapping):
        text = json_text(data, indent=1, allow_nan=False) + "\n"
    else:
        body = ",\n".join(json_text(dict(row), allow_nan=False) for row in data)
        text = f"[\n{body}\n]\n" if body else "[]\n"
    replace_text(path, text, option)


def replace_text(path: Path, text: str, option: str) -> None:
    """Write a text; the file, given by the option, appears whole or not at all, in a folder that is made. Raises InputError."""
    if path == STREAM:
        from . import output  # rich, which a pytest plugin does without

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
    """What to do about a file that cannot be written: `what` is to be given instead where there is room."""
    return "make room there, and run it again" if no_room(error) else f"give {what} of your own"


def no_room(error: OSError) -> bool:
    """Return whether the disk is full, or the file may not become so large."""
    return error.errno in _FULL


def keep_witness(path: str, text: str | None, option: str = "--witnesses") -> str | None:
    """Write a witness, or another file of a verdict, and return its path, the folder made where there is none; without a text an older
    run's file goes away. `option` names the folder.

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
    """Whether a file has this text. To replace it takes ten times as long as to read it."""
    try:
        return file.read_bytes() == text.encode()
    except OSError:
        return False


def opened(kept: str) -> str:
    """What `rocketproof explore` opens of a kept witness: itself, or the history beside the test of a program of messages."""
    return f"{kept.removesuffix('.py')}.ndjson" if kept.endswith(".py") else kept


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file that appears whole or not at all. Raises OSError."""
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
