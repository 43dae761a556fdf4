"""All values of a shape: as terms, as the codes of their parts, and as a person reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .expr import Expr, const
from .records import MaybeShape, Shape, made_of, parts_of
from .types import Int, Type

MOST_CELLS = 1 << 14
"""Values that a member of a set or a bag can have, and places of a sequence."""


def constants_of(type_: Type) -> list[Expr]:
    """The values of a type, as terms."""
    return [const(code, Int(code, code) if type(type_) is Type else type_) for code in type_.codes()]


def values_of(shape: Shape) -> Iterator[Any]:
    """Every value of a shape, as terms, in the order of `codes_of`."""
    types = [type_ for _, type_ in parts_of(shape)]
    constants = [dict(zip(type_.codes(), constants_of(type_), strict=True)) for type_ in types]
    for codes in codes_of(shape):
        yield made_of(shape, iter([known[code] for known, code in zip(constants, codes, strict=True)]))


def codes_of(shape: Any) -> Iterator[tuple[int, ...]]:
    """Every value of a shape, as the codes of its parts, in their order."""
    if isinstance(shape, Type):
        yield from ((code,) for code in shape.codes())
    elif isinstance(shape, MaybeShape):
        lowest = [type_.lo for _, type_ in parts_of(shape.of)]
        yield (0,) * len(lowest)
        for codes in codes_of(shape.of):
            yield tuple(code - lo + 1 for code, lo in zip(codes, lowest, strict=True))
    else:
        fields = shape if isinstance(shape, tuple) else shape.fields.values()
        yield from (tuple(itertools.chain(*each)) for each in itertools.product(*map(codes_of, fields)))


def text_of(shape: Any, codes: Iterator[int]) -> str:
    """A value as a person reads it: `[type: 1a, ballot: 0]`, `(0, 1)`, `None`; the codes are those of its parts."""
    if isinstance(shape, Type):
        return shape.text(next(codes))
    if isinstance(shape, MaybeShape):
        inside = _inside(shape, codes)
        return "None" if inside is None else text_of(shape.of, inside)
    if isinstance(shape, tuple):
        return "(" + ", ".join(text_of(each, codes) for each in shape) + ")"
    return "[" + ", ".join(f"{name}: {text_of(each, codes)}" for name, each in shape.fields.items()) + "]"


def data_of(shape: Any, codes: Iterator[int]) -> Any:
    """A value as data: a dict for a record, a tuple for a tuple."""
    if isinstance(shape, Type):
        return shape.decode(next(codes))
    if isinstance(shape, MaybeShape):
        inside = _inside(shape, codes)
        return None if inside is None else data_of(shape.of, inside)
    if isinstance(shape, tuple):
        return tuple(data_of(each, codes) for each in shape)
    return {name: data_of(each, codes) for name, each in shape.fields.items()}


def _inside(shape: MaybeShape, codes: Iterator[int]) -> Iterator[int] | None:
    """The codes of the parts of what a Maybe holds, if it holds something; they are taken from `codes`."""
    pairs = [(next(codes), type_.lo) for _, type_ in parts_of(shape.of)]
    return iter([code - 1 + lo for code, lo in pairs]) if pairs[0][0] else None


__all__ = ["codes_of", "constants_of", "data_of", "text_of", "values_of"]


def apart(value: Any) -> tuple[Any, ...]:
    """The values that a function of a member is handed: of a tuple its parts."""
    return value if isinstance(value, tuple) else (value,)
