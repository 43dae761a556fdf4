"""Witnesses that a check leaves behind: one ITF file for each verdict that has one, and programs of messages as tests."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path

from rocketproof_model import RocketproofError
from rocketproof_model.result import Witness
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

from ..choices import InputError
from ..sources.source import Source
from ..stateful.follow import STEPS, allowed
from ..store import keep_witness
from .plan import Task

DEFAULT_FOLDER = Path(".rocketproof") / "witnesses"


def check_folder(folder: Path, what: str = "witnesses") -> None:
    """Refuse a folder of witnesses, or of what is meant, that could not be written to; it is made when the first witness is saved."""
    at = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not at.is_dir() or not os.access(at, os.W_OK):
        raise InputError(f"{what} cannot be written to {folder}; give a folder that you may write to with --{what}")


def paths(folder: Path, tasks: Iterable[Task]) -> dict[Task, str]:
    """Where each task's witness goes: the same names in every run of the same tasks. Programs of messages are kept as tests."""
    used: set[str] = set()
    found: dict[Task, str] = {}
    for task in tasks:
        source = task.source
        stem = "" if source.file is None else Path(source.file).stem
        parts = [stem, task.property, source.profile, slug(task.condition.lower()), "" if task.engine == "explicit" else task.engine]
        plain = "-".join(slug(part) for part in parts if part)
        longer = f"{plain}-{slug(source.scope)}"
        name = next(t for t in chain((plain, longer), (f"{longer}-{n}" for n in count(2))) if t not in used)
        used.add(name)
        found[task] = str(folder / (f"{name}.py" if task.kind == "history" else f"{name}.itf.json"))
    return found


def save(path: str, task: Task, witness: Witness | None) -> str | None:
    """Write a task's witness, if there is one, and return the path; if there is none, an older run's file goes away.

    Raises InputError if it cannot be written.
    """
    return keep_witness(path, None if witness is None else itf.dumps(witness, task.source.record()))


def save_fault(beside: str, source: Source, engine: str, witness: Witness) -> str:
    """Write the path to an error of a model, in the folder of another witness, and return its own path."""
    parts = [source.file and Path(source.file).stem, source.scope, source.profile, "model-error", "" if engine == "explicit" else engine]
    path = str(Path(beside).parent / f"{'-'.join(slug(part) for part in parts if part)}.itf.json")
    keep_witness(path, itf.dumps(witness, source.record()))
    return path


def show_command(path: str) -> str:
    """The command that shows a witness file."""
    return f"rocketproof show {shlex.quote(path)}"


def load(path: str) -> Witness:
    """The witness in a file, in the instance it was found in. Raises RocketproofError in one line."""
    return load_with_source(path)[1]


def load_with_source(path: str) -> tuple[Source, Witness]:
    """The witness and where its instance comes from. Raises RocketproofError in one line."""
    file = itf.read(path)
    if not file.origin:
        raise InputError(f"{path}: it does not say which model it belongs to; read it with that: rocketproof.load_witness(FILE, model)")
    source = Source.read(file.origin)
    try:
        subject = source.subject()
    except RocketproofError as error:
        raise InputError(f"{path}: its model cannot be built: {error}") from None
    claim = allowed(subject.instance) if file.property == STEPS else subject.property(file.property, file.kind)
    return source, restore(file, subject.instance, claim)


def read_program(path: str) -> str:
    """The text of a program of messages that `check` or `test` kept. Raises InputError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "no text"
        raise InputError(f"{path}: cannot be read ({said}); give a file that `rocketproof check` or `test` wrote") from None


def slug(text: str) -> str:
    """Words for the name of a file."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")
    return words if len(words) <= 48 else words[:48].rsplit("-", 1)[0]
