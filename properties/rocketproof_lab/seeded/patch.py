"""A change of a running program: a piece of a function's source is exchanged, or a value.

The changed source is compiled in the place of the old one and becomes the same function object's code, so that whoever
holds the function has the changed one: under another name, in a table, as a bound method. A function whose code is
exchanged records when it is called, which shows the tests that could have noticed the change.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from rocketproof_properties.reports.choices import InputError

_REACHED = "__rocketproof_reached__"
_FUTURES = functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_MISSING = object()


class PatchError(InputError):
    """A change does not fit the program it is meant for; `str(error)` says where and how to fix it."""


@dataclass(frozen=True)
class Text:
    """In the source of the function at `where`, such as `package.module:Class.method`, `old` becomes `new`.

    `old` has to occur exactly once. Its further lines, and those of `new`, are indented relative to the line in which it
    begins. Of a property the getter is meant, and `Class.name.fset` is its setter. Defaults may be changed too, decorators not.
    """

    where: str
    old: str
    new: str


@dataclass(frozen=True)
class SourcePatch:
    """The function at `where` gets a whole new source, which begins in the first column; otherwise as Text."""

    where: str
    new: str


@dataclass(frozen=True)
class ValuePatch:
    """The value at `where` becomes `change(value)`: for what is no text of a function, such as a constant or a table.

    A global of a module is changed in all modules of its package that have imported it under its own name. In a class,
    the value of a method may be a staticmethod, classmethod or property.
    """

    where: str
    change: Callable[[Any], Any]


Patch = Sequence[Text | SourcePatch | ValuePatch]


def switched(id_: str, where: str, text: str) -> dict[str, Patch]:
    """The two variants of a mutant that knows no releases: what it asks its profile, `text`, is true of all (a) or of none (b)."""
    return {id_ + letter: [Text(where, text, value)] for letter, value in (("a", "True"), ("b", "False"))}


Defaults = tuple[tuple[Any, ...] | None, dict[str, Any] | None]  # as in `__defaults__` and `__kwdefaults__`


@dataclass
class Ready:
    """A patch that fits: compiled, and not yet switched on. `names` are the functions that tell when they are called."""

    names: frozenset[str] = frozenset()
    values: tuple[ValuePatch, ...] = ()
    swaps: list[tuple[FunctionType, CodeType, Defaults]] = field(default_factory=list)
    caches: list[Any] = field(default_factory=list)

    @contextmanager
    def applied(self, reached: Callable[[str], None] = lambda name: None) -> Iterator[None]:
        """The changed program inside, the old one again afterwards; `reached` hears each call of a changed function."""
        with ExitStack() as undo:
            for cached in self.caches:
                cached.cache_clear()
                undo.callback(cached.cache_clear)
            for function, code, defaults in self.swaps:
                _exchange(function, code, defaults, reached, undo)
            for value in self.values:
                _set(value, undo)
            yield


def prepare(patch: Patch) -> Ready:
    """Find and compile what a patch changes. Raises PatchError if something is not there, not once, or stays the same."""
    ready = Ready(values=tuple(change for change in patch if isinstance(change, ValuePatch)))
    for value in ready.values:
        _find(value.where)
    sources: dict[FunctionType, tuple[str, str]] = {}
    for change in patch:
        if not isinstance(change, ValuePatch):
            function = _function(change.where, ready)
            _, source = sources.get(function) or (change.where, _source(function, change.where))
            sources[function] = (change.where, change.new if isinstance(change, SourcePatch) else _replaced(source, change))
    for function, (where, source) in sources.items():
        _add(ready, function, where, source)
        _check(function, where, source, ready.swaps[-1][1])
    if not patch:
        raise PatchError("a patch without changes changes nothing; give it a Text, a Whole or a Value")
    return ready


def probe(patches: Iterable[Patch]) -> Ready:
    """No change at all, but all functions that these patches change tell when they are called. Raises PatchError."""
    ready = Ready()
    wheres = {change.where for patch in patches for change in patch if not isinstance(change, ValuePatch)}
    functions = {_function(where, ready): where for where in sorted(wheres)}
    for function, where in functions.items():
        _add(ready, function, where, _source(function, where))
    return ready


def _find(where: str) -> tuple[Any, str, Any]:
    """Who has the value, under which name, and the value; of a class the raw one, such as a property or a staticmethod."""
    module, _, path = where.partition(":")
    if not path:
        raise PatchError(f"patch of {where!r}: it names no place; write package.module:name")
    try:
        value: Any = importlib.import_module(module)
    except ImportError as error:
        raise PatchError(f"patch of {where!r}: {error}; name a module that can be imported") from None
    owner = value
    for name in path.split("."):
        owner = value
        try:
            value = inspect.getattr_static(owner, name) if inspect.isclass(owner) else getattr(owner, name)
        except AttributeError:
            raise PatchError(f"patch of {where!r}: there is no {name!r} in {_called(owner)}; has it been renamed?") from None
    return owner, path.rpartition(".")[2], value


def _called(owner: Any) -> str:
    return str(getattr(owner, "__qualname__", getattr(owner, "__name__", owner)))


def _function(where: str, ready: Ready) -> FunctionType:
    """The function inside whatever is found; caches on the way are remembered."""
    value: Any = _find(where)[2]
    while not isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        if hasattr(value, "cache_clear"):
            ready.caches.append(value)
        inner = next((getattr(value, name) for name in ("__wrapped__", "fget", "func") if hasattr(value, name)), None)
        if inner is None:
            raise PatchError(f"patch of {where!r}: it is a {type(value).__name__}, no function with a source; change it with a Value")
        value = inner
    return value


def _source(function: FunctionType, where: str) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        raise PatchError(f"patch of {where!r}: its source cannot be read; change it with a Value") from None


def _replaced(source: str, change: Text) -> str:
    """The source with `new` for the one place where `old` is."""
    if not change.old.strip():
        raise PatchError(f"patch of {change.where!r}: its old text is blank; give the text to be changed")
    first = change.old.split("\n")[0]
    found: list[tuple[int, str, str]] = []
    at = source.find(first)
    while at >= 0:
        line = source[source.rfind("\n", 0, at) + 1 :]
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        old, new = (text.replace("\n", indent) for text in (change.old, change.new))
        if source.startswith(old, at):
            found.append((at, old, new))
        at = source.find(first, at + 1)
    if len(found) != 1:
        times = f"{len(found)} times" if found else "nowhere"
        raise PatchError(f"patch of {change.where!r}: {change.old!r} occurs {times} in it; give a text that occurs exactly once")
    at, old, new = found[0]
    return source[:at] + new + source[at + len(old) :]


def _parsed(source: str, where: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function's tree; an indented source keeps its indentation, because its long strings may have none."""
    nested = source[0].isspace()
    try:
        node = ast.parse("if True:\n" + source if nested else source).body[0]
    except SyntaxError as error:
        raise PatchError(f"patch of {where!r}: the changed source cannot be compiled: {error.msg}; fix its new text") from None
    if nested:
        assert isinstance(node, ast.If)
        node = ast.increment_lineno(node.body[0], -1)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise PatchError(f"patch of {where!r}: it is not a `def`; change it with a Value")
    return node


