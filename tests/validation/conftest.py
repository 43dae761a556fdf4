"""No test of this folder finds what another one's run remembered."""

from pathlib import Path

import pytest

from rocketproof_properties import failures


@pytest.fixture(autouse=True)
def _nothing_remembered(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("remembered") / "failures"
    monkeypatch.setattr(failures, "FOLDER", folder)
    return folder
