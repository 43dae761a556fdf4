"""Lower bounds for answers to max-offset queries: a queue's entries are only ever appended (REC-04), so its end never goes back.

The state needs no memory for this. Take any two queries of which the first ended before the second began. If the second answer is never the
smaller, there is an order in which the ends grow as late as possible. So each answer is compared only with the greatest earlier answer. The
end of records in flight (`committed`: false) is separate from the end of dispatched records.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..history.exchange import Exchange


def earlier_max_offsets(queries: Sequence[Exchange]) -> dict[int, int]:
    """Return for each query, by the event that began it, the greatest answer of the queries for the same end that had ended before.
    `queries` is in the order in which they began."""
    ended = sorted((query for query in queries if query.end is not None), key=lambda query: query.end or 0, reverse=True)
    furthest: dict[tuple[str, int, str], int] = {}
    bounds = {}
    for query in queries:
        while ended and (ended[-1].end or 0) < query.seq:
            earlier = ended.pop()
            furthest[_end(earlier)] = max(furthest.get(_end(earlier), 0), earlier.answered("offset") or 0)
        bounds[query.seq] = furthest.get(_end(query), 0)
    return bounds


def _end(query: Exchange) -> tuple[str, int, str]:
    return query.topic, query.number("queueId"), str(query.fields.get("committed", True)).lower()


__all__ = ["earlier_max_offsets"]