def _add(ready: Ready, function: FunctionType, where: str, source: str) -> None:
    """Compile the source in the surroundings of the function: same globals, class, free variables and lines."""
    node = ast.increment_lineno(_parsed(source, where), function.__code__.co_firstlineno - 1)
    defaults = _defaults(function, node, where)
    name = f"{function.__module__}:{function.__qualname__}"
    node.decorator_list = []
    call = ast.Expr(ast.Call(ast.Name(_REACHED, ast.Load()), [ast.Constant(name)], []))
    node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, call)
    tree: ast.stmt = node
    owner = function.__qualname__.split(".")[-2:-1]
    if owner and owner != ["<locals>"]:
        tree = ast.ClassDef(owner[0], [], [], [tree], [])
        tree.__dict__.setdefault("type_params", [])
    free = [ast.arg(variable) for variable in function.__code__.co_freevars if variable != "__class__"]
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args.args, made.body = free, [tree]
    if tree is not node and owner[0] not in function.__code__.co_freevars:
        made.body.insert(0, ast.Global(owner))  # or the class around the function would hide the one that it names
    module = ast.fix_missing_locations(ast.Module([made], []))
    flags = function.__code__.co_flags & _FUTURES
    try:
        compiled = compile(module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        raise PatchError(f"patch of {where!r}: the changed source cannot be compiled: {error.msg}; fix its new text") from None
    code = _dug_out(compiled, ["made", *(owner if tree is not node else []), node.name])
    code = code.replace(co_qualname=function.__code__.co_qualname, co_firstlineno=function.__code__.co_firstlineno)
    if code.co_freevars != function.__code__.co_freevars:
        had, has = (", ".join(c.co_freevars) or "none" for c in (function.__code__, code))
        raise PatchError(f"patch of {where!r}: its free variables were {had} and are {has}; use the same ones, or change it with a Value")
    ready.swaps.append((function, code, defaults))
    ready.names |= {name}


def _dug_out(code: CodeType, path: list[str]) -> CodeType:
    for name in path:
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


def _defaults(function: FunctionType, node: ast.FunctionDef | ast.AsyncFunctionDef, where: str) -> Defaults:
    """The function's own defaults, unless the changed source has others: then those, computed in the module."""
    old = _parsed(_source(function, where), where)
    if ast.dump(old.args) == ast.dump(node.args):
        return function.__defaults__, function.__kwdefaults__

    def value(expression: ast.expr) -> Any:
        return eval(compile(ast.Expression(expression), function.__code__.co_filename, "eval"), function.__globals__)

    try:
        defaults = tuple(value(default) for default in node.args.defaults) or None
        named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return defaults, {arg.arg: value(default) for arg, default in named if default is not None} or None
    except NameError as error:
        raise PatchError(f"patch of {where!r}: its defaults cannot be computed: {error}; change `__defaults__` with a Value") from None


def _check(function: FunctionType, where: str, source: str, code: CodeType) -> None:
    """Refuse a change that changes nothing, and one that could only crash by a misspelt name."""
    was, now = (_parsed(text, where) for text in (_source(function, where), source))
    for node in (was, now):
        if ast.get_docstring(node, clean=False) is not None:
            node.body.pop(0)
    if ast.dump(was) == ast.dump(now):
        raise PatchError(f"patch of {where!r}: only comments or the docstring change; give a text of the code")
    known = {*function.__globals__, *vars(builtins), _REACHED}
    unknown = sorted(_globals(code) - known - _globals(function.__code__))
    if unknown:
        raise PatchError(
            f"patch of {where!r}: the changed source uses {', '.join(unknown)}, which its module does not know; fix its new text"
        )


def _globals(code: CodeType) -> set[str]:
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _exchange(function: FunctionType, code: CodeType, defaults: Defaults, reached: Callable[[str], None], undo: ExitStack) -> None:
    names = function.__globals__
    undo.callback(_give, function, function.__code__, (function.__defaults__, function.__kwdefaults__))
    undo.callback(names.pop, _REACHED, None)
    names[_REACHED] = reached
    _give(function, code, defaults)


def _give(function: FunctionType, code: CodeType, defaults: Defaults) -> None:
    function.__code__ = code
    function.__defaults__, function.__kwdefaults__ = defaults


def _set(value: ValuePatch, undo: ExitStack) -> None:
    owner, name, old = _find(value.where)
    new = value.change(old)
    for holder in _holders(owner, name, old):
        if inspect.isclass(holder) and name not in vars(holder):
            undo.callback(delattr, holder, name)  # it was inherited
        else:
            undo.callback(setattr, holder, name, old)
        setattr(holder, name, new)


def _holders(owner: Any, name: str, value: Any) -> list[Any]:
    if not isinstance(owner, ModuleType):
        return [owner]
    package = owner.__name__.partition(".")[0]
    modules = [module for key, module in list(sys.modules.items()) if key.partition(".")[0] == package]
    return [module for module in modules if module is owner or vars(module).get(name, _MISSING) is value]
