"""Find the stores that a user names, before the modules that read them are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.stored.discovery import is_pattern, stores_below, stores_matching
from rocketproof_traces.stored.paths import absolute, is_remote

from ...reports.choices import InputError


def folders_of(stores: Sequence[str], *, strict: bool = True, alone: bool = True) -> tuple[str, ...]:
    """Return the folders of the stores without duplicates, as absolute paths. Stores below a folder are found, and patterns are expanded.

    `alone`: no other stores are named elsewhere. A path that is no folder raises InputError, and one that cannot be read raises TraceError,
    if `strict` or if it is the only one. Otherwise the audit reports it.
    """
    if not stores:
        raise InputError("no store; give the folder that has commitlog in it")
    if "" in stores:
        raise InputError("'': is no folder; give a store's folder, the one that has commitlog in it, or . for this one")
    named = tuple(dict.fromkeys(absolute(store.rstrip("/") or store) for store in stores))
    found: dict[str, None] = {}
    for path in named:
        found.update(dict.fromkeys(_stores(path, is_required=strict or (alone and len(named) == 1))))
    return tuple(found)


def _stores(path: str, *, is_required: bool) -> list[str]:
    """Return the stores of a path. One that is not required and not readable is returned itself: the audit reports it."""
    is_folder = is_remote(path) or Path(path).is_dir()
    try:
        if is_pattern(path) and (is_remote(path) or not is_folder):
            stores = stores_matching(path)
        elif is_folder:
            stores = stores_below(path)
        elif is_required:
            raise InputError(f"{path}: is no folder; give a store's folder, the one that has commitlog in it")
        else:
            stores = []
    except TraceError:
        if is_required:
            raise
        stores = []
    if not stores and is_required:
        raise InputError(f"{path}: no store matches it; give a pattern of folders that have commitlog in them")
    return stores or [path]
