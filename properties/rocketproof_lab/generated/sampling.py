"""Which changes there are in the implementation, and a sample of them that is even over its modules.

A change is known by its module, its function, its kind, and what becomes of what: `broker/checking:msg_check boundary a < b → a <= b`. One
that is there twice has a number behind it. So an edit elsewhere in the file does not give it another name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import rocketproof_impl
from rocketproof_properties.catalogue.mutants import MutantRow
from rocketproof_properties.reports.choices import InputError

from ..seeded.patch import PatchError, Ready, SourcePatch, prepare
from ..seeded.registry import SeededMutant
from .operators import Alike, Edit, Function, changed, edits

ROOT: Final = Path(inspect.getfile(rocketproof_impl)).parent
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("broker", "executor.py", "remoting/dispatch.py", "remoting/headers.py", "message.py", "topic.py", "persistence.py"),
    "store": ("store",),
    "name server": ("kvconfig.py", "nameserver.py", "route.py", "routeinfo.py"),
    "producer": ("producer",),
}
"""The parts of the system, and where each is written."""
LONGEST: Final = 70
"""Characters of what is changed in a change's name."""
_STRUCTURED: Final = frozenset({"classmethod", "contextmanager", "property", "staticmethod"})
"""Decorators whose function can be exchanged."""


@dataclass(frozen=True)
class GeneratedMutant:
    """A change of one function. `module` is below the package, such as broker/checking; `first` and `last` are the lines where it is."""

    id: str
    part: str
    module: str
    function: str
    kind: str
    before: str
    after: str
    first: int
    last: int
    number: int

    @property
    def where(self) -> str:
        """The function as patches name it."""
        return f"{_dotted(self.module)}:{self.function}"

    @property
    def path(self) -> str:
        """The module's file."""
        return str(ROOT / f"{self.module}.py")

    @property
    def lines(self) -> frozenset[tuple[str, int]] | None:
        """The lines by which a program has to go to notice it; None where any may."""
        return frozenset((self.path, line) for line in range(self.first, self.last + 1))

    @property
    def trees(self) -> tuple[Function, Function]:
        """The function as it is, and changed."""
        node = _functions(self.module)[self.function]
        return node, changed(node, next(itertools.islice(edits(node, _alike()), self.number, None)))

    @property
    def source(self) -> str:
        """The changed function."""
        return ast.unparse(self.trees[1])

    def mutant(self) -> SeededMutant:
        """For those who run tests: every test may notice it."""
        return SeededMutant(
            MutantRow(self.id, f"{self.before} → {self.after or 'nothing'}", ()), {"": [SourcePatch(self.where, self.source)]}
        )

    def ready(self) -> Ready:
        """Compiled. Raises PatchError for a change that cannot be."""
        return prepare([SourcePatch(self.where, self.source)])


def modules(part: str) -> list[str]:
    """The modules of a part of the system."""
    found: list[Path] = []
    for name in PARTS[part]:
        path = ROOT / name
        found += sorted(path.glob("*.py")) if path.is_dir() else [path]
    return [one.relative_to(ROOT).with_suffix("").as_posix() for one in found if one.stem != "__init__"]


@cache
def changes(module: str, part: str) -> tuple[GeneratedMutant, ...]:
    """All changes of a module, in the order of its source."""
    found: list[GeneratedMutant] = []
    named: Counter[str] = Counter()
    for function, node in _functions(module).items():
        for number, edit in enumerate(edits(node, _alike())):
            name = f"{module}:{function} {edit.kind} {_short(edit)}"
            named[name] += 1
            id_ = name if named[name] == 1 else f"{name} #{named[name]}"
            found.append(GeneratedMutant(id_, part, module, function, edit.kind, edit.before, edit.after, edit.first, edit.last, number))
    return tuple(found)


@cache
def _functions(module: str) -> Mapping[str, Function]:
    return dict(_in_order(ast.parse((ROOT / f"{module}.py").read_text("utf-8"))))


