"""The modelling language: types, terms, records, variables, actions and models. Each module uses only earlier ones of the list."""

from .actions import Action, Assignment, Body, Fairness, Guard
from .composition import history, include
from .containers import Containers
from .expr import DEEPEST, Expr, Index, children, coerce, const, element_name, free, in_reach, index, show, walk
from .model import Instance, Model
from .numbers import BINARY, fold32, java_rem
from .observers import LASTING, OBSERVED, Observer, observed
from .operations import all_of, any_of, full, implies, java_abs, maximum, minimum, owner, rem, single, without_bits, wrap32
from .properties import Kind, Property, formula_text
from .quantifiers import count, exists, first, forall, only, total
from .records import Field, Maybe, MaybeShape, MaybeValue, Record, Row, after, ite
from .sentences import ROLES, StepSentence, in_form
from .sequences import Seq, SeqOf
from .sets import BagOf, Many, SetOf
from .shown import Container, ShownVariable
from .traverse import generalise, joined, premises, rewrite
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
    "DEEPEST",
    "Enum",
    "EnumType",
    "Expr",
    "Fairness",
    "Field",
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
    "ROLES",
    "Record",
    "Row",
    "Seq",
    "SeqOf",
    "SetOf",
    "SetType",
    "ShownVariable",
    "StepSentence",
    "Table",
    "Type",
    "Assignment",
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
    "first",
    "fold32",
    "forall",
    "free",
    "full",
    "generalise",
    "held",
    "history",
    "implies",
    "in_form",
    "in_reach",
    "include",
    "index",
    "ite",
    "java_abs",
    "joined",
    "java_rem",
    "maximum",
    "minimum",
    "observed",
    "one_of",
    "only",
    "owner",
    "premises",
    "rem",
    "rewrite",
    "show",
    "single",
    "formula_text",
    "total",
    "walk",
    "without_bits",
    "wrap32",
]
