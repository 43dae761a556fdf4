"""The public API: the modelling language, and functions that decide a model, assert it in a test, and judge brokers, histories and stores.

All names are re-exported from other packages. The language and the results are imported at once. Everything that needs an engine, a
deployment or a table is imported on first use, so that `import rocketproof` takes a tenth of a second. Names that are not in `__all__` are
private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rocketproof_model import (
    ANY,
    Action,
    BagOf,
    Body,
    Bool,
    Enum,
    EvaluationError,
    Expr,
    Field,
    Guard,
    Index,
    Instance,
    Int,
    LimitReached,
    Maybe,
    Model,
    ModelError,
    Property,
    Record,
    RocketproofError,
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
from rocketproof_model.faults import ModelFault
from rocketproof_model.result import Coverage, Explored, Limits, Move, Outcome, Witness
from rocketproof_profiles import PROFILES

if TYPE_CHECKING:
    from rocketproof_model import lemmas, liveness, search, simulate, symbolic
    from rocketproof_model.proofs import certificate, invariants, spacer
    from rocketproof_properties.commands.library.asserting import Refuted, assert_holds, assert_violated
    from rocketproof_properties.commands.library.checking import Outcomes, check
    from rocketproof_properties.commands.library.exploring import explore
    from rocketproof_properties.commands.library.recorded import audit, judge
    from rocketproof_properties.commands.library.target import Target
    from rocketproof_properties.commands.library.walking import assert_shows
    from rocketproof_properties.commands.library.witnesses import load_witness
    from rocketproof_properties.judging.undecided import Undecided
else:
    _LATER = {
        "Outcomes": "checking",
        "Refuted": "asserting",
        "Target": "target",
        "Undecided": "asserting",
        "assert_holds": "asserting",
        "assert_shows": "walking",
        "assert_violated": "asserting",
        "audit": "recorded",
        "check": "checking",
        "explore": "exploring",
        "judge": "recorded",
        "load_witness": "witnesses",
    }
    _ENGINES = ("lemmas", "liveness", "search", "simulate", "symbolic", "proofs.certificate", "proofs.invariants", "proofs.spacer")
    _MODULES = {place.rpartition(".")[2]: f"rocketproof_model.{place}" for place in _ENGINES}

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = import_module(_MODULES[name])
        elif name in _LATER:
            value = getattr(import_module(f"rocketproof_properties.commands.library.{_LATER[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "ANY",
    "Action",
    "BagOf",
    "Body",
    "Bool",
    "Coverage",
    "Enum",
    "EvaluationError",
    "Explored",
    "Expr",
    "Field",
    "Guard",
    "Index",
    "Instance",
    "Int",
    "LimitReached",
    "Limits",
    "Maybe",
    "Model",
    "ModelError",
    "ModelFault",
    "Move",
    "Outcome",
    "Outcomes",
    "PROFILES",
    "Property",
    "Record",
    "Refuted",
    "RocketproofError",
    "Row",
    "SeqOf",
    "SetOf",
    "Target",
    "Type",
    "Undecided",
    "Variable",
    "Witness",
    "after",
    "all_of",
    "any_of",
    "assert_holds",
    "assert_shows",
    "assert_violated",
    "audit",
    "certificate",
    "check",
    "count",
    "exists",
    "first",
    "explore",
    "forall",
    "free",
    "full",
    "generalise",
    "history",
    "implies",
    "include",
    "invariants",
    "ite",
    "java_abs",
    "judge",
    "lemmas",
    "liveness",
    "load_witness",
    "maximum",
    "minimum",
    "one_of",
    "only",
    "owner",
    "rem",
    "search",
    "simulate",
    "single",
    "spacer",
    "symbolic",
    "total",
    "without_bits",
    "wrap32",
]
