"""Weighted steps as Hypothesis strategies, and examples that depend on the seed alone.

By default Hypothesis draws some values from constants in source files outside of `site-packages`. A seed would then produce different
programs in another checkout or after an edit. The backend of this module does not use these constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

from .vocabulary import Step

Steps = st.SearchStrategy[Step]
_CHUNK: Final = 50  # examples that Hypothesis draws at a time

BACKEND: Final = "rocketproof"
"""The backend's name for `hypothesis.settings`."""


class SeededProvider(HypothesisProvider):
    """Hypothesis' own provider, without constants from source files."""

    def _maybe_draw_constant(self, *args: Any, **keywords: Any) -> None:
        del args, keywords


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{SeededProvider.__name__}"


def step(name: str, /, **choices: Sequence[Any] | st.SearchStrategy[Any]) -> Steps:
    """Return a strategy of steps, with each argument drawn from its choices. A choice listed twice has twice the probability."""
    drawn = {key: v if isinstance(v, st.SearchStrategy) else st.sampled_from(v) for key, v in choices.items()}
    return st.tuples(st.just(name), st.fixed_dictionaries(drawn))


def weighted(*choices: tuple[int, Steps]) -> Steps:
    """Draw from one of several strategies, in proportion to their weights."""
    return st.sampled_from([s for weight, s in choices for _ in range(weight)]).flatmap(lambda s: s)


def mixed(*kinds: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Combine property maps: one map of each kind, in all combinations."""
    maps: list[Mapping[str, str]] = [{}]
    for kind in kinds:
        maps = [{**before, **more} for before in maps for more in kind]
    return maps


def seeded_settings(examples: int, *phases: Phase, **more: Any) -> settings:
    """Return quiet settings without deadline or database, so that the examples depend on the seed alone."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=phases,
        verbosity=Verbosity.quiet,
        backend=BACKEND,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        **more,
    )


def examples(strategy: st.SearchStrategy[list[Step]], count: int, seed: int) -> list[list[Step]]:
    """Return `count` examples. If Hypothesis finds too few distinct examples, some are repeated."""
    drawn: list[list[Step]] = []
    while len(drawn) < count:
        wanted = min(_CHUNK, count - len(drawn))
        drawn += _batch(strategy, wanted, seed + len(drawn))[:wanted]
    return drawn


def _batch(strategy: st.SearchStrategy[list[Step]], wanted: int, seed: int) -> list[list[Step]]:
    drawn: list[list[Step]] = []

    def keep(steps: list[Step]) -> None:
        drawn.append(steps)

    seeded(seed)(seeded_settings(wanted, Phase.generate)(given(strategy)(keep)))()
    return drawn
