"""A model as the Python text that builds it again, so that what a failing test prints can be pasted into a file."""

from __future__ import annotations

from rocketproof_model import Expr, Index, Instance, Model, Type
from rocketproof_model.language import MaybeType, Variable, walk


def describe(instance: Instance) -> str:
    """The model as Python text that builds it again (without the sentences)."""
    model = instance.model
    lines = [f'm = Model("{model.name}")']
    types = {i for v in model.variables for i in (*v.over, v.type)} | {t for a in model.actions for t in a.parameters.values()}
    types |= {t for t, _ in model.constants.values()} | {e.type for e in walk(*_terms(model))}
    indices = {t for each in types for t in (each, getattr(each, "of", each)) if isinstance(t, Index)}
    indices |= {i.owner for i in indices if isinstance(i.owner, Index)}
    for i in sorted(indices, key=lambda i: (i.owner is not None, i.name)):
        of = f", of={i.owner.name}" if i.owner else ""
        lines.append(f'{i.name} = m.index("{i.name}", {i.block}{", symmetric=True" * i.symmetric}{of})')
    for name, (type_, code) in model.constants.items():
        lines.append(f'{name} = m.constant("{name}", {_type(type_)}, {_literal(type_, code)})')
    for v in model.variables:
        over = f", over=({', '.join(_type(i) for i in v.over)},)" if v.over else ""
        if len(set(v.init)) == 1:
            init = _start(v.init[0])
        else:
            table = ", ".join(f"{at}: {_start(e)}" for at, e in zip(v.elements(), v.init, strict=True))
            init = f"lambda *at: {{{table}}}[tuple(at)]"
        lines.append(f'{_name(v)} = m.var("{v.name}", {_type(v.type)}{over}, init={init})')
    lines += [f"m.initially({source(condition)})" for condition in model.starts]
    for action in model.actions:
        parameters = "".join(f", {_plain(n)}={_type(t)}" for n, t in action.parameters.items())
        lines += ["", f'@m.action(name="{action.name}", fair={action.fair!r}{parameters})']
        lines += [f"def {action.name}(a{''.join(f', {_plain(n)}' for n in action.parameters)}):", f'    "{action.sentence}"']
        for g in action.guards:
            lines.append(f'    a.{"bound" if g.bound else "guard"}("{g.name}", {source(g.condition)}, "{g.sentence}")')
        for u in action.updates:
            when = "" if u.when.op == "const" and u.when.args[0] else f", when={source(u.when)}"
            lines.append(f"    a.set({source(u.target)}, {source(u.assigned)}{when})")
    lines.append("")
    for p in model.properties:
        if p.kind == "deadlock_free":
            lines.append(f'm.deadlock_free("{p.id}", "{p.sentence}", unless={source(p.formula)})')
        elif p.kind in ("until", "weak_until") and p.hold is not None and p.goal is not None:
            when = "" if p.once else f", when={source(p.formula)}"
            lines.append(f'm.until("{p.id}", {source(p.hold)}, {source(p.goal)}, "{p.sentence}"{when}, weak={p.kind == "weak_until"})')
        else:
            goal = "" if p.goal is None else f", {source(p.goal)}"
            more = f', steps={p.steps}, clock="{p.clock}"' if p.kind == "within" else ""
            lines.append(f'm.{p.kind}("{p.id}", {source(p.formula)}{goal}, "{p.sentence}"{more})')
    values = ", ".join(f"{n}={_literal(model.constants[n][0], code)}" for n, code in instance.constants.items())
    return "\n".join([*lines, f"instance = m.given({values})"])


def _terms(model: Model) -> list[Expr]:
    terms = [e for v in model.variables for way in v.init for e in way] + model.starts
    for action in model.actions:
        terms += [g.condition for g in action.guards] + [e for u in action.updates for e in (u.target, u.value, u.when)]
    return terms + [e for p in model.properties for e in p.terms]


def _start(way: tuple[Expr, ...]) -> str:
    return source(way[0]) if len(way) == 1 else f"one_of({', '.join(map(source, way))})"


def _name(variable: Variable) -> str:
    return _plain(variable.name)


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _literal(type_: Type, code: int) -> str:
    value = type_.decode(code)
    return repr(tuple(sorted(value)) if isinstance(value, frozenset) else value)


def _type(type_: Type) -> str:
    if isinstance(type_, Index):
        return type_.name
    if type_.sort == "enum":
        return f"Enum{type_.names!r}" if type_.size > 1 else f"Enum({type_.names[0]!r})"
    if isinstance(type_, MaybeType) and isinstance(type_.of, MaybeType):
        return f"MaybeType(0, {type_.hi}, {_type(type_.of)})"
    if type_.sort in ("maybe", "set"):
        return f"{'Maybe' if type_.sort == 'maybe' else 'SetOf'}({_type(type_.of)})"
    return str(type_)


_INFIX = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "and": "&", "or": "|", "lt": "<", "le": "<=", "eq": "=="}


def source(e: Expr) -> str:
    """The term as the Python text that builds it."""
    op, a = e.op, e.args
    if op == "const":
        return f"const({a[0]}, {_type(e.type)})"
    if op in ("ref", "after"):
        text = _name(a[0]) + (f"[{', '.join(map(source, a[1:]))}]" if a[1:] else "")
        return text if op == "ref" else f"after({text})"
    if op in ("par", "given", "free"):
        return _plain(a[0])
    if op == "single":
        return f"const(0, {_type(e.type)}).including({source(a[0])})"
    if op == "eq" and a[0].op == "get" and a[0].args[0].type.of.sort == "bool":
        return f"{source(a[0].args[0])}.get"
    if op in _INFIX:
        return f"({source(a[0])} {_INFIX[op]} {source(a[1])})"
    if op == "not":
        return f"~{source(a[0])}"
    if op == "bitandnot":
        return f"({source(a[0])} - {source(a[1])})" if e.type.sort == "set" else f"without_bits({source(a[0])}, {source(a[1])})"
    if op in ("has", "get"):
        return f"{source(a[0])}.{op}" + (f"({source(a[1])})" if op == "has" else "")
    if op == "ite" and e.type.sort == "int":  # a minimum or a maximum has a narrower type than its arms
        return f'Expr("ite", ({", ".join(map(source, a))}), {_type(e.type)})'
    if op == "owner":
        return f"owner({source(a[0])})"
    if op == "some":
        nested = isinstance(a[0].type, MaybeType)
        return f'Expr("some", ({source(a[0])},), {_type(e.type)})' if nested else f"coerce({source(a[0])}, {_type(e.type)})"
    return f"{op}({', '.join(map(source, a))})"
