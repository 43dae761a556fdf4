"""`load_witness`: load a witness file."""

from __future__ import annotations

import os
from typing import Any

from rocketproof_model.result import Witness
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

from ..checks import witnessfiles
from .subjects import ModelLike, chosen


def load_witness(file: str | os.PathLike[str], model: ModelLike = None, **values: Any) -> Witness:
    """Load a witness from a file that `rocketproof check` or `assert_holds` has written, with its instance.

    `model` (with sizes and constants as for `check`) is required for a file without the location of its model, and for traces of other
    tools. A model that is built inside a function has no location. Raises RocketproofError, in one line, for a file that is no witness, or
    whose steps the model no longer allows.
    """
    path = os.fspath(file)
    if model is None:
        return witnessfiles.load(path)
    subject = chosen(model, values).subject
    parsed = itf.read(path)
    return restore(parsed, subject.instance, subject.property(parsed.property, parsed.kind) if parsed.property else None)
