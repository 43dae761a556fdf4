"""All values of a shape: as terms, as the codes of their parts, and as readable text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .expr import Expr, const
from .records import MaybeShape, Shape, made_of, parts_of
from .types import Int, Type

MOST_CELLS = 1 << 14
"""Maximum of possible members of a set or a bag, and of places of a sequence."""


def constants_of(type_: Type) -> list[Expr]:
    """Return the values of a type, as terms."""
    return [const(code, Int(code, code) if type(type_) is Type else type_) for code in type_.codes()]


def values_of(shape: Shape) -> Iterator[Any]:
    """Yield every value of a shape, as terms, in the order of `codes_of`."""
    types = [type_ for _, type_ in parts_of(shape)]
    constants = [dict(zip(type_.codes(), constants_of(type_), strict=True)) for type_ in types]
    for codes in codes_of(shape):
        yield made_of(shape, iter([known[code] for known, code in zip(constants, codes, strict=True)]))


def codes_of(shape: Any) -> Iterator[tuple[int, ...]]:
    """Yield every value of a shape as the codes of its parts, in their order."""
    if isinstance(shape, Type):
        yield from ((code,) for code in shape.codes())
    elif isinstance(shape, MaybeShape):
        lowest = [type_.lo for _, type_ in parts_of(shape.of)]
        yield (0,) * len(lowest)
        for codes in codes_of(shape.of):
            yield tuple(code - lo + 1 for code, lo in zip(codes, lowest, strict=True))
    else:
        fields = shape if isinstance(shape, tuple) else shape.fields.values()
        yield from (tuple(itertools.chain(*combination)) for combination in itertools.product(*map(codes_of, fields)))


def text_of(shape: Any, codes: Iterator[int]) -> str:
    """Return the readable text of a value from the codes of its parts: `[type: 1a, ballot: 0]`, `(0, 1)`, `None`."""
    if isinstance(shape, Type):
        return shape.text(next(codes))
    if isinstance(shape, MaybeShape):
        inside = _inside(shape, codes)
        return "None" if inside is None else text_of(shape.of, inside)
    if isinstance(shape, tuple):
        return "(" + ", ".join(text_of(part, codes) for part in shape) + ")"
    return "[" + ", ".join(f"{name}: {text_of(part, codes)}" for name, part in shape.fields.items()) + "]"


def data_of(shape: Any, codes: Iterator[int]) -> Any:
    """Return a value as data: a dict for a record, a tuple for a tuple."""
    if isinstance(shape, Type):
        return shape.decode(next(codes))
    if isinstance(shape, MaybeShape):
        inside = _inside(shape, codes)
        return None if inside is None else data_of(shape.of, inside)
    if isinstance(shape, tuple):
        return tuple(data_of(part, codes) for part in shape)
    return {name: data_of(part, codes) for name, part in shape.fields.items()}


def _inside(shape: MaybeShape, codes: Iterator[int]) -> Iterator[int] | None:
    """Take the codes of a Maybe from `codes` and return those of the value it holds, None if it is None."""
    pairs = [(next(codes), type_.lo) for _, type_ in parts_of(shape.of)]
    return iter([code - 1 + lo for code, lo in pairs]) if pairs[0][0] else None


__all__ = ["codes_of", "constants_of", "data_of", "text_of", "values_of"]


def unpacked(value: Any) -> tuple[Any, ...]:
    """Return the arguments for a function of a member: a tuple's parts, or the member alone."""
    return value if isinstance(value, tuple) else (value,)
