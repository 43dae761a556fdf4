"""The possible changes of the implementation, and a sample that is even over its modules.

A change is identified by its module, function, kind and text: `broker/checking:msg_check boundary a < b → a <= b`. Duplicates are numbered.
An edit elsewhere in the file therefore does not change its id.
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
from rocketproof_properties.reports.choices import InputError

from ..mutant import PatchedMutant
from ..patch import Patch, PatchError, Ready, SourcePatch, prepare
from .operators import Alike, Edit, Function, changed, edits

ROOT: Final = Path(inspect.getfile(rocketproof_impl)).parent
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("broker", "executor.py", "remoting/dispatch.py", "remoting/headers.py", "message.py", "topic.py", "persistence.py"),
    "store": ("store",),
    "name server": ("kvconfig.py", "nameserver.py", "route.py", "routeinfo.py"),
    "producer": ("producer",),
}
"""The parts of the system with their files and folders."""
LONGEST: Final = 70
"""Maximum number of characters of the changed text in an id."""
_STRUCTURED: Final = frozenset({"classmethod", "contextmanager", "property", "staticmethod"})
"""Decorators of functions that can be replaced."""


@dataclass(frozen=True, kw_only=True)
class GeneratedMutant(PatchedMutant):
    """A change of one function. `module` is relative to the package, such as broker/checking. `first` and `last` are the changed lines.

    `number`: the index of the change among those of the function.
    """

    module: str
    function: str
    first: int
    last: int
    number: int

    @property
    def path(self) -> str:
        """The module's file."""
        return str(ROOT / f"{self.module}.py")

    @property
    def lines(self) -> frozenset[tuple[str, int]] | None:
        """The lines that a program must reach to notice the change; None if any program may notice it."""
        return frozenset((self.path, line) for line in range(self.first, self.last + 1))

    @property
    def trees(self) -> tuple[Function, Function]:
        """The original function and the changed function."""
        node = _functions(self.module)[self.function]
        return node, changed(node, next(itertools.islice(edits(node, _alike()), self.number, None)))

    def variants(self) -> Mapping[str, Patch]:
        return {"": [SourcePatch(self.place, ast.unparse(self.trees[1]))]}

    def ready(self) -> Ready:
        """Return the compiled change. Raises PatchError if it cannot be compiled."""
        return prepare(self.variants()[""])


def modules(part: str) -> list[str]:
    """Return the modules of a part of the system."""
    paths: list[Path] = []
    for name in PARTS[part]:
        path = ROOT / name
        paths += sorted(path.glob("*.py")) if path.is_dir() else [path]
    return [path.relative_to(ROOT).with_suffix("").as_posix() for path in paths if path.stem != "__init__"]


@cache
def changes(module: str, part: str) -> tuple[GeneratedMutant, ...]:
    """Return all changes of a module, in the order of its source."""
    mutants: list[GeneratedMutant] = []
    named: Counter[str] = Counter()
    for function, node in _functions(module).items():
        for number, edit in enumerate(edits(node, _alike())):
            name = f"{module}:{function} {edit.kind} {_short(edit)}"
            named[name] += 1
            id_ = name if named[name] == 1 else f"{name} #{named[name]}"
            mutant = GeneratedMutant(
                id=id_, source="generated", part=part, place=f"{_dotted(module)}:{function}", kind=edit.kind,
                before=edit.before, after=edit.after, sentence=f"{edit.before} → {edit.after or 'nothing'}",
                module=module, function=function, first=edit.first, last=edit.last, number=number,
            )  # fmt: skip
            mutants.append(mutant)
    return tuple(mutants)


@cache
def _functions(module: str) -> Mapping[str, Function]:
    return dict(_in_order(ast.parse((ROOT / f"{module}.py").read_text("utf-8"))))


