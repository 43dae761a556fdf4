"""What a broker has to find under a key: what the reference implementation finds there at any time, as far as the target has stored it in
the time that was asked for.

An index file counts time in whole seconds from its own first record, which each side has its own of: what was stored within a second of a
bound may be found or not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketproof_impl.broker.inspection import ASKS_UNIQUE, MOST_UNIQUE
from rocketproof_impl.java import LONG_MAX
from rocketproof_impl.store.index import MOST_FOUND
from rocketproof_impl.store.indexfile import SECOND
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import INT, java_long, whole_number

from ...brokers.runs.queries import REACHES
from .comparison import FieldDifference

ANSWERS = (codes.SUCCESS, codes.QUERY_NOT_FOUND)


@dataclass(frozen=True)
class Sought:
    """How many records may be found, and between which times they were stored (ms)."""

    most: int
    begin: int
    end: int

    def surely(self, stored: int) -> bool:
        return self.begin + SECOND <= stored <= self.end or (self.begin == 0 and stored <= self.end)

    def perhaps(self, stored: int) -> bool:
        return self.begin <= stored and stored - SECOND < self.end


def sought(fields: Mapping[str, str]) -> Sought | None:
    """What a request asks for; None for one that is refused."""
    try:
        most = MOST_UNIQUE if fields.get(ASKS_UNIQUE) == "true" else whole_number(fields["maxNum"], INT)
        found = Sought(min(most, MOST_FOUND), whole_number(fields["beginTimestamp"]), whole_number(fields["endTimestamp"]))
    except (KeyError, ValueError):
        return None
    return found if most >= 0 and "topic" in fields and "key" in fields else None


def at_any_time(fields: Mapping[str, str]) -> dict[str, str]:
    """The same request for all that may be found under the key."""
    wide = {"maxNum": str(MOST_FOUND), "beginTimestamp": "0", "endTimestamp": str(LONG_MAX)}
    return {name: text for name, text in fields.items() if name != ASKS_UNIQUE} | wide


def all_of(args: Mapping[str, Any], made_up: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a step that asks for the same here, at any time; keys that the target has made up are others here."""
    return {"topic": args["topic"], "key": made_up.get(args["key"], args["key"]), "most": MOST_FOUND}


def differences(
    asked: Sought,
    there: Sequence[int],
    stored: Mapping[int, int],
    told: Mapping[str, str],
    found: Sequence[int],
    *,
    late: Collection[int] = (),
) -> Iterator[FieldDifference]:
    """Where an answer is not as it has to be: its fields `told`, and the records `found`, by their places on the target. `there`: the
    places of all records under the key, once for each time that they have it; `stored`: since when; `late` may not be in the index yet."""
    possible = sorted(place for place in there if asked.perhaps(stored[place]))
    sure = [place for place in possible if asked.surely(stored[place]) and place not in late]
    newest = possible[-asked.most :] if asked.most else []
    if sure == possible:
        wrong = list(found) != newest
    else:
        strange = any(found.count(place) > possible.count(place) for place in found)
        missing = len(possible) <= asked.most and any(found.count(place) < sure.count(place) for place in sure)
        wrong = strange or missing or len(found) > asked.most or list(found) != sorted(found)
    if wrong:
        yield FieldDifference("records", list(found), newest)
        return
    least = [max(stored[place] for place in found), max(found)] if found else [0, 0]
    for name, other in zip(REACHES, least, strict=True):
        text = told.get(name, "")
        reach = java_long(text)
        if reach is None or (reach < other if found else reach != 0):
            yield FieldDifference(f"extFields.{name}", text, f"{other} or more" if found else "0")
