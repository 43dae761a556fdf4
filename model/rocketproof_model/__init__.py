"""rocketproof's modelling language: write a model once, check it with every engine.

The language is imported on first use: it takes a third of the start of a command that needs only `interrupts` or an error.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import EvaluationError, LimitReached, ModelError, RocketproofError

if TYPE_CHECKING:
    from .language import (
        ANY,
        Action,
        BagOf,
        Body,
        Bool,
        Enum,
        Expr,
        Field,
        Guard,
        Index,
        Instance,
        Int,
        Maybe,
        Model,
        Property,
        Record,
        Row,
        SeqOf,
        SetOf,
        Type,
        Variable,
        after,
        all_of,
        any_of,
        count,
        exists,
        first,
        forall,
        free,
        full,
        generalise,
        history,
        implies,
        include,
        ite,
        java_abs,
        maximum,
        minimum,
        one_of,
        only,
        owner,
        rem,
        single,
        total,
        without_bits,
        wrap32,
    )
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.language"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "ANY",
    "Action",
    "BagOf",
    "Body",
    "Bool",
    "Enum",
    "EvaluationError",
    "Expr",
    "Field",
    "Guard",
    "Index",
    "Instance",
    "Int",
    "LimitReached",
    "Maybe",
    "Model",
    "ModelError",
    "Property",
    "Record",
    "RocketproofError",
    "Row",
    "SeqOf",
    "SetOf",
    "Type",
    "Variable",
    "after",
    "all_of",
    "any_of",
    "count",
    "exists",
    "first",
    "forall",
    "free",
    "full",
    "generalise",
    "history",
    "implies",
    "include",
    "ite",
    "java_abs",
    "maximum",
    "minimum",
    "one_of",
    "only",
    "owner",
    "rem",
    "single",
    "total",
    "without_bits",
    "wrap32",
]
