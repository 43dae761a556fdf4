"""The same seed gives the same programs everywhere: how Hypothesis draws numbers for them.

By itself it takes some of its numbers from the constants in the sources that lie outside of `site-packages`, so that a seed would mean
other programs in another checkout, after any edit, and where the package is installed. Its backends are how somebody else may draw.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND: Final = "rocketproof"
"""The name under which `hypothesis.settings` takes it."""


class SeededProvider(HypothesisProvider):
    """Hypothesis' own way of drawing, without constants of any sources."""

    def _maybe_draw_constant(self, *args: Any, **keywords: Any) -> None:
        del args, keywords


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{SeededProvider.__name__}"
