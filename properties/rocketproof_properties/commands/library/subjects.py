"""The models that a caller may pass: a Model, a function that builds it, a Python file, or None for the specification.

A witness file records where its model can be built again, so that the commands can show it: the file, and the name of the model or of the
function. A model inside a function has no such location.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rocketproof_model import Instance, Model, Property
from rocketproof_model.errors import file_and_line
from rocketproof_model.language import Type

from ...catalogue.modelfile import DEFAULT, NAMED, parameters_of, with_constants
from ...catalogue.source import CheckSubject, ModelSource, choose
from ...reports.choices import InputError, offer

ModelLike: TypeAlias = Model | Instance | Callable[..., Model] | str | os.PathLike[str] | None
"""A model, a model with constants, a function that builds a model, or the path of a model file. None is the built-in specification."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """An instance with its properties.

    `source` is where another process can build it again, or None. `sizes` are the values passed by the caller.
    """

    subject: CheckSubject
    source: ModelSource | None
    sizes: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The model's name, with the values passed by the caller."""
        values = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"{self.subject.instance.model.name}{f' with {values}' if values else ''}"

    def claims(self, selector: str | Property | Iterable[str | Property] | None) -> tuple[Property, ...]:
        """Return the selected properties: by id, by sentence, or as a Property; all for None. Raises InputError for an unknown property."""
        __tracebackhide__ = True
        if selector is None:
            if not self.subject.properties:
                raise InputError(f"model {self.name} has no properties; state some with m.always(...), m.reachable(...) or the like")
            return self.subject.properties
        selectors = [selector] if isinstance(selector, str | Property) else list(selector)
        if not selectors:
            raise InputError("no property; name one, or leave `property` out for all")
        selected: dict[Property, None] = {}
        for property_ in selectors:
            selected |= dict.fromkeys(self._claims(property_))
        return tuple(selected)

    def _claims(self, selector: str | Property) -> list[Property]:
        __tracebackhide__ = True
        if isinstance(selector, Property):
            return [selector]
        stated = self.subject.properties
        words = _words(selector)
        for matches in (
            [claim for claim in stated if claim.id == selector],
            [claim for claim in stated if words in (_words(claim.id), _words(claim.sentence))],
            [claim for claim in stated if claim.id.startswith(f"{selector}.")],
        ):
            if matches:
                return matches
        raise InputError(f"unknown property {selector!r}; {offer(selector, [claim.id for claim in stated])}")


def chosen(
    model: ModelLike,
    values: Mapping[str, Any],
    *,
    scope: str | None = None,
    profile: str | None = None,
) -> Chosen:
    """Build the model that the caller passed. `values` are sizes for a function that builds a model, and constants of the model.

    Raises InputError, in one line, for values that are neither, and for a scope or profile of a user's own model.
    """
    __tracebackhide__ = True  # pytest shows the line of the test that called
    if model is None or isinstance(model, str | os.PathLike):
        file = None if model is None else os.fspath(model)
        source = choose(file, scope, profile) if file is None or NAMED not in file else ModelSource(DEFAULT, file=file)
        source = ModelSource(source.scope, source.profile, _given(values), source.file)
        return Chosen(source.subject(), source, values)
    if scope is not None or profile is not None:
        option, value = ("scope", scope) if scope is not None else ("profile", profile)
        raise InputError(
            f"{option}={value!r} with a model of your own; scopes and profiles are the specification's: give sizes or constants"
        )
    instance = _instance(model, values)
    _check(instance)
    return Chosen(CheckSubject(instance, tuple(instance.model.properties)), _source(model, instance, values), values)


def _instance(model: Model | Instance | Callable[..., Model], values: Mapping[str, Any]) -> Instance:
    __tracebackhide__ = True
    if isinstance(model, Instance):
        checked = with_constants(model.model, values)
        return Instance(model.model, model.constants | {name: checked.constants[name] for name in values})
    if isinstance(model, Model):
        return with_constants(model, values)
    if not callable(model):
        raise InputError(f"{type(model).__name__} is no model; give a Model, a function that builds one, or the path of a model file")
    sizes = parameters_of(model, values)
    try:
        inspect.signature(model).bind(**sizes)
    except TypeError as error:
        raise InputError(f"{_called(model)}() cannot be called so: {error}; give its sizes by name, such as B=2") from None
    built = model(**sizes)
    if not isinstance(built, Model):
        raise InputError(f"{_called(model)}() returned {type(built).__name__}; end it with `return m`, the Model")
    constants = {name: value for name, value in values.items() if name not in sizes}
    return with_constants(built, constants, list(inspect.signature(model).parameters))


def _check(instance: Instance) -> None:
    __tracebackhide__ = True
    model = instance.model
    if not model.variables or not model.actions:
        what = "actions; declare what can happen with @m.action()" if model.variables else "variables; declare its state with m.var(...)"
        raise InputError(f"model {model.name} has no {what}")


def _source(model: Model | Instance | Callable[..., Model], instance: Instance, values: Mapping[str, Any]) -> ModelSource | None:
    """Return where the model can be built again; None if it is not a module-level name, or if a value cannot be written to a file."""
    location = _place(model.model if isinstance(model, Instance) else model)
    if isinstance(model, Instance):
        differ = {name for name, (_, default) in model.model.constants.items() if instance.constants[name] != default}
        values = {name: _plain(model.model.constants[name][0], instance.constants[name]) for name in sorted(differ)}
    if location is None or not all(_is_plain(value) for value in values.values()):
        return None
    return ModelSource(DEFAULT, given=_given(values), file=location)


def _place(model: Model | Callable[..., Model]) -> str | None:
    """Return `FILE::NAME` of a function or Model that is a module-level name."""
    if isinstance(model, Model):
        place = file_and_line(model.actions[0].place)
        file = "" if place is None else place[0]
        modules = [loaded for loaded in list(sys.modules.values()) if getattr(loaded, "__file__", None) == file]
        name = next((name for loaded in modules for name, value in vars(loaded).items() if value is model), None)
    else:
        name = getattr(model, "__name__", None)
        module = sys.modules.get(getattr(model, "__module__", "") or "")
        file = getattr(module, "__file__", None) or ""
        if getattr(module, str(name), None) is not model:
            return None
    if name is None or not Path(file).is_file():
        return None
    relative = os.path.relpath(file)
    return f"{file if relative.startswith(os.pardir) else relative}{NAMED}{name}"


def _given(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(values.items()))


def _plain(type_: Type, code: int) -> Any:
    value = type_.decode(code)
    return tuple(sorted(value)) if isinstance(value, frozenset | set) else value


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def _called(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))


def _words(text: str) -> str:
    return " ".join(text.lower().split())
