"""A user's model in one Python file, and the errors of such a file.

The file defines `model(**sizes)`, which returns a Model, or a Model named `model`. `SCOPES` is optional: a dict of a name to the sizes,
whose first entry is the default. `EXPECTED` is optional too: a dict of a property's id to `holds`, `violated` or `unknown`. A property that
it does not name is expected to hold. `FILE::NAME` is another function or Model of a file, for example a test's, without SCOPES and
EXPECTED. Every error becomes one line `file:line:column: what; how to fix it`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any

from rocketproof_model import EvaluationError, Instance, Model, ModelError
from rocketproof_model.interpreter import initial

from ..reports import userfile
from ..reports.choices import InputError, known, offer
from ..reports.userfile import UserFileKind, place_of

VERDICTS = ("holds", "violated", "unknown")
DEFAULT = "default"
NAMED = "::"
FILE = UserFileKind("model file", "a Python file with a model", "model")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A loaded file: its model in one scope, as an instance, and the author's expected verdict of each property."""

    path: str
    scope: str
    instance: Instance
    expected: dict[str, str]
    scopes: tuple[str, ...] = (DEFAULT,)

    @property
    def model(self) -> Model:
        return self.instance.model


def load(path: str, scope: str | None = None, given: Mapping[str, Any] = _NOTHING) -> ModelFile:
    """Run the file and build its model in `scope` (the first of SCOPES if None; `default` if the file has no SCOPES).

    `given`: values of the parameters of `model`, which override the scope's, and of the model's constants. Raises InputError in one line.
    """
    path, _, named = path.partition(NAMED)
    name = named or "model"
    source = userfile.read(path, FILE)
    module = _run(path, source)
    maker = getattr(module, name, None)
    if not isinstance(maker, Model) and not callable(maker):
        candidates = _others(module)
        instead = f"give {path}{NAMED}{candidates[0]}, or " if candidates else ""
        raise InputError(
            f"{path}:1:1: no {name} in this file; {instead}define `def {name}(): ...` that returns a Model, or a Model called `{name}`"
        )
    if named:
        return ModelFile(path, DEFAULT, _instance(path, source, maker, name, {}, given), {})
    scopes = getattr(module, "SCOPES", None) or {}
    place = place_of(path, source, "SCOPES")
    if not isinstance(scopes, Mapping) or not all(isinstance(k, str) and isinstance(v, Mapping) for k, v in scopes.items()):
        raise InputError(f"{place}: SCOPES is not a dict of names to sizes; write SCOPES = {{'small': {{'N': 2}}}}")
    if scope not in (None, DEFAULT) and not scopes:
        raise InputError(f"unknown scope {scope!r}; {path} has no SCOPES: leave out --scope, or add SCOPES = {{{scope!r}: {{...}}}}")
    name = known("scope", scope, scopes) if scope is not None and scopes else next(iter(scopes), DEFAULT)
    if isinstance(maker, Model) and scopes:
        raise InputError(f"{place}: SCOPES has no effect on a finished model; define `def model(**sizes)` instead")
    instance = _instance(path, source, maker, "model", {name: scopes[name]} if scopes else {}, given)
    expected = _expected(path, source, getattr(module, "EXPECTED", None) or {}, instance.model)
    return ModelFile(path, name, instance, expected, tuple(scopes) or (DEFAULT,))


def _others(module: ModuleType) -> list[str]:
    """Return the names of the file's other models, and of the functions annotated to return one."""
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", module.__name__) == module.__name__}
    built = [name for name, value in own.items() if getattr(value, "__annotations__", {}).get("return") in (Model, "Model")]
    return [*(name for name, value in vars(module).items() if isinstance(value, Model)), *built]


def settings(texts: Sequence[str], file: str | None) -> dict[str, Any]:
    """Parse NAME=VALUE settings of a file. A value is a number, True, False, None or a name. Raises InputError, also without a file."""
    if texts and file is None:
        raise InputError(f"--set {texts[0]} without a model file; the specification has scopes and profiles: leave it out")
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--set {text} is no size; give NAME=VALUE such as --set rms=4")
        if name in values:
            raise InputError(f"--set {text} gives {name} twice; leave one of the two out")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[name] = value
        if not isinstance(values[name], int | str | None):
            raise InputError(f"--set {text}: {value} is no number and no name; give a value such as 4, True or red")
    return values


