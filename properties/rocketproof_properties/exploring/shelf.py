"""What a running explorer can open: the catalogue's properties in their cases, or those of a model file; scopes; witnesses of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_traces.explorer.opened import Opened, Progress

from ..checks import witnessfiles
from ..checks.plan import Request, plan
from ..choices import InputError
from ..sources import modelfile
from . import traces
from .traces import ENGINE, Wish

WITNESS: Final = ".itf.json"
_WISHES: Final = ("property", "profile", "scope", "condition")


@dataclass
class Shelf:
    """`opened` is what the page begins with; `file` is a model file, None for the specification; `folder` holds witnesses."""

    opened: Opened | None = None
    file: str | None = None
    folder: Path = witnessfiles.DEFAULT_FOLDER
    _rows: Mapping[str, Any] | None = field(default=None, init=False)

    def start(self) -> Opened | None:
        return self.opened

    def catalogue(self) -> Mapping[str, Any]:
        """Properties with their cases, witness files and scopes, by what `open` takes."""
        if self._rows is None:
            self._rows = {"properties": _properties(self.file), "scopes": _scopes(self.file)}
        return {
            **self._rows,
            "witnesses": [{"id": name, "title": Path(name).name.removesuffix(WITNESS), "path": name} for name in self.files()],
        }

    def files(self) -> list[str]:
        """The witness files of the folder."""
        return sorted(str(path) for path in self.folder.glob(f"*{WITNESS}"))

    def open(self, wish: Mapping[str, Any], report: Progress) -> Opened:
        """What a page wishes for. Raises RocketproofError."""
        for name, value in wish.items():
            if name not in (*_WISHES, "witness") or not (value is None or isinstance(value, str)):
                raise InputError(f"{name} is nothing that can be opened; send witness, or {', '.join(_WISHES)}, as text")
        if wish.get("witness"):
            if wish["witness"] not in self.files():
                raise InputError(f"{wish['witness']} is no witness in {self.folder}; choose one of the catalogue")
            return traces.of_file(wish["witness"])
        return traces.of_wish(Wish(**{name: wish.get(name) or None for name in _WISHES}, file=self.file), report)


def _properties(file: str | None) -> Sequence[Mapping[str, Any]]:
    """Properties that a search decides, each with its cases."""
    found: dict[str, dict[str, Any]] = {}
    for source, id_, sentence, condition, expected in _cases(file):
        row = found.setdefault(id_, {"id": id_, "sentence": sentence, "cases": []})
        case = {"profile": source[1], "scope": source[0], "condition": condition, "expected": expected}
        if case not in row["cases"]:
            row["cases"].append(case)
    return list(found.values())


def _cases(file: str | None) -> list[tuple[tuple[str, str], str, str, str, str]]:
    scopes: Sequence[str | None] = [None] if file is None else [row["name"] for row in _scopes(file)]
    return [
        ((task.source.scope, task.source.profile), task.claim, task.sentence, task.condition, task.expected)
        for scope in scopes
        for task in plan(Request(file, scope=scope)).tasks
        if task.engine == ENGINE
    ]


def _scopes(file: str | None) -> Sequence[Mapping[str, str]]:
    if file is not None:
        return [{"name": name, "about": ""} for name in modelfile.load(file).scopes]
    from rocketproof_model.specification import NAMES, SCOPES

    return [{"name": name, "about": SCOPES[name].about if name in SCOPES else "a fault in a small model of its own"} for name in NAMES]


__all__ = ["WITNESS", "Shelf"]
