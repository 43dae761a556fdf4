"""A proof by induction as a file that others check: the invariant in the language's own words, and its obligations in SMT-LIB 2.

Of the obligations, each a script of its own after the other, every solver has to answer `unsat`: every initial state is one of the
invariant, every step from the invariant stays inside it and is none against the claim, and no state of it has an error of the model.
The lines `; invariant: ...` are terms of the model, which can be read again and asked of every reachable state.
"""

from __future__ import annotations

from collections.abc import Sequence

from .formulas.relation import Relation
from .formulas.values import Value, formula, z3
from .language import Expr, Instance, Property, show

INVARIANT = "; invariant: "


def certificate(instance: Instance, claim: Property, invariants: Sequence[Expr] = ()) -> str:
    """The certificate that the invariants, with an `always` claim itself, are inductive and that an `always` or `step` claim follows."""
    relation = Relation(instance)
    parts = [*([claim.formula] if claim.kind == "always" else []), *invariants]
    meanings = [relation.translate.truth(part) for part in parts]
    here = [relation.at(meaning, 0) for meaning in meanings]
    goals = [relation.at(meaning, 1) for meaning in meanings]
    if claim.kind == "step":
        goals.append(relation.at(relation.translate.truth(claim.formula), 0))
    assumed = [relation.typed(0), relation.at(relation.facts, 0), relation.at(relation.facts, 1), *here]
    obligations: dict[str, list[Value]] = {
        "every initial state is one of the invariant": [
            relation.at(relation.begin, 0), relation.at(relation.facts, 0), _some_fails(here),
        ],
        "every step from the invariant stays inside it and does what is claimed": [
            *assumed, relation.at(relation.step, 0), _some_fails(goals),
        ],
        "no state of the invariant has an error of the model": [*assumed, relation.at(relation.fault, 0)],
    }  # fmt: skip
    constants = ", ".join(f"{name}={value}" for name, value in instance.readable().items())
    head = [
        f"; model: {instance.model.name}" + (f" with {constants}" if constants else ""),
        f"; claim ({claim.kind}): {claim.id}: {claim.sentence}",
        *(INVARIANT + show(part) for part in parts),
        f"; a solver answers unsat {len(obligations)} times",
    ]
    return "\n".join(head) + "\n" + "(reset)\n".join(f"; {said}\n{_script(terms)}" for said, terms in obligations.items())


def _some_fails(terms: Sequence[Value]) -> Value:
    return z3.Not(z3.And(*map(formula, terms)))


def _script(terms: Sequence[Value]) -> str:
    solver = z3.Solver()
    solver.add(*map(formula, terms))
    return str(solver.to_smt2())