def parameters_of(make: Callable[..., Model], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the model's function takes as parameters. The others are values of the model's constants."""
    parameters = inspect.signature(make).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(given)
    return {
        parameter.name: given[parameter.name]
        for parameter in parameters
        if parameter.name in given and parameter.kind is not parameter.POSITIONAL_ONLY
    }


def with_constants(model: Model, given: Mapping[str, Any], parameters: Sequence[str] = ()) -> Instance:
    """Set the model's constants. Raises InputError for a name that is neither a constant nor a parameter."""
    __tracebackhide__ = True  # hides this frame in tests
    for name in given:
        if name not in model.constants:
            names = [*parameters, *model.constants]
            raise InputError(f"{name} is no size and no constant of model {model.name}; {offer(name, names)}")
    try:
        return model.given(**given)
    except (ModelError, ValueError, TypeError) as error:
        text = error.problem if isinstance(error, ModelError) else str(error)
        raise InputError(f"constants of model {model.name}: {text}") from None


def _instance(path: str, source: str, maker: Any, name: str, scope: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> Instance:
    """Build the instance: call the file's function with the sizes of the scope and of `given`, or use its finished model."""
    if isinstance(maker, Model):
        model, sizes, parameters = maker, {}, []
    else:
        sizes, parameters = parameters_of(maker, given), list(inspect.signature(maker).parameters)
        model = _build(path, source, maker, name, {**next(iter(scope.values()), {}), **sizes}, next(iter(scope), ""))
    _inspect(place_of(path, source, name), model)
    return with_constants(model, {key: value for key, value in given.items() if key not in sizes}, parameters)


def _run(path: str, source: str) -> ModuleType:
    if path.endswith(".json"):
        raise InputError(f"{path} is not a Python file; a witness is shown by `rocketproof show {path}`")
    return userfile.execute(path, source, FILE)


def _build(path: str, source: str, make: Any, name: str, sizes: Mapping[str, Any], scope: str) -> Model:
    try:
        model = make(**sizes)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever a user's file does)
        if isinstance(error, TypeError) and not userfile.frames(path, error):
            given = f"SCOPES[{scope!r}]" if scope else f"a call with {', '.join(sizes)}" if sizes else "a call without sizes"
            what = str(error).replace("()", "")
            missing = "give each parameter a default, or add SCOPES = {'small': {'N': 2}} with a size for each"
            remedy = f"name the parameters of {name}()" if sizes else missing
            raise InputError(f"{place_of(path, source, name)}: {given} does not fit: {what}; {remedy}") from None
        raise userfile.failure(path, source, error, FILE) from None
    if not isinstance(model, Model):
        raise InputError(f"{place_of(path, source, name)}: {name}() returned {type(model).__name__}; end it with `return m`, the Model")
    return model


def _inspect(place: str, model: Model) -> None:
    where = f"{place}: model {model.name}"
    if not model.variables:
        raise InputError(f"{where} has no variables; declare what its state is made of with m.var(...)")
    if not model.actions:
        raise InputError(f"{where} has no actions; declare what can happen with @m.action()")
    if not model.properties:
        raise InputError(f"{where} has no properties; say what to check with m.always(...), m.reachable(...) or the like")
    try:
        initial(model.given())
    except (EvaluationError, ArithmeticError) as error:
        raise InputError(f"{where} has no initial state: {error}; fix `init` of that variable") from None


def _expected(path: str, source: str, expected: Any, model: Model) -> dict[str, str]:
    where = f"{place_of(path, source, 'EXPECTED')}: EXPECTED"
    if not isinstance(expected, Mapping):
        raise InputError(f"{where} is not a dict; write EXPECTED = {{'property id': 'violated'}}")
    ids = [p.id for p in model.properties]
    for name, verdict in expected.items():
        if name not in ids:
            raise InputError(f"{where} names unknown property {name!r}; {offer(str(name), ids)}")
        if verdict not in VERDICTS:
            raise InputError(f"{where}[{name!r}] is {verdict!r}; use {', '.join(VERDICTS)}")
    return dict(expected)
