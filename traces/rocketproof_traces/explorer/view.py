"""A model as the page needs it to turn codes into text: indices with their elements, variables, slots, actions with their guards."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Action, Instance, Model, ModelError, Property
from rocketproof_model.language import EnumType, HoldingType, IndexType, Type, formula_text, show
from rocketproof_model.portable import portable

from ..witness.parts import kinds, owner
from ..witness.words import elements


class Indices:
    """The indices of a model by name. Different indices with one name, such as the topics of two tables, get numbers after their names."""

    def __init__(self) -> None:
        self.names: dict[Type, str] = {}

    def name(self, of: Type) -> str:
        unique_name = self.names.get(of)
        if unique_name is None:
            name, taken = _name(of), [_name(other) for other in self.names]
            unique_name = self.names[of] = f"{name} {taken.count(name) + 1}" if name in taken else name
        return unique_name

    def data(self) -> list[dict[str, Any]]:
        return [{"name": name, "elements": [of.text(code) for code in of.codes()]} for of, name in self.names.items()]

    def type(self, type_: Type) -> dict[str, Any]:
        """Return the type in the form in which the page reads codes."""
        if isinstance(type_, EnumType):
            return {"sort": "enum", "names": list(type_.names)}
        if isinstance(type_, HoldingType):
            return {"sort": type_.sort, "of": self.name(type_.of)}
        if isinstance(type_, IndexType):
            return {"sort": "index", "of": self.name(type_)}
        return {"sort": "bool"} if type_.sort == "bool" else {"sort": "int", "lo": type_.lo, "hi": type_.hi}


def _name(of: Type) -> str:
    return of.name if isinstance(of, IndexType) else str(of)


def model_view(instance: Instance, claim: Property) -> dict[str, Any]:
    """Return the data that are equal in all states of an instance, with the model's terms and those of a claim."""
    model, indices = instance.model, Indices()
    variables = [
        {
            "name": variable.name,
            "sentence": variable.meaning,
            "type": indices.type(variable.type),
            "over": [indices.name(axis) for axis in variable.over],
            "first": variable.first,
            "part": variable.part or None,
        }
        for variable in model.variables
    ]
    actions = [_action(action, indices) for action in model.actions]
    return {
        "name": model.name,
        "indices": indices.data(),
        "variables": variables,
        "slots": _slots(model),
        "actions": actions,
        "constants": [
            {"name": name, "value": model.constants[name][0].text(code), "sentence": model.sentences.get(name, "")}
            for name, code in instance.constants.items()
        ],
        "program": _program(instance, claim),
    }


def _program(instance: Instance, claim: Property) -> dict[str, Any]:
    """Return the terms by which a page takes steps, or the reason why it cannot."""
    try:
        return portable(instance, claim, kinds(instance.model))
    except ModelError as error:
        return {"missing": f"{error.problem}; {error.remedy}"}


def _slots(model: Model) -> list[dict[str, Any]]:
    number = {variable.name: k for k, variable in enumerate(model.variables)}
    known = kinds(model)
    return [
        {"label": element.label, "variable": number[element.variable.name], "part": owner(known, element.variable, element.at)}
        for element in elements(model)
    ]


def _action(action: Action, indices: Indices) -> dict[str, Any]:
    return {
        "name": action.name,
        "sentence": action.sentence,
        "rules": list(action.rules),
        "role": action.actor,
        "parameters": [{"name": name, "type": indices.type(type_)} for name, type_ in action.parameters.items()],
        "guards": [{"name": g.name, "sentence": g.sentence, "bound": g.bound} for g in action.guards],
    }


def property_view(claim: Property) -> dict[str, Any]:
    """Return a property as a sentence and as a formula."""
    formula, goal = formula_text(claim), None
    if claim.declared == "leads_to" and claim.goal is not None:
        formula, goal = show(claim.formula), show(claim.goal)
    return {"id": claim.id, "sentence": claim.sentence, "kind": claim.declared, "formula": formula, "goal": goal}


__all__ = ["Indices", "model_view", "property_view"]
