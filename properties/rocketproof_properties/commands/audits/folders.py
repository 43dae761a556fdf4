"""Check the folders of stores that a user names, before the modules that read them are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocketproof_traces.stored.paths import absolute

from ...reports.choices import InputError


def folders_of(stores: Sequence[str]) -> tuple[str, ...]:
    """Return the folders without duplicates, as absolute paths. Raises InputError for a path that is no folder."""
    if not stores:
        raise InputError("no store; give the folder that has commitlog in it")
    if "" in stores:
        raise InputError("'': is no folder; give a store's folder, the one that has commitlog in it, or . for this one")
    folders = tuple(dict.fromkeys(absolute(store.rstrip("/") or store) for store in stores))
    for folder in folders:
        if "://" not in folder and not Path(folder).is_dir():
            raise InputError(f"{folder}: is no folder; give a store's folder, the one that has commitlog in it")
    return folders
