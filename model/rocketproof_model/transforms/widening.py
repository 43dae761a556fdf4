"""The same model over wider numbers, so that an inductive proof does not depend on a scope's small bounds.

A search needs offsets of at most 3; a proof does not. `widened` declares chosen variables with wider types, drops the bounds that read
them, and rebuilds every term, so that the intervals are inferred again. The assumption that a counter never exceeds its wider type is part
of the model: a bound of every action that may exceed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..errors import ModelError
from ..language import Action, Assignment, Expr, Guard, Index, Model, Property, Type, Variable, all_of, implies, walk
from ..language.actions import moved_action
from ..language.variables import moved


def widened(model: Model, types: Mapping[str, Type], *, drop_bounds: bool = True) -> Model:
    """Return the model with these variables' types replaced by wider ones and, by default, without the bounds that read them.

    Every action that may raise a variable above its new maximum gets a bound `NAME up to END` that forbids it. Only integers can be
    widened, to intervals that contain the old interval. Sums and increments must still fit 63 bits, so choose `Int(0, 2**62 - 1)` for a
    counter that grows by one and less if several are added. Raises ModelError otherwise.
    """
    changed: dict[Variable, Variable] = {}
    for name, type_ in types.items():
        old = model.variable(name)
        if old.type.sort != "int" or isinstance(old.type, Index) or type_.sort != "int" or isinstance(type_, Index):
            raise ModelError(f"variable {name} of type {old.type} widened to {type_}", "only Int variables can be widened, to Int(lo, hi)")
        if type_.lo > old.type.lo or type_.hi < old.type.hi:
            raise ModelError(f"variable {name} of type {old.type} widened to {type_}", "give an interval that contains the old one")
        changed[old] = replace(old, type=type_)

    def term(e: Expr) -> Expr:
        return moved(e, changed)

    def reads(condition: Expr) -> bool:
        return any(e.op == "ref" and e.args[0] in changed for e in walk(condition))

    def action(old: Action) -> Action:
        guards = tuple(g for g in old.guards if not (drop_bounds and g.bound and reads(g.condition)))
        new = moved_action(replace(old, guards=guards), changed)
        return replace(new, guards=new.guards + tuple(ends(new.updates)))

    def ends(updates: Iterable[Assignment]) -> Iterator[Guard]:
        for variable in changed.values():
            end = variable.type.hi
            beyond = [u for u in updates if u.target.args[0] is variable and u.value.type.hi > end]
            if beyond:
                condition = all_of(implies(u.when, u.assigned <= end) for u in beyond)
                sentence = f"{variable.name} is taken up to {end:,} only"
                yield Guard(f"{variable.name} up to {end}", condition, sentence, True, beyond[0].place)

    def claim(old: Property) -> Property:
        return old.mapped(term)

    return replace(
        model,
        variables=[changed.get(v, v) for v in model.variables],
        constants=dict(model.constants),
        actions=[action(a) for a in model.actions],
        properties=[claim(p) for p in model.properties],
        containers=[replace(c, variables=tuple(changed.get(v, v) for v in c.variables)) for c in model.containers],
        starts=[term(e) for e in model.starts],
    )
