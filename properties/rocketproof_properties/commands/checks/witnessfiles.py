"""Witness files of a check: an ITF file for each verdict with a witness, and a test for each program of messages."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from rocketproof_model import RocketproofError
from rocketproof_model.result import Witness
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

from ...catalogue.modelfile import NAMED
from ...catalogue.source import ModelSource
from ...conformance.stateful.follow import STEPS, allowed
from ...reports.choices import InputError
from ...reports.files import keep_witness
from .plan import CheckTask

DEFAULT_FOLDER = Path(".rocketproof") / "witnesses"


def check_folder(folder: Path, what: str = "witnesses") -> None:
    """Raise InputError if the folder cannot be written. It is created when the first file is saved. `what` names the option."""
    at = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not at.is_dir() or not os.access(at, os.W_OK):
        raise InputError(f"{what} cannot be written to {folder}; give a folder that you may write to with --{what}")


def paths(folder: Path, tasks: Iterable[CheckTask]) -> dict[CheckTask, str]:
    """Return the path of each task's witness.

    Equal tasks have equal paths in every run. Another scope or other sizes give another path, so that runs do not overwrite each other's
    witnesses. Programs of messages are saved as tests.
    """
    used: set[str] = set()
    result: dict[CheckTask, str] = {}
    for task in tasks:
        source = task.source
        parts = [*_stems(source), task.property, source.profile, slug(task.condition.lower()), *task.chosen]
        parts.append("" if task.engine == "explicit" else task.engine)
        plain = "-".join(slug(part) for part in parts if part)
        longer = f"{plain}-{slug(source.scope)}"
        name = next(t for t in chain((plain, longer), (f"{longer}-{n}" for n in count(2))) if t not in used)
        used.add(name)
        result[task] = str(folder / (f"{name}.py" if task.kind == "history" else f"{name}.itf.json"))
    return result


def text(task: CheckTask, witness: Witness) -> str:
    """Return the content of the witness file of a task."""
    return itf.dumps(witness, task.source.record())


def save_fault(beside: str, source: ModelSource, engine: str, witness: Witness) -> str:
    """Write the path to a model error into the folder of the witness file `beside`, and return its path."""
    values = [f"{name}={value}" for name, value in source.given] if source.file is not None else []
    parts = [*_stems(source), source.scope, *values, source.profile, "model-error", "" if engine == "explicit" else engine]
    path = str(Path(beside).parent / f"{'-'.join(slug(part) for part in parts if part)}.itf.json")
    keep_witness(path, itf.dumps(witness, source.record()))
    return path


def _stems(source: ModelSource) -> list[str]:
    """Return the name of a model file without suffix, and the model's name in it if it is not the default."""
    file, _, named = (source.file or "").partition(NAMED)
    return [Path(file).stem, named] if file else []


def show_command(path: str) -> str:
    """Return the command that shows a witness file."""
    return f"rocketproof show {shlex.quote(path)}"


def load(path: str) -> Witness:
    """Load a witness, with its instance. Raises RocketproofError in one line."""
    return load_with_source(path)[1]


def load_with_source(path: str) -> tuple[ModelSource, Witness]:
    """Load a witness and the source of its instance. Raises RocketproofError in one line."""
    file = itf.read(path)
    if not file.origin:
        raise InputError(f"{path}: it does not say which model it belongs to; read it with that: rocketproof.load_witness(FILE, model)")
    source = _located(ModelSource.read(file.origin), path)
    try:
        subject = source.subject()
    except RocketproofError as error:
        raise InputError(f"{path}: its model cannot be built: {error}") from None
    claim = allowed(subject.instance) if file.property == STEPS else subject.property(file.property, file.kind)
    return source, restore(file, subject.instance, claim)


def _located(source: ModelSource, witness: str) -> ModelSource:
    """Return the source with an existing path of its model file: relative to the current folder, else to a folder above the witness.

    Raises InputError if there is no such file.
    """
    if source.file is None:
        return source
    file, mark, named = source.file.partition(NAMED)
    if Path(file).exists():
        return source
    places = [folder / file for folder in Path(witness).absolute().parents]
    existing = next((place for place in places if place.is_file()), None)
    if existing is None:
        raise InputError(
            f"{witness}: its model file {file} is neither in this folder nor in one above the witness; "
            "run the command in the folder in which `rocketproof check` has run"
        )
    return replace(source, file=f"{existing}{mark}{named}")


def read_program(path: str) -> str:
    """Return the text of a program of messages that `check` or `test` saved. Raises InputError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        raise InputError(f"{path}: cannot be read ({reason}); give a file that `rocketproof check` or `test` wrote") from None


def slug(text: str) -> str:
    """Return a text as a part of a file name, at most 48 characters long."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")
    return words if len(words) <= 48 else words[:48].rsplit("-", 1)[0]
