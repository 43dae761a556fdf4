"""The places in the sources that state a rule or a property. Files are parsed, not imported.

The page of an unexpected verdict links to the statement. The suite names the module of a rule that no response shows.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rocketproof_model import diskcache

from ..reports.choices import InputError
from ..reports.results import SourcePlace
from .rules import ID, rules

LABEL: Final = re.compile(r"([A-Z]+-[0-9]{2,3}[a-z]?)(\.\w+)?")
"""The id of an entry, for example INV-34 or INV-34.next."""
IMPLEMENTATION: Final = ("rocketproof_protocol", "rocketproof_impl")
"""The packages in which a docstring that names a rule marks its implementation."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def stated() -> dict[str, SourcePlace]:
    """Return the place of each property and rule of the catalogue by its id: file relative to the project, and line.

    A statement is a call that begins with the id, or a row of a table for such calls: the id and a sentence. The result is cached until a
    file of the catalogue changes. Raises InputError for unreadable sources.
    """
    folder = folder_of("rocketproof_properties")
    paths = sorted((folder / "catalogue").glob("*.py"))
    try:
        file = diskcache.folder("places", diskcache.code_digest(paths)) / "stated.json"
    except OSError as error:
        raise InputError(f"{folder / 'catalogue'} cannot be read ({error}); fix it first") from None
    data = diskcache.read(file)
    if data is not None:
        return {id_: SourcePlace(name, line) for id_, (name, line) in json.loads(data).items()}
    places = _stated(paths, folder.parents[1])
    with suppress(OSError):  # the next process computes it again
        diskcache.write(file, json.dumps({id_: (place.file, place.line) for id_, place in places.items()}).encode())
    return places


def _stated(paths: Iterable[Path], project: Path) -> dict[str, SourcePlace]:
    places: dict[str, SourcePlace] = {}
    for path in paths:
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call | ast.Tuple):
                continue
            parts = node.args if isinstance(node, ast.Call) else node.elts
            label, *rest = [part.value if isinstance(part, ast.Constant) else None for part in parts] or [None]
            states = bool(rest) and (isinstance(node, ast.Call) or (isinstance(rest[0], str) and " " in rest[0]))
            if states and isinstance(label, str) and LABEL.fullmatch(label):
                places.setdefault(label, SourcePlace(path.relative_to(project).as_posix(), node.lineno))
    return places


def implemented(*packages: str) -> dict[str, list[str]]:
    """Return the places whose docstrings name a rule, by rule, as `module:qualname`. `packages` defaults to the implementation; they are
    parsed, not imported."""
    places: dict[str, list[str]] = {}
    for package in packages or IMPLEMENTATION:
        for place, text in docstrings(package):
            for id_ in dict.fromkeys(ID.findall(text)):
                if id_ in rules():
                    places.setdefault(id_, []).append(place)
    return places


def docstrings(package: str) -> Iterator[tuple[str, str]]:
    """Yield `module:qualname` and docstring of each function and class of a package.

    A module's docstring counts only if the module defines neither, so that a list of contents is no evidence. Raises InputError if the
    package is not installed or a file is unreadable.
    """
    folder = folder_of(package)
    for path in sorted(folder.rglob("*.py")):
        module = module_of(Path(package) / path.relative_to(folder))
        tree = parsed(path)
        inside = [(f"{module}:{name}", ast.get_docstring(node) or "") for node, name in definitions(tree)]
        yield from inside or [(module, ast.get_docstring(tree) or "")]


def module_of(path: Path) -> str:
    """Return the name of the module in a file whose path begins with the package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the package {package} is not installed; install the project with all its packages")
    return Path(next(iter(spec.submodule_search_locations)))


def parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError) as error:
        raise InputError(f"{path} cannot be read ({error}); fix it first") from None


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[Definition, str]]:
    """Yield each function and class below a node, with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            name = prefix + child.name
            yield child, name
            yield from definitions(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
        else:
            yield from definitions(child, prefix)
