"""`load_witness`: a file that a check has kept, as a Witness again."""

from __future__ import annotations

import os
from typing import Any

from rocketproof_model.result import Witness
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

from ..checks import witnessfiles
from .subjects import ModelLike, chosen


def load_witness(file: str | os.PathLike[str], model: ModelLike = None, **values: Any) -> Witness:
    """The witness in a file that `rocketproof check` or `assert_holds` has kept, in the instance it was found in.

    `model` (with sizes and constants as of `check`) is needed for a file that does not say where its model is, such as of one that is
    built inside a function, and for traces of other tools. Raises RocketproofError, in one line, for a file that is no witness, or one
    whose steps the model does not allow any more.
    """
    path = os.fspath(file)
    if model is None:
        return witnessfiles.load(path)
    subject = chosen(model, values).subject
    found = itf.read(path)
    return restore(found, subject.instance, subject.property(found.property, found.kind) if found.property else None)
