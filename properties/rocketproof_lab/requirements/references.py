"""Where an id stands in the sources: a rule, a property, a hazard or a mutant, with file and line.

The sources are read and not imported, and only files that name the id are parsed, so the answer is there in a second. What an id means
where it stands follows from the form in which it is written, not from a list of modules:

- a docstring names it, of a function, a class or a module without either: code where the implementation is, an action where the model is;
- `behaviour("CHK-10")` decorates a test;
- an entry that begins with an id of its own, as `Claim("INV-34", "a sentence", ...)`, defines that property, hazard or mutant, and whatever
  else the entry names belongs to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_properties.catalogue.places import LABEL, Definition, definitions, folder_of, module_of, parsed
from rocketproof_properties.catalogue.rules import ID, is_known, rules, sections
from rocketproof_properties.reports.choices import InputError, known

Kind = Literal["code", "action", "property", "hazard", "mutant", "test", "mention"]
KINDS: Final[Sequence[Kind]] = ("code", "action", "property", "hazard", "mutant", "test", "mention")
PACKAGES: Final = (
    "rocketproof_protocol",
    "rocketproof_profiles",
    "rocketproof_impl",
    "rocketproof_model",
    "rocketproof_spec",
    "rocketproof_traces",
    "rocketproof_properties",
    "rocketproof_lab",
)
_CODE: Final = ("rocketproof_protocol", "rocketproof_profiles", "rocketproof_impl")
_MODEL: Final = "rocketproof_spec"

_KINDS_OF_LABELS: Final[dict[str, Kind]] = {"HAZ": "hazard", "M": "mutant", "C": "mutant"}
_PROPERTY = re.compile(r"(INV|LIV|ACT|END)-[0-9]{2}|(REA|AUX)-[0-9]{2,3}")

_OUTSIDE: Final = ast.Module([], [])


@dataclass(frozen=True, slots=True, order=True)
class IdReference:
    """A place that names an id: `name` is the function, test or entry that does, `file` is relative to the project."""

    kind: Kind
    file: str
    line: int
    name: str
    sentence: str = ""
    ids: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "sentence": self.sentence, "file": self.file, "line": self.line}


@dataclass(frozen=True)
class IdReferences:
    """All that the sources say of an id; `related` are definitions of the properties that mutants and hazards of a rule name."""

    id: str
    references: Sequence[IdReference]
    related: Sequence[IdReference] = ()

    @cached_property
    def definitions(self) -> Sequence[IdReference]:
        return [one for one in self.references if _is_of(one.name, self.id)]

    @property
    def section(self) -> str:
        """Section and title of a rule, empty for anything else."""
        rule = rules().get(self.id)
        return "" if rule is None else next(f"{one.id} {one.title}" for one in sections() if one.id == rule.section)

    @property
    def sentence(self) -> str:
        rule = rules().get(self.id)
        ordered = sorted(self.definitions, key=lambda one: one.name)  # INV-34 before INV-34.next
        return rule.sentence if rule is not None else next((one.sentence for one in ordered if one.sentence), "")

    def of(self, kind: Kind) -> list[IdReference]:
        return [one for one in self.references if one.kind == kind] + [one for one in self.related if one.kind == kind]

    def record(self) -> dict[str, Any]:
        """The JSON form: the places by kind."""
        places = {kind: [one.record() for one in self.of(kind)] for kind in KINDS}
        return {"id": self.id, "section": self.section, "sentence": self.sentence, "references": places}


def look_up(ids: Sequence[str], tests: Path | None = None) -> list[IdReferences]:
    """What the sources say of each id. Raises InputError for an id that nothing defines, and for sources that cannot be read.

    `tests` is the folder of tests, by default the project's, if it is there.
    """
    sources = _sources(tests)
    found = []
    for given in ids:
        id_ = given.upper().partition(".")[0]
        references = _references(sources, id_)
        entry = IdReferences(id_, references)
        if id_ not in rules() and not entry.definitions:
            known("id", given, _defined_ids(sources, without=id_))
        near = {other for one in references if one.kind in ("hazard", "mutant") for other in one.ids if _PROPERTY.fullmatch(other)}
        definitions = [one for other in sorted(near - {id_}) for one in _references(sources, other) if _is_of(one.name, other)]
        found.append(IdReferences(id_, references, definitions if id_ in rules() else ()))
    return found


@dataclass(frozen=True, eq=False)
class _Source:
    """A file, with the package that it belongs to, or `tests`. It is parsed once, for all ids that are looked up in it."""

    path: Path
    shown: str
    package: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return parsed(self.path)

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def names(self) -> Mapping[ast.AST, str]:
        """The qualified name of each function and class."""
        return dict(definitions(self.tree))


def _sources(tests: Path | None) -> list[_Source]:
    folders = {package: folder_of(package) for package in PACKAGES}
    house = folder_of("rocketproof_properties").parents[1]
    chosen = tests or house / "tests"
    if tests is not None and not tests.is_dir():
        raise InputError(f"--tests {tests} is not a folder; give the folder of tests")
    found = []
    for package, folder in {**folders, "tests": chosen}.items():
        for path in sorted(folder.rglob("*.py")):
            shown = path.relative_to(house) if path.is_relative_to(house) else path
            found.append(_Source(path, shown.as_posix(), package, path.read_text("utf-8")))
    return found


def _defined_ids(sources: Iterable[_Source], without: str) -> list[str]:
    """Every id that the sources name and that may be one, rules first."""
    named = {id_ for one in sources if one.package != "tests" for id_ in ID.findall(one.text) if is_known(id_)}
    return [*rules(), *sorted(named - rules().keys() - {without})]


def _references(sources: Iterable[_Source], id_: str) -> list[IdReference]:
    found = {one for source in sources if id_ in source.text for one in _File(source, id_).references()}
    taken = {(one.file, one.line) for one in found if one.kind != "mention"}
    left = (one for one in found if one.kind != "mention" or (one.file, one.line) not in taken)
    return sorted(left, key=lambda one: (KINDS.index(one.kind), one))


def _is_of(name: str, id_: str) -> bool:
    """Whether an entry with this name defines the id: its own name, or one with a suffix such as `.next`."""
    return name == id_ or name.startswith(f"{id_}.")


class _File:
    """A file, in which the strings that name an id are looked up with what stands around them."""

    def __init__(self, source: _Source, id_: str) -> None:
        self._source = source
        self._id = id_
        self._named = re.compile(rf"\b{re.escape(id_)}\b")
        self._parents = source.parents
        self._names = source.names

    def references(self) -> Iterator[IdReference]:
        for node in self._parents:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and self._named.search(node.value):
                one = self._reference(node, node.value)
                if one is not None:
                    yield one

    def _reference(self, node: ast.Constant, text: str) -> IdReference | None:
        around = list(self._around(node))
        inside = next((one for one in around if isinstance(one, Definition)), None)
        if isinstance(around[0], ast.Expr):
            documented = around[1]
            if isinstance(documented, ast.Module) and documented.body[0] is around[0] and not self._names and self._documents != "mention":
                return self._at(self._documents, node, module_of(Path(*Path(self._source.shown).parts[1:])))
            documents = inside is not None and documented is inside and inside.body[0] is around[0]
            return self._documented(inside) if inside is not None and documents else None
        tests = self._source.package == "tests"
        if inside is not None and self._source.package == _MODEL and any(one in inside.decorator_list for one in around):
            return self._at("action", inside, inside.name)
        for one in around:
            if isinstance(one, ast.Call) and _called(one) == "behaviour":
                marked = self._at("test", one, self._source.path.stem) if inside is None else self._at("test", inside, self._names[inside])
                return marked if tests else None
            if isinstance(one, ast.JoinedStr):
                return None  # a message to users
            if isinstance(one, ast.Call | ast.Tuple) and (entry := self._entry(one)) is not None:
                return entry if not tests or entry.kind == "mutant" else None
            if isinstance(one, ast.stmt):
                break
        if tests:
            listed = inside is None and text == self._id and self._source.path.name.startswith("test_")
            return self._at("test", node, _assigned(around) or self._source.path.stem) if listed else None
        return self._at("mention", node, self._names[inside] if inside is not None else _assigned(around), text)

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node's parents, the innermost first."""
        while (node := self._parents.get(node, _OUTSIDE)) is not _OUTSIDE:
            yield node

    @property
    def _documents(self) -> Kind:
        """What a docstring here says that a rule is."""
        return "code" if self._source.package in _CODE else "action" if self._source.package == _MODEL else "mention"

    def _documented(self, inside: Definition) -> IdReference:
        return self._at(self._documents, inside, self._names[inside], _first_line(inside) if self._documents == "mention" else "")

    def _entry(self, node: ast.Call | ast.Tuple) -> IdReference | None:
        """An entry of a table, such as `Claim(id, "a sentence")`: it begins with an id, and a text with a blank is its sentence."""
        parts = [*node.args, *(one.value for one in node.keywords)] if isinstance(node, ast.Call) else node.elts
        texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        label = LABEL.fullmatch(texts[0]) if texts else None
        if label is None or len(texts) < 2:
            return None
        kind = _KINDS_OF_LABELS.get(label[1].partition("-")[0], "property")
        decorated = self._parents.get(node)
        ids = tuple(dict.fromkeys(id_ for text in texts[1:] for id_ in ID.findall(text)))
        if isinstance(decorated, Definition):
            return self._at(kind, decorated, texts[0], _first_line(decorated), ids)
        sentence = next((text for text in texts[1:] if " " in text and not set(text.split()) <= set(ids)), "")
        return self._at(kind, node, texts[0], sentence, ids) if sentence else None

    def _at(self, kind: Kind, node: ast.expr | Definition, name: str, sentence: str = "", ids: tuple[str, ...] = ()) -> IdReference:
        return IdReference(kind, self._source.shown, node.lineno, name, " ".join(sentence.split()), ids)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _assigned(around: Iterable[ast.AST]) -> str:
    for one in around:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                return target.id
    return ""


def _first_line(node: Definition) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]
