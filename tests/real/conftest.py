"""Tests with real brokers and clients: their requirements, and a check that none is skipped unnoticed.

All tests of this folder have the marker `real`. Without Java, Maven or Go the tests that need it are skipped with that reason. If
ROCKETPROOF_REAL is `required`, as in continuous integration, they fail instead.
"""

import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONGEST = ("test_validate_apache.py", "test_real_stores.py", "test_real_witnesses.py", "test_real_faults.py", "test_apache_target.py")
BEGIN = {name: place for place, name in enumerate(LONGEST)}
"""Files that take minutes begin first, the longest before all, so that no process has one of them left when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("real")
    items.sort(key=lambda item: BEGIN.get(item.path.name, len(BEGIN)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture starts a broker: a module names the commands that its tests need, such as `COMMANDS = ("java", "mvn")`."""
    wanted = getattr(item.module, "COMMANDS", ()) if isinstance(item, pytest.Function) else ()
    missing = [command for command in wanted if shutil.which(command) is None]
    if missing:
        reason = f"needs {', '.join(missing)}, which is not on the path"
        if os.environ.get("ROCKETPROOF_REAL") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
