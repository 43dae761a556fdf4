"""Marks for the tests of the implementation: the ids of the rules that a test shows, and the profiles that it runs with."""

from __future__ import annotations

import pytest

behaviour = pytest.mark.behaviour

ALL_PROFILES = ("P40", "P45", "P49", "P494")
every = pytest.mark.parametrize("profile", ALL_PROFILES)
earlier = pytest.mark.parametrize("profile", ["P40", "P45"])
later = pytest.mark.parametrize("profile", ["P49", "P494"])
either = pytest.mark.parametrize("profile", ["P45", "P49"])  # one earlier and one later profile
