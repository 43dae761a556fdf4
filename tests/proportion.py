"""How many examples and cases the default tests try. Continuous integration tries all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def in_proportion(examples: int) -> int:
    """Return `examples` under the profile `ci`; fewer, the first of them, under `quick`; more under `long`."""
    return max(1, round(examples * settings().max_examples / settings.get_profile("ci").max_examples))


def few(cases: Iterable[Any], usual: int) -> list[Any]:
    """Mark all cases of a table but `usual` ones, evenly spread, as slow. For a rule that each case shows with other values.

    A tuple has the values of several parameters.
    """
    every = list(cases)
    kept = {len(every) * turn // usual for turn in range(usual)}
    return [case if number in kept else slow(case) for number, case in enumerate(every)]


def slow(case: Any) -> Any:
    """Mark a case of a table as slow."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
