"""Check the options of `audit --follow`, before the modules that read stores are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...reports.choices import InputError


def checkpoint_of(of_whole_stores: Mapping[str, object], checkpoint: Path | None) -> Path:
    """Return the folder of the checkpoint. Raises InputError without one, and for an option that needs an audit of whole stores."""
    for name, value in of_whole_stores.items():
        if value:
            raise InputError(f"--follow with --{name}: it belongs to an audit of whole stores; leave out one of them")
    if checkpoint is None:
        raise InputError("--follow without --checkpoint; give the folder that keeps findings and positions")
    return checkpoint
