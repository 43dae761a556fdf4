"""A broker starts on a damaged store, or refuses it, and no service ends. `mutated_stores.py` is the program with any number of stores."""

from __future__ import annotations

import pytest
from mutated_stores import LONGEST_START_SECONDS, MOST_MEGABYTES, search

pytestmark = pytest.mark.slow  # .ci/run runs it, not only .ci/nightly


def test_brokers_survive_mutated_stores() -> None:
    found = search(range(600), seed=1)
    assert found.failures == []
    assert found.stores == 600 and found.started > 300 and found.refused > 20
    assert found.longest_start < LONGEST_START_SECONDS and found.megabytes < MOST_MEGABYTES
