"""Print the routing model in Promela: `python generate.py B P M K C > routing.pml`.

Promela's arrays have whole bytes for elements and take time to index, so every action is written out for each of its
arguments, over variables of as many bits as they need: SPIN's fastest form. A request in flight is one number, 0 for
none, else 1 + 4 * broker + queue. Each step asserts the three invariants.
"""

import sys
from collections.abc import Iterator

QUEUES = 4


def bits(most: int) -> str:
    return "bit" if most < 2 else "unsigned"


def declare(name: str, most: int, initial: int = 0) -> str:
    width = "" if most < 2 else f" : {most.bit_length()}"
    return f"{bits(most)} {name}{width} = {initial};"


def model(B: int, P: int, M: int, K: int, C: int) -> Iterator[str]:
    brokers, producers, queues = range(B), range(P), range(QUEUES)
    everyone = (1 << B) - 1
    for b in brokers:
        yield declare(f"created{b}", 1)
        yield declare(f"queues{b}", QUEUES)
        yield declare(f"perm{b}", 7)
        yield declare(f"registered{b}", 1, 1)
        for q in queues:
            yield declare(f"offset{b}_{q}", K)
    yield declare("route", everyone)
    for p in producers:
        yield declare(f"cached{p}", everyone)
        yield declare(f"fallback{p}", 1)
        yield declare(f"request{p}", QUEUES * B)
        yield declare(f"sent{p}", M)
    yield declare("crashes", C)
    append = [f"(offset{b}_{q} == 0 || queues{b} > {q})" for b in brokers for q in queues]
    plain = [f"(perm{b} & 1) == 0" for b in brokers]
    offsets = " + ".join(f"offset{b}_{q}" for b in brokers for q in queues)
    yield f"#define INVARIANTS ({' && '.join(append + plain)} && {offsets} == {' + '.join(f'sent{p}' for p in producers)})"
    yield "active proctype routing() {"
    yield "  do"
    for p in producers:
        routed = f"(cached{p} != 0 || fallback{p})"
        yield step(f"!{routed}", f"cached{p} = route; fallback{p} = (route == 0)")
        yield step(f"{routed} && route != 0 && route != cached{p}", f"cached{p} = route; fallback{p} = 0")
        for b in brokers:
            for q in queues:
                request = 1 + QUEUES * b + q
                yield step(f"request{p} == 0 && sent{p} < {M} && (fallback{p} || (cached{p} & {1 << b}) != 0)", f"request{p} = {request}")
                create = f"if :: created{b} -> skip :: else -> created{b} = 1; queues{b} = 4; perm{b} = 6; registered{b} = 0 fi"
                yield step(
                    f"request{p} == {request} && offset{b}_{q} < {K}",
                    f"{create}; offset{b}_{q}++; request{p} = 0; sent{p}++",
                )
    for b in brokers:
        yield step(f"!registered{b}", f"registered{b} = 1; if :: created{b} -> route = route | {1 << b} :: else -> skip fi")
        first, last = 1 + QUEUES * b, QUEUES * (b + 1)
        lost = "; ".join(f"if :: request{p} >= {first} && request{p} <= {last} -> request{p} = 0 :: else -> skip fi" for p in producers)
        yield step(f"crashes < {C}", f"crashes++; registered{b} = 0; route = route & {everyone & ~(1 << b)}; {lost}")
    yield "  :: false"
    yield "  od"
    yield "}"


def step(guard: str, effect: str) -> str:
    return f"  :: d_step {{ {guard} -> {effect}; assert(INVARIANTS) }}"


print("\n".join(model(*map(int, sys.argv[1:6]))))
