"""rocketproof's modelling language: write a model once, check it with every engine."""

from .errors import EvaluationError, LimitReached, ModelError, RocketproofError
from .expr import (
    Expr,
    Row,
    after,
    all_of,
    any_of,
    count,
    exists,
    forall,
    free,
    generalise,
    implies,
    ite,
    java_abs,
    maximum,
    minimum,
    rem,
    single,
    total,
    without_bits,
    wrap32,
)
from .model import Action, Body, Guard, Instance, Model, Property, Variable
from .types import Bool, Enum, Index, Int, Maybe, Record, SetOf, Type

__all__ = [
    "Action", "Body", "Bool", "Enum", "EvaluationError", "Expr", "Guard", "Index", "Instance", "Int", "LimitReached", "Maybe", "Model",
    "ModelError", "Property", "Record", "RocketproofError", "Row", "SetOf", "Type", "Variable", "after", "all_of", "any_of", "count",
    "exists", "forall", "free", "generalise", "implies", "ite", "java_abs", "maximum", "minimum", "rem", "single", "total", "without_bits", "wrap32",
]  # fmt: skip
