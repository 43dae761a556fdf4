"""What the tests of the implementation are marked with: the ids of the rules that they show, and the profiles that they run with."""

from __future__ import annotations

import pytest

behaviour = pytest.mark.behaviour

ALL_PROFILES = ("P40", "P45", "P49", "P494")
every = pytest.mark.parametrize("profile", ALL_PROFILES)
earlier = pytest.mark.parametrize("profile", ["P40", "P45"])
later = pytest.mark.parametrize("profile", ["P49", "P494"])
either = pytest.mark.parametrize("profile", ["P45", "P49"])  # one of the earlier and one of the later
