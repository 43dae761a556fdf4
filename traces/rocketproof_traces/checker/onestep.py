"""The base class of requests that take effect in one step."""

from __future__ import annotations

from rocketproof_model.interpreter import State

from .steps import Local, OnlyPath, RequestStep

OVER: Local = (0,)
"""The only local state of a request with one step."""


class OneStep:
    """A request that takes effect in one step."""

    @property
    def stateless(self) -> bool:
        return False

    def only_path(self, shared: State, local: Local) -> OnlyPath | None:
        return None

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        return None

    def future(self, local: Local) -> tuple[int, int]:
        return 0, -1

    def canonical(self, local: Local) -> Local:
        return local


__all__ = ["OVER", "OneStep"]