def _in_order(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a module and the methods of its classes with their qualified names."""
    to_visit: list[tuple[str, ast.stmt]] = [("", statement) for statement in tree.body]
    while to_visit:
        head, node = to_visit.pop(0)
        if isinstance(node, ast.ClassDef):
            to_visit[:0] = [(f"{head}{node.name}.", statement) for statement in node.body]
        elif (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and {_name(decorator) for decorator in node.decorator_list} <= _STRUCTURED
        ):
            yield head + node.name, node


def sample(count: int, seed: int, parts: Sequence[str] = tuple(PARTS)) -> list[GeneratedMutant]:
    """Return `count` changes chosen by the seed, from each module in turn, in the order of the modules. Changes that do not compile are
    left out.

    A larger sample with the same seed contains the smaller one.
    """
    remaining = {module: _shuffled(changes(module, part), seed) for part in parts for module in modules(part)}
    sampled: list[GeneratedMutant] = []
    while len(sampled) < count and remaining:
        for module in list(remaining):
            change = next((each for each in remaining[module] if _can_be_made(each)), None)
            if change is None:
                del remaining[module]
            elif len(sampled) < count:
                sampled.append(change)
    order = {module: number for number, module in enumerate(module for part in parts for module in modules(part))}
    return sorted(sampled, key=lambda change: (order[change.module], change.first, change.id))


def chosen(ids: Sequence[str], count: int, seed: int) -> list[GeneratedMutant]:
    """Return a sample of the named parts or modules, or single changes by id. Raises InputError for an unknown name."""
    if not ids:
        return sample(count, seed)
    part_of = {module: part for part in PARTS for module in modules(part)}
    mutants: list[GeneratedMutant] = []
    for name in ids:
        if name in PARTS:
            mutants += sample(count, seed, (name,))
        elif name in part_of:
            mutants += _shuffled_made(changes(name, part_of[name]), seed, count)
        else:
            module = name.partition(":")[0]
            change = next((each for each in changes(module, part_of[module]) if each.id == name), None) if module in part_of else None
            if change is None:
                raise InputError(
                    f"{name!r} is no change; give a part ({', '.join(PARTS)}), a module such as broker/sending, or a change's id"
                )
            mutants.append(change)
    return list(dict.fromkeys(mutants))


def _shuffled_made(all_: Iterable[GeneratedMutant], seed: int, count: int) -> list[GeneratedMutant]:
    compiling = [change for change in _shuffled(all_, seed) if _can_be_made(change)]
    return compiling[:count]


def _shuffled(all_: Iterable[GeneratedMutant], seed: int) -> Iterator[GeneratedMutant]:
    """Yield the changes in random order. Frequent kinds do not crowd out the others."""
    rng = random.Random(seed)
    kinds: dict[str, list[GeneratedMutant]] = {}
    for change in all_:
        kinds.setdefault(change.kind, []).append(change)
    for group in kinds.values():
        rng.shuffle(group)
    while kinds:
        names = list(kinds)
        rng.shuffle(names)
        for name in names:
            yield kinds[name].pop()
            if not kinds[name]:
                del kinds[name]


def _can_be_made(change: GeneratedMutant) -> bool:
    try:
        change.ready()
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
    """Return, by field name, the next field of its class with the same type. For a field name of several classes: a field they all have."""
    common: dict[str, set[str]] = {}
    for part in PARTS:
        for module in modules(part):
            for owner in _classes(importlib.import_module(_dotted(module))):
                fields = {
                    name: str(annotation) for name, annotation in vars(owner).get("__annotations__", {}).items() if not name.startswith("_")
                }
                for name, annotation in fields.items():
                    others = {other for other, other_annotation in fields.items() if other_annotation == annotation and other != name}
                    common[name] = common[name] & others if name in common else others
    return {name: (min(others),) for name, others in common.items() if others}


def _classes(module: ModuleType) -> list[type]:
    return [member for member in vars(module).values() if inspect.isclass(member) and member.__module__ == module.__name__]
