"""Tests with the real brokers and clients: what they need, and that nobody skips them unawares.

All tests of this folder carry the marker `real`. On a machine without Java, Maven or Go those that need it are skipped with that reason;
where ROCKETPROOF_REAL is `required`, as in continuous integration, they fail instead.
"""

import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("real")


@pytest.fixture(autouse=True)
def _commands(request: pytest.FixtureRequest) -> None:
    """`@pytest.mark.usefixtures` is not needed: a test names its commands with `COMMANDS = ("java", "mvn")` in its module."""
    wanted = getattr(request.module, "COMMANDS", ())
    missing = [command for command in wanted if shutil.which(command) is None]
    if missing:
        reason = f"needs {', '.join(missing)}, which is not on the path"
        if os.environ.get("ROCKETPROOF_REAL") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
