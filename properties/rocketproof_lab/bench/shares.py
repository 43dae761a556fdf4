"""Compute the share of CPU time of each part of the program in a profiled run.

Time of functions that belong to no part (built-in functions, the standard library, small shared modules) is charged to their callers in
proportion.
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
"""The part by the location of its modules."""

REST = "rest"


def shares(profiler: cProfile.Profile) -> dict[str, float]:
    """Return the share of the time by part, the largest first. The sum is 1."""
    stats: dict[Function, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    known: dict[Function, Counter[str]] = {}
    total: Counter[str] = Counter()
    for function, (_, _, own, _, _) in stats.items():
        for part, share in _parts(function, stats, known).items():
            total[part] += share * own
    whole = sum(total.values()) or 1.0
    return {part: spent / whole for part, spent in total.most_common()}


def _parts(function: Function, stats: dict[Function, Any], known: dict[Function, Counter[str]]) -> Counter[str]:
    """Return the parts to which a function's time is charged. The sum is 1."""
    part = part_of(function[0])
    if part is not None:
        return Counter({part: 1.0})
    if function not in known:
        known[function] = Counter({REST: 1.0})  # ends the recursion of indirectly recursive functions
        callers = {caller: spent for caller, (_, _, _, spent) in stats[function][4].items() if caller != function}
        whole = sum(callers.values())
        if whole > 0:
            charged: Counter[str] = Counter()
            for caller, spent in callers.items():
                for name, share in _parts(caller, stats, known).items():
                    charged[name] += share * spent / whole
            known[function] = charged
    return known[function]


def part_of(path: str) -> str | None:
    """Return the part that a source file belongs to."""
    plain = path.replace("\\", "/")
    return next((part for place, part in PARTS.items() if f"/{place}" in plain), None)
