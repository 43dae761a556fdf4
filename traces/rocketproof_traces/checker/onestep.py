"""A request that takes effect at one time: what all such requests have in common."""

from __future__ import annotations

from rocketproof_model.interpreter import State

from .steps import Alone, Local, RequestStep

OVER: Local = (0,)
"""The one local state of such a request."""


class OneStep:
    """A request that takes effect at one time."""

    @property
    def stateless(self) -> bool:
        return False

    def alone(self, shared: State, local: Local) -> Alone | None:
        return None

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        return None

    def future(self, local: Local) -> tuple[int, int]:
        return 0, -1

    def canonical(self, local: Local) -> Local:
        return local


__all__ = ["OVER", "OneStep"]
