"""How programs are drawn: weighted steps as Hypothesis strategies, and examples of them that a seed fixes everywhere.

By itself Hypothesis takes some of its numbers from the constants in the sources that lie outside of `site-packages`, so that a seed
would mean other programs in another checkout, after any edit, and where the package is installed. A backend of its own draws without.
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
"""The name under which `hypothesis.settings` takes it."""


class SeededProvider(HypothesisProvider):
    """Hypothesis' own way of drawing, without constants of any sources."""

    def _maybe_draw_constant(self, *args: Any, **keywords: Any) -> None:
        del args, keywords


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{SeededProvider.__name__}"


def step(name: str, /, **choices: Sequence[Any] | st.SearchStrategy[Any]) -> Steps:
    """A step with each argument drawn from its choices; one that is there twice is drawn twice as often."""
    drawn = {key: v if isinstance(v, st.SearchStrategy) else st.sampled_from(v) for key, v in choices.items()}
    return st.tuples(st.just(name), st.fixed_dictionaries(drawn))


def weighted(*choices: tuple[int, Steps]) -> Steps:
    """One of several, each as often as its number says."""
    return st.sampled_from([s for weight, s in choices for _ in range(weight)]).flatmap(lambda s: s)


def mixed(*kinds: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Property maps and their combinations, one of each kind."""
    found: list[Mapping[str, str]] = [{}]
    for kind in kinds:
        found = [{**before, **more} for before in found for more in kind]
    return found


def seeded_settings(examples: int, *phases: Phase, **more: Any) -> settings:
    """So many examples that depend on the seed alone, without a word: no deadline, nothing kept from an earlier run."""
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
    """So many examples; where Hypothesis knows no further ones, those it has are taken again."""
    found: list[list[Step]] = []
    while len(found) < count:
        wanted = min(_CHUNK, count - len(found))
        found += _batch(strategy, wanted, seed + len(found))[:wanted]
    return found


def _batch(strategy: st.SearchStrategy[list[Step]], wanted: int, seed: int) -> list[list[Step]]:
    found: list[list[Step]] = []

    def keep(steps: list[Step]) -> None:
        found.append(steps)

    seeded(seed)(seeded_settings(wanted, Phase.generate)(given(strategy)(keep)))()
    return found
