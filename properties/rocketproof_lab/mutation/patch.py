"""Change a running program: replace a part of a function's source, or a value.

The changed source is compiled in the same environment and becomes the code of the same function object. Every reference to the function
sees the change: other names, tables, bound methods. A changed function records its calls, which shows the tests that could have noticed the
change.
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
    """A change does not fit its program. `str(error)` states where and how to fix it."""


@dataclass(frozen=True)
class Text:
    """In the source of the function at `where`, such as `package.module:Class.method`, replace `old` by `new`.

    `old` must occur exactly once. Further lines of `old` and `new` are indented relative to the line in which `old` begins. For a property
    `where` names the getter, and `Class.name.fset` the setter. Defaults can be changed too, decorators cannot.
    """

    where: str
    old: str
    new: str


@dataclass(frozen=True)
class SourcePatch:
    """Replace the whole source of the function at `where`. The new source begins in the first column. Otherwise like Text."""

    where: str
    new: str


@dataclass(frozen=True)
class ValuePatch:
    """Replace the value at `where` by `change(value)`. For values outside of function sources, such as constants and tables.

    A global of a module is changed in all modules of its package that have imported it under its own name. In a class, the value of a
    method may be a staticmethod, classmethod or property.
    """

    where: str
    change: Callable[[Any], Any]


Patch = Sequence[Text | SourcePatch | ValuePatch]


def switched(id_: str, where: str, text: str) -> dict[str, Patch]:
    """Return the two variants of a mutant that ignores releases: the condition `text` on its profile is always true (a) or always false
    (b)."""
    return {id_ + letter: [Text(where, text, value)] for letter, value in (("a", "True"), ("b", "False"))}


Defaults = tuple[tuple[Any, ...] | None, dict[str, Any] | None]  # as in `__defaults__` and `__kwdefaults__`


@dataclass
class Ready:
    """A compiled patch that is not applied yet. `names`: the functions that report their calls."""

    names: frozenset[str] = frozenset()
    values: tuple[ValuePatch, ...] = ()
    swaps: list[tuple[FunctionType, CodeType, Defaults]] = field(default_factory=list)
    caches: list[Any] = field(default_factory=list)

    @contextmanager
    def applied(self, reached: Callable[[str], None] = lambda name: None) -> Iterator[None]:
        """Apply the change within the context and undo it afterwards. `reached` gets each call of a changed function."""
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
    """Find and compile what a patch changes. Raises PatchError if a place or text is missing or ambiguous, or if nothing changes."""
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
    """Return a patch without changes in which all functions that these patches change report their calls. Raises PatchError."""
    ready = Ready()
    wheres = {change.where for patch in patches for change in patch if not isinstance(change, ValuePatch)}
    functions = {_function(where, ready): where for where in sorted(wheres)}
    for function, where in functions.items():
        _add(ready, function, where, _source(function, where))
    return ready


def _find(where: str) -> tuple[Any, str, Any]:
    """Return the owner of a value, its name and the value. A value of a class is raw, such as a property or a staticmethod."""
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
    """Return the function inside a found value. Caches around it are recorded."""
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
    """Return the source with `old` replaced by `new` at its only occurrence."""
    if not change.old.strip():
        raise PatchError(f"patch of {change.where!r}: its old text is blank; give the text to be changed")
    first = change.old.split("\n")[0]
    matches: list[tuple[int, str, str]] = []
    at = source.find(first)
    while at >= 0:
        line = source[source.rfind("\n", 0, at) + 1 :]
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        old, new = (text.replace("\n", indent) for text in (change.old, change.new))
        if source.startswith(old, at):
            matches.append((at, old, new))
        at = source.find(first, at + 1)
    if len(matches) != 1:
        times = f"{len(matches)} times" if matches else "nowhere"
        raise PatchError(f"patch of {change.where!r}: {change.old!r} occurs {times} in it; give a text that occurs exactly once")
    at, old, new = matches[0]
    return source[:at] + new + source[at + len(old) :]


def _parsed(source: str, where: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the function's tree. An indented source keeps its indentation, because its multi-line strings may have none."""
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
    """Compile the source in the function's environment: same globals, class, free variables and line numbers."""
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
    wrapper = ast.parse("def wrapper(): pass").body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.args.args, wrapper.body = free, [tree]
    if tree is not node and owner[0] not in function.__code__.co_freevars:
        wrapper.body.insert(0, ast.Global(owner))  # otherwise the class around the function would hide the class it refers to
    module = ast.fix_missing_locations(ast.Module([wrapper], []))
    flags = function.__code__.co_flags & _FUTURES
    try:
        compiled = compile(module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        raise PatchError(f"patch of {where!r}: the changed source cannot be compiled: {error.msg}; fix its new text") from None
    code = _dug_out(compiled, ["wrapper", *(owner if tree is not node else []), node.name])
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
    """Return the function's defaults. If the changed source has other defaults, they are evaluated in the module."""
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
    """Reject a change without effect, and a change that uses an unknown name."""
    before, after = (_parsed(text, where) for text in (_source(function, where), source))
    for node in (before, after):
        if ast.get_docstring(node, clean=False) is not None:
            node.body.pop(0)
    if ast.dump(before) == ast.dump(after):
        raise PatchError(f"patch of {where!r}: only comments or the docstring change; give a text of the code")
    known = {*function.__globals__, *vars(builtins), _REACHED}
    unknown = sorted(_globals(code) - known - _globals(function.__code__))
    if unknown:
        raise PatchError(
            f"patch of {where!r}: the changed source uses {', '.join(unknown)}, which its module does not know; fix its new text"
        )


def _globals(code: CodeType) -> set[str]:
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _exchange(function: FunctionType, code: CodeType, defaults: Defaults, reached: Callable[[str], None], undo: ExitStack) -> None:
    names = function.__globals__
    undo.callback(_assign, function, function.__code__, (function.__defaults__, function.__kwdefaults__))
    undo.callback(names.pop, _REACHED, None)
    names[_REACHED] = reached
    _assign(function, code, defaults)


def _assign(function: FunctionType, code: CodeType, defaults: Defaults) -> None:
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
