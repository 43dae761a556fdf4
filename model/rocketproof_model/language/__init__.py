"""The modelling language: types, terms, records, variables, actions and the model that they make, each module above the ones before it."""

from .actions import Action, Body, Fairness, Guard, Update
from .composition import history, include
from .containers import BagOf, Containers, Many, Seq, SeqOf, SetOf
from .expr import Expr, Index, coerce, const, element_name, free, index, show
from .model import Instance, Model
from .numbers import BINARY, fold32, java_rem
from .observers import LASTING, OBSERVED, Observer, observed
from .operations import (
    all_of,
    any_of,
    implies,
    java_abs,
    maximum,
    minimum,
    owner,
    rem,
    single,
    without_bits,
    wrap32,
)
from .properties import Kind, Property, told
from .quantifiers import count, exists, forall, total
from .records import Maybe, MaybeShape, MaybeValue, Record, Row, after, ite
from .shown import Container, Shown
from .traverse import children, generalise, rewrite, walk
from .types import JAVA_INT, Bool, BoolType, Enum, EnumType, HoldingType, IndexType, Int, MaybeType, SetType, Type, held
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
    "LASTING",
    "Maybe",
    "Many",
    "MaybeShape",
    "MaybeType",
    "MaybeValue",
    "Model",
    "OBSERVED",
    "Observer",
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
    "observed",
    "one_of",
    "owner",
    "rem",
    "rewrite",
    "show",
    "single",
    "told",
    "total",
    "walk",
    "without_bits",
    "wrap32",
]
