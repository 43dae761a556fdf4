"""Unpack archives of test data."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of this project into a folder. Python before 3.11.4 has no filters; later versions demand one."""
    with tarfile.open(archive) as files:
        files.extraction_filter = getattr(tarfile, "data_filter", None)
        files.extractall(folder)
