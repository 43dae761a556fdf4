"""Which action instances are enabled in a state: the alternatives for a program's next step.

Instances that differ only in parameters that no state-dependent guard reads are evaluated once. The results are cached by state, because
programs of one scope reach the same states repeatedly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from rocketproof_model import Action, Expr, Instance
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import walk
from rocketproof_model.result import Coverage
from rocketproof_protocol.numbers import whole_number

Args = tuple[int, ...]
KEPT = 200_000  # states in the cache


@dataclass(frozen=True, eq=False)
class _Group:
    """Instances that are enabled or disabled together in every state."""

    members: tuple[Args, ...]


class Offers:
    """The enabled instances of each action, and the guard results over all evaluated states."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.functions = Functions(instance)
        self._groups = {a.name: _groups(instance, a) for a in instance.model.actions}
        self.enabled = lru_cache(maxsize=KEPT)(self._enabled)
        self._guards = {
            a.name: [[False, False] for _ in a.guards] for a in instance.model.actions
        }  # whether each guard was false, was true
        self.taken = {a.name: 0 for a in instance.model.actions}
        self.pairs: Counter[tuple[str, str]] = Counter()

    def _enabled(self, state: State) -> dict[str, tuple[Args, ...]]:
        """Map each action to its enabled instances, in the order of the model. Actions without enabled instances are left out."""
        enabled: dict[str, tuple[Args, ...]] = {}
        for action in self.instance.model.actions:
            open_ = [m for group in self._groups[action.name] if self._is_enabled(state, action, group) for m in group.members]
            if open_:
                enabled[action.name] = tuple(open_)
        return enabled

    def _is_enabled(self, state: State, action: Action, group: _Group) -> bool:
        refusing = self.functions[action.name].refusing(state, *group.members[0])
        results = self._guards[action.name]
        if refusing < 0:
            for guard in results:
                guard[1] = True
            return True
        for guard in results[:refusing]:
            guard[1] = True
        results[refusing][0] = True
        return False

    def coverage(self) -> Coverage:
        """Return how often each action was taken and which results each guard had, without actions that the constants disable."""
        possible = {
            a.name for a in self.instance.model.actions if not any(_constant_value(self.instance, g.condition) == 0 for g in a.guards)
        }
        taken = {action: times for action, times in self.taken.items() if action in possible}
        guards = {
            (a.name, g.name): (held, refused)
            for a in self.instance.model.actions
            if a.name in possible
            for g, (refused, held) in zip(a.guards, self._guards[a.name], strict=True)
        }
        return Coverage(taken, guards, Counter(self.pairs))


def _groups(instance: Instance, action: Action) -> tuple[_Group, ...]:
    """Group the instances that the constants allow by the parameters that state-dependent guards read."""
    dynamic = [guard for guard in action.guards if _reads(guard.condition, "ref")]
    static = [guard for guard in action.guards if guard not in dynamic]
    names = list(action.parameters)
    read = {e.args[0] for guard in dynamic for e in walk(guard.condition) if e.op == "par"}
    places = [k for k, name in enumerate(names) if name in read]
    groups: dict[Args, list[Args]] = {}
    for args in action.instances:
        scope = Environment((), dict(zip(names, args, strict=True)), instance.constants)
        if all(evaluate(guard.condition, scope) for guard in static):
            groups.setdefault(tuple(args[k] for k in places), []).append(args)
    return tuple(_Group(tuple(members)) for members in groups.values())


def _constant_value(instance: Instance, term: Expr) -> int | None:
    """Return the term's value if it is decided by the constants alone, else None."""
    if term.op == "const":
        return whole_number(term.args[0])
    if term.op == "given":
        return instance.constants[term.args[0]]
    if term.op == "not":
        inside = _constant_value(instance, term.args[0])
        return None if inside is None else 1 - inside
    if term.op in ("and", "or"):
        decides = int(term.op == "or")
        parts = [_constant_value(instance, part) for part in term.args]
        return decides if decides in parts else None if None in parts else 1 - decides
    return None


def _reads(term: Expr, op: str) -> bool:
    return any(e.op == op for e in walk(term))
