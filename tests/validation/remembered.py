"""A fixture that gives each test an empty memory of earlier runs, for the conftest.py of a folder whose tests validate."""

from pathlib import Path

import pytest

from rocketproof_properties.reports import failures


@pytest.fixture(autouse=True)
def nothing_remembered(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty memory folder for each test."""
    folder = tmp_path_factory.mktemp("remembered") / "failures"
    monkeypatch.setattr(failures, "FOLDER", folder)
    return folder
