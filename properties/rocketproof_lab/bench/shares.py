"""Which part of the program took how much of the CPU time of a profiled run.

What belongs to no part (built-in functions, the standard library, small modules that everybody uses) is charged to
its callers, in proportion.
"""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from typing import Any

Function = tuple[str, int, str]

PARTS = {
    "rocketproof_impl/producer/": "producer",
    "rocketproof_impl/remoting/": "wire and headers",
    "rocketproof_impl/broker/": "broker",
    "rocketproof_impl/store/": "store",
    "rocketproof_impl/kvconfig.py": "name server",
    "rocketproof_impl/nameserver.py": "name server",
    "rocketproof_impl/routeinfo.py": "name server",
    "rocketproof_impl/route.py": "name server",
    "rocketproof_impl/simulator/": "simulator",
    "rocketproof_impl/tasks.py": "simulator",
    "rocketproof_model/": "specification",
    "rocketproof_properties/conformance/stateful/": "stateful engine",
    "hypothesis/": "Hypothesis",
}
"""Part by where its modules are."""

REST = "rest"


def shares(profiler: cProfile.Profile) -> dict[str, float]:
    """Part to its share of the time, the largest first; together 1."""
    stats: dict[Function, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    known: dict[Function, Counter[str]] = {}
    total: Counter[str] = Counter()
    for function, (_, _, own, _, _) in stats.items():
        for part, share in _parts(function, stats, known).items():
            total[part] += share * own
    whole = sum(total.values()) or 1.0
    return {part: spent / whole for part, spent in total.most_common()}


def _parts(function: Function, stats: dict[Function, Any], known: dict[Function, Counter[str]]) -> Counter[str]:
    """To which parts a function's time is charged, together 1."""
    part = part_of(function[0])
    if part is not None:
        return Counter({part: 1.0})
    if function not in known:
        known[function] = Counter({REST: 1.0})  # what calls itself round about meets this
        callers = {caller: spent for caller, (_, _, _, spent) in stats[function][4].items() if caller != function}
        whole = sum(callers.values())
        if whole > 0:
            found: Counter[str] = Counter()
            for caller, spent in callers.items():
                for name, share in _parts(caller, stats, known).items():
                    found[name] += share * spent / whole
            known[function] = found
    return known[function]


def part_of(path: str) -> str | None:
    """The part that a source file belongs to."""
    plain = path.replace("\\", "/")
    return next((part for place, part in PARTS.items() if f"/{place}" in plain), None)
