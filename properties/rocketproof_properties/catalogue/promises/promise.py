"""A promise: what users rely on in every release, whatever a release does. It has no profile and no expected verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rocketproof_traces.audit.rules import Over, rule

from ..claim import HistoryClaim


@dataclass(frozen=True)
class Promise:
    """A promise with its formula.

    - `source`: the documentation or the client's contract that it is derived from.
    - `own`: its formula over the rows of a history. Otherwise its formulas are those that `refers` names: claims about histories, rules of
      stores, comparisons of a restart (`restart.topics`), of a slave (`slave.topics`), and claims about machine faults (`fault.lost`).
    """

    id: str
    theme: str
    sentence: str
    source: str
    own: HistoryClaim | None = None
    refers: tuple[str, ...] = ()


@dataclass(frozen=True)
class PromiseTheme:
    """The name of a group of promises."""

    name: str

    def over(self, kind: Over, id_: str, sentence: str, source: str, formula: Any, expected: Any, found: Any) -> Promise:
        """Return a promise over the rows of one kind. Raises ModelError."""
        return Promise(
            id_, self.name, sentence, source, HistoryClaim(id_, sentence, (rule(id_, sentence, kind, "error", formula, expected, found),))
        )

    def as_in(self, id_: str, sentence: str, source: str, *refers: str) -> Promise:
        """Return a promise whose formulas are stated elsewhere."""
        return Promise(id_, self.name, sentence, source, refers=refers)
