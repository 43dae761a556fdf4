"""The modelling language: types, terms, records, variables, actions and the model that they make, each module above the ones before it."""

from .actions import Action, Body, Fairness, Guard, Update
from .composition import history, include
from .containers import BagOf, Containers, Many, Seq, SeqOf, SetOf
from .expr import Expr, Index, coerce, const, element_name, free, index, show
from .model import Instance, Kind, Model, Property
from .numbers import BINARY, fold32, java_rem
from .operations import (
    all_of,
    any_of,
    implies,
    java_abs,
    maximum,
    minimum,
    rem,
    single,
    without_bits,
    wrap32,
)
from .quantifiers import count, exists, forall, total
from .records import Record, Row, after, ite
from .shown import Container, Shown
from .traverse import children, generalise, rewrite, walk
from .types import JAVA_INT, Bool, BoolType, Enum, EnumType, HoldingType, IndexType, Int, Maybe, MaybeType, SetType, Type, held
from .variables import ANY, Table, Variable, one_of

__all__ = [
    "ANY",
    "Action",
    "BINARY",
    "BagOf",
    "Body",
    "Bool",
    "BoolType",
    "Container",
    "Containers",
    "Enum",
    "EnumType",
    "Expr",
    "Fairness",
    "Guard",
    "HoldingType",
    "Index",
    "IndexType",
    "Instance",
    "Int",
    "JAVA_INT",
    "Kind",
    "Maybe",
    "Many",
    "MaybeType",
    "Model",
    "Property",
    "Record",
    "Row",
    "Seq",
    "SeqOf",
    "SetOf",
    "SetType",
    "Shown",
    "Table",
    "Type",
    "Update",
    "Variable",
    "after",
    "all_of",
    "any_of",
    "children",
    "coerce",
    "const",
    "count",
    "element_name",
    "exists",
    "fold32",
    "forall",
    "free",
    "generalise",
    "held",
    "history",
    "implies",
    "include",
    "index",
    "ite",
    "java_abs",
    "java_rem",
    "maximum",
    "minimum",
    "one_of",
    "rem",
    "rewrite",
    "show",
    "single",
    "total",
    "walk",
    "without_bits",
    "wrap32",
]
