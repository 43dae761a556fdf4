"""Witnesses that a check leaves behind: one ITF file for each verdict that has one, and programs of messages as tests."""

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
    """Refuse a folder of witnesses, or of what is meant, that could not be written to; it is made when the first witness is saved."""
    at = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not at.is_dir() or not os.access(at, os.W_OK):
        raise InputError(f"{what} cannot be written to {folder}; give a folder that you may write to with --{what}")


def paths(folder: Path, tasks: Iterable[CheckTask]) -> dict[CheckTask, str]:
    """Where each task's witness goes: the same names in every run of the same tasks, others where the user chose another scope or other
    sizes, so that one run does not replace the witness of another. Programs of messages are kept as tests."""
    used: set[str] = set()
    found: dict[CheckTask, str] = {}
    for task in tasks:
        source = task.source
        parts = [*_stems(source), task.property, source.profile, slug(task.condition.lower()), *task.chosen]
        parts.append("" if task.engine == "explicit" else task.engine)
        plain = "-".join(slug(part) for part in parts if part)
        longer = f"{plain}-{slug(source.scope)}"
        name = next(t for t in chain((plain, longer), (f"{longer}-{n}" for n in count(2))) if t not in used)
        used.add(name)
        found[task] = str(folder / (f"{name}.py" if task.kind == "history" else f"{name}.itf.json"))
    return found


def text(task: CheckTask, witness: Witness) -> str:
    """The file of a task's witness."""
    return itf.dumps(witness, task.source.record())


def save_fault(beside: str, source: ModelSource, engine: str, witness: Witness) -> str:
    """Write the path to an error of a model, in the folder of another witness, and return its own path."""
    given = [f"{name}={value}" for name, value in source.given] if source.file is not None else []
    parts = [*_stems(source), source.scope, *given, source.profile, "model-error", "" if engine == "explicit" else engine]
    path = str(Path(beside).parent / f"{'-'.join(slug(part) for part in parts if part)}.itf.json")
    keep_witness(path, itf.dumps(witness, source.record()))
    return path


def _stems(source: ModelSource) -> list[str]:
    """The name of a model file without its ending, and that of the model in it where that is not the usual one."""
    file, _, named = (source.file or "").partition(NAMED)
    return [Path(file).stem, named] if file else []


def show_command(path: str) -> str:
    """The command that shows a witness file."""
    return f"rocketproof show {shlex.quote(path)}"


def load(path: str) -> Witness:
    """The witness in a file, in the instance it was found in. Raises RocketproofError in one line."""
    return load_with_source(path)[1]


def load_with_source(path: str) -> tuple[ModelSource, Witness]:
    """The witness and where its instance comes from. Raises RocketproofError in one line."""
    file = itf.read(path)
    if not file.origin:
        raise InputError(f"{path}: it does not say which model it belongs to; read it with that: rocketproof.load_witness(FILE, model)")
    source = _found(ModelSource.read(file.origin), path)
    try:
        subject = source.subject()
    except RocketproofError as error:
        raise InputError(f"{path}: its model cannot be built: {error}") from None
    claim = allowed(subject.instance) if file.property == STEPS else subject.property(file.property, file.kind)
    return source, restore(file, subject.instance, claim)


def _found(source: ModelSource, witness: str) -> ModelSource:
    """The source with its model file where it is: by its path from this folder, else from a folder that the witness lies in.

    Raises InputError where there is none.
    """
    if source.file is None:
        return source
    file, mark, named = source.file.partition(NAMED)
    if Path(file).exists():
        return source
    places = [folder / file for folder in Path(witness).absolute().parents]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InputError(
            f"{witness}: its model file {file} is neither in this folder nor in one above the witness; "
            "run the command in the folder in which `rocketproof check` has run"
        )
    return replace(source, file=f"{found}{mark}{named}")


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