def _in_order(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """The functions of a module and the methods of its classes, by their qualified names."""
    left: list[tuple[str, ast.stmt]] = [("", one) for one in tree.body]
    while left:
        head, node = left.pop(0)
        if isinstance(node, ast.ClassDef):
            left[:0] = [(f"{head}{node.name}.", one) for one in node.body]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and {_name(one) for one in node.decorator_list} <= _STRUCTURED:
            yield head + node.name, node


def sample(count: int, seed: int, parts: Sequence[str] = tuple(PARTS)) -> list[GeneratedMutant]:
    """So many changes, one of each module in turn, drawn by the seed; in the order of the modules. Those that cannot be made are left out.

    A larger sample of the same seed has those of a smaller one in it.
    """
    left = {module: _shuffled(changes(module, part), seed) for part in parts for module in modules(part)}
    found: list[GeneratedMutant] = []
    while len(found) < count and left:
        for module in list(left):
            made = next((one for one in left[module] if _can_be_made(one)), None)
            if made is None:
                del left[module]
            elif len(found) < count:
                found.append(made)
    order = {module: number for number, module in enumerate(module for part in parts for module in modules(part))}
    return sorted(found, key=lambda one: (order[one.module], one.first, one.id))


def chosen(ids: Sequence[str], count: int, seed: int) -> list[GeneratedMutant]:
    """A sample of the parts or modules that these name, or single changes by their ids. Raises InputError for a name of none."""
    if not ids:
        return sample(count, seed)
    of = {module: part for part in PARTS for module in modules(part)}
    found: list[GeneratedMutant] = []
    for name in ids:
        if name in PARTS:
            found += sample(count, seed, (name,))
        elif name in of:
            found += _shuffled_made(changes(name, of[name]), seed, count)
        else:
            module = name.partition(":")[0]
            one = next((one for one in changes(module, of[module]) if one.id == name), None) if module in of else None
            if one is None:
                raise InputError(
                    f"{name!r} is no change; give a part ({', '.join(PARTS)}), a module such as broker/sending, or a change's id"
                )
            found.append(one)
    return list(dict.fromkeys(found))


def _shuffled_made(all_: Iterable[GeneratedMutant], seed: int, count: int) -> list[GeneratedMutant]:
    found = [one for one in _shuffled(all_, seed) if _can_be_made(one)]
    return found[:count]


def _shuffled(all_: Iterable[GeneratedMutant], seed: int) -> Iterator[GeneratedMutant]:
    """By chance; kinds of which a module has much do not crowd out the others."""
    rng = random.Random(seed)
    kinds: dict[str, list[GeneratedMutant]] = {}
    for one in all_:
        kinds.setdefault(one.kind, []).append(one)
    for group in kinds.values():
        rng.shuffle(group)
    while kinds:
        names = list(kinds)
        rng.shuffle(names)
        for name in names:
            yield kinds[name].pop()
            if not kinds[name]:
                del kinds[name]


def _can_be_made(one: GeneratedMutant) -> bool:
    try:
        one.ready()
    except PatchError:
        return False
    return True


def _short(edit: Edit) -> str:
    return f"{_cut(edit.before)} → {_cut(edit.after) or 'nothing'}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _name(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _dotted(module: str) -> str:
    return f"{rocketproof_impl.__name__}.{module.replace('/', '.')}"


@cache
def _alike() -> Alike:
    """For a field's name the next one of its class that has the same type; of names that several classes have, those in common."""
    found: dict[str, set[str]] = {}
    for part in PARTS:
        for module in modules(part):
            for owner in _classes(importlib.import_module(_dotted(module))):
                fields = {name: str(said) for name, said in vars(owner).get("__annotations__", {}).items() if not name.startswith("_")}
                for name, said in fields.items():
                    others = {other for other, of in fields.items() if of == said and other != name}
                    found[name] = found[name] & others if name in found else others
    return {name: (min(others),) for name, others in found.items() if others}


def _classes(module: ModuleType) -> list[type]:
    return [one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__]
