"""Files of results, which appear whole or not at all, and the refusal of one that could not be written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rocketproof_protocol.shown import json_text

from .choices import InputError


def check_writable(path: Path, option: str = "--json") -> None:
    """Refuse a result file, given by the option, that could not be written at the end of a long run.

    An option that ends in a colon, such as `--report junit:`, has the path right behind it.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory; give {option} a file name")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{given(option, path)}: there is no folder {path.parent}; create it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
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
    """Write a text; the file, given by the option, appears whole or not at all. Raises InputError."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")  # a pipe or a device
            return
        _replace(path, text)
    except OSError as error:
        raise InputError(f"{given(option, path)} cannot be written ({error.strerror}); give a file in a folder of your own") from None


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
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, text)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); give another folder with {option}") from None
    return path


def opened(kept: str) -> str:
    """What `rocketproof explore` opens of a kept witness: itself, or the history beside the test of a program of messages."""
    return f"{kept.removesuffix('.py')}.ndjson" if kept.endswith(".py") else kept


def _replace(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(path)
